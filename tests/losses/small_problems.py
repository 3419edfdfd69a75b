"""Losses on lattices small enough to count: their laws, and what neighbours do to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds, bounds_of
from kng.core.encoding import encoding_of
from kng.core.lattice import Lattice
from kng.core.parts import Norm, Point
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.corridor import certified
from kng.data import open_regression
from kng.domains import Box
from kng.losses import Linear, Location
from kng.losses.kernels.held import Held
from kng.losses.pointwise.function import Pointwise
from kng.mechanisms import KNG, Exponential
from kng.norms import LInf
from kng.samplers.exact.boxes import BoxEnvelope, BranchAndBound, covers_of

F = Fraction
ONE, HALF = F(1), F(1, 2)
Row = tuple[float, ...]
MECHANISMS = {"kng": KNG(), "exponential": Exponential()}
UNITS: dict[str, Callable[[int], PrivacyUnit]] = {
    "replace-one": lambda n: PrivacyUnit(ReplaceOne(n)),
    "add-remove": lambda n: PrivacyUnit(AddRemove(n)),
    "absent": lambda n: PrivacyUnit(ReplaceOne(n), presence="optional"),
}


class Located:
    """Columns of whole numbers 0 .. 4, theta on -1 .. 5."""

    def __init__(self, function: Pointwise, columns: int, reach: int = 1) -> None:
        self.records = encoding_of(
            bounds_of(([0] * columns, [4] * columns)), granularity=1, missing=None, bits=8
        )
        self.loss = Location(function).over(self.records)
        self.domain = Box(-reach, 4 + reach, columns)
        self.answers = self.domain.on(self.loss.grid)
        self.lattice = Lattice(
            (F(-reach),) * columns, (F(1),) * columns, (4 + 2 * reach,) * columns
        )
        self.universe: list[Row] = list(product((0.0, 1.0, 4.0), repeat=columns))

    def source(self, rows: Sequence[Row]) -> Any:
        return Held(np.array(rows, dtype=float).reshape(len(rows), len(self.records)))


class Lined:
    """One covariate in -1 .. 1, an intercept, and few coefficients."""

    def __init__(
        self,
        function: Pointwise,
        response: tuple[int, int] = (-1, 1),
        reach: int = 3,
        step: Fraction = HALF,
        weighs: Any = "gradient",
        intercept: bool = True,
    ) -> None:
        formula = Linear(function, intercept=intercept)
        ends = F(response[0]), F(response[1])
        self.design = formula.encode(Bounds((F(-1),), (F(1),)), ends, weighs)
        self.records, d = self.design.records, self.design.dim
        self.lattice = Lattice((-reach * step,) * d, (step,) * d, (2 * reach,) * d)
        self.loss = formula.over(self.design, self.lattice)
        self.domain = Box.of(self.lattice)
        low, high = map(float, response)
        self.universe: list[Row] = list(product((-1.0, 0.5, 1.0), (low, high)))

    def source(self, rows: Sequence[Row]) -> Any:
        table = np.array(rows, dtype=float).reshape(len(rows), 2)
        return open_regression(table[:, :1], table[:, 1], self.records)


def plan_of(
    posed: Located | Lined,
    mechanism: str,
    unit: PrivacyUnit,
    epsilon: Fraction = ONE,
    norm: Norm | None = None,
) -> DensityPlan:
    """Return a certified plan."""
    measured = norm or getattr(posed, "norm", None) or LInf()
    problem = Problem(posed.loss, measured, posed.domain, posed.records, posed.lattice, unit)
    return certified(MECHANISMS[mechanism].plan(problem, epsilon), "auto")


def points_of(plan: DensityPlan) -> list[Point]:
    """Return all lattice points of a box."""
    ends = zip(plan.domain.first, plan.domain.last, strict=True)
    return list(product(*(range(a, b + 1) for a, b in ends)))


def law_of(plan: DensityPlan, score: Callable[[Sequence[Fraction]], float]) -> dict[Point, float]:
    """Return the pmf of a score that is written down a second time."""
    gammas = {
        k: float(plan.epsilon) * score(plan.grid.theta(k)) / (2 * float(plan.delta_at(k)))
        for k in points_of(plan)
    }
    weights = {k: math.exp(-g) for k, g in gammas.items()}
    total = sum(weights.values())
    return {k: w / total for k, w in weights.items()}


def drawn(plan: DensityPlan, source: Any, size: int) -> list[Point]:
    """Return accepted attempts under one cover, as branch and bound makes them."""
    assert plan.certificate is not None
    assert isinstance(plan.certificate.sampler, BranchAndBound)
    (field,) = plan.read(source, [plan])
    covers, _ = covers_of(plan, field)
    covers[0].refine(64)
    envelope, bits, found = BoxEnvelope(plan, covers[0]), SeededBits(7), []
    while len(found) < size:
        point = envelope.first_of(8, bits)
        if point is not None:
            found.append(point)
    return found


def worst(posed: Located | Lined, mechanism: str, relation: str, epsilon: Fraction = ONE) -> float:
    """Return the largest privacy loss over all neighbours of up to two records of a universe.

    In parts of epsilon; an absent record is one that is not there.
    """
    plan = plan_of(posed, mechanism, UNITS[relation](2), epsilon)
    grid = points_of(plan)
    rates = [plan.exponent(k, F(1)) for k in grid]
    sizes = (2,) if relation == "replace-one" else (0, 1, 2)
    laws = {}
    for size in sizes:
        for rows in combinations_with_replacement(posed.universe, size):
            (field,) = plan.read(posed.source(rows), [plan])
            gamma = [float(r * field.score(k)) for r, k in zip(rates, grid, strict=True)]
            log = -np.array(gamma)
            laws[rows] = log - np.logaddexp.reduce(log)
    found = 0.0
    for rows, law in laws.items():
        for i in range(len(rows)):
            rest = rows[:i] + rows[i + 1 :]
            others = [tuple(sorted((*rest, row))) for row in posed.universe]
            if relation == "add-remove":
                others = [rest]
            elif relation == "absent":
                others.append(rest)
            for other in others:
                found = max(found, float(np.abs(law - laws[other]).max()))
    return found / float(epsilon)
