"""Planes on tiny lattices: the plans that `QuantileRegressor` and `HuberRegressor` would draw from.

The estimators choose loss, norm, domains and shares; only their lattice of coefficients is replaced
by one that can be enumerated. Records are whole numbers x_1, ..., x_p, y within -8 .. 8 unless a
plane has other boxes, which the production door standardises; a universe also holds some beyond, to
be clipped.

    Plane         quantile planes; stands where `audit.oracle` wants a setting
    HuberPlane    planes of Huber's loss; the same
    UNIVERSES     record values, by columns
    joint_laws    law of several quantiles released one after the other
    released_law  law of the whole released point: attempts, beta and fallback
    stating       let losses state another Delta: the usual fault
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast
from unittest.mock import patch

import pytest
from audit.oracle import (
    Dataset,
    Record,
    ball,
    exponents,
    field_of,
    points,
    rescaled,
    unit_of,
)
from flint import arb
from samplers.envelopes import envelope_of

import kng
from kng.core.delta import Delta
from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.parts import Point
from kng.core.plan import DensityPlan
from kng.core.problem import Problem
from kng.core.regions import Region
from kng.corridor import certified
from kng.domains import Box
from kng.estimators import quantile_regression
from kng.estimators.planned import _remembered as remembered
from kng.estimators.public_facts import Columns
from kng.estimators.several_quantiles import Quantiles
from kng.losses import Huber, Linear
from kng.mechanisms import KNG, Exponential
from kng.norms import LInf

END = 8


def tiny(design: Design, bound: Fraction, reach: int) -> Lattice:
    """Return coefficients -bound, ..., bound with ``reach`` points on each side of 0."""
    d = design.dim
    return Lattice((-bound,) * d, (bound / reach,) * d, (2 * reach,) * d)


def _on(lattice: Lattice) -> Any:
    """Return what puts a linear model onto a lattice of the audit's choice, and all of it."""
    return lambda loss, design, *_: (loss.over(design, lattice), Box.of(lattice), lattice)


@dataclass(frozen=True)
class Plane:
    """One quantile or several, with everything public that their plans need."""

    quantiles: tuple[str, ...]
    relation: str
    columns: int = 1
    intercept: bool = True
    mechanism: str = "kng"
    norm: str = "auto"
    epsilon: Fraction = Fraction(1)
    reach: int = 4
    bound: Fraction = Fraction(1, 2)
    records_per_person: int = 1
    boxes: tuple[tuple[int, int], ...] = ()  # of the covariates, if they are others
    response: tuple[int, int] = (-END, END)
    weights: tuple[int, ...] | None = None

    @property
    def first(self) -> Record:
        """The least record."""
        return (*(low for low, _ in self._covariates), self.response[0])

    @property
    def last(self) -> Record:
        """The greatest record."""
        return (*(high for _, high in self._covariates), self.response[1])

    @property
    def _covariates(self) -> tuple[tuple[int, int], ...]:
        return self.boxes or ((-END, END),) * self.columns

    def plans(self, n: int) -> list[DensityPlan]:
        """Return production's certified plans for n records, on coefficients -bound, ..., bound."""
        model: Any = kng.QuantileRegressor(
            bounds_X=tuple(zip(*self._covariates, strict=True)),
            bounds_y=self.response,
            fit_intercept=self.intercept,
            mechanism=self.mechanism,
            norm=self.norm,
        )
        design = model._design(Columns(self.columns))
        lattice = tiny(design, self.bound, self.reach)
        unit = unit_of(self.relation, n, self.records_per_person)
        asked = Quantiles.of(sorted(self.quantiles, key=Fraction), self.weights, self.epsilon)
        remembered.cache_clear()  # plans from before a fault was seeded, or mended
        with patch.object(quantile_regression, "on_effects", _on(lattice)):
            plans = model._plans(design, unit, model._box(design), asked, apart=True)
        assert all(isinstance(plan, DensityPlan) for plan in plans)
        return plans

    def plan(self, n: int) -> DensityPlan:
        """Return the plan of the only quantile."""
        (plan,) = self.plans(n)
        return plan


@dataclass(frozen=True)
class HuberPlane:
    """One plane of Huber's loss; bounds of coefficients are in thresholds."""

    relation: str
    columns: int = 1
    intercept: bool = True
    mechanism: str = "exponential"
    epsilon: Fraction = Fraction(1)
    threshold: Fraction = Fraction(2)
    reach: int = 3
    bound: Fraction = Fraction(4)
    records_per_person: int = 1
    end: int = END  # of covariates and response
    factor: Fraction = Fraction(1)  # what Delta is multiplied by: 1 where nothing is wrong

    @property
    def first(self) -> Record:
        """The least record."""
        return (-self.end,) * (self.columns + 1)

    @property
    def last(self) -> Record:
        """The greatest record."""
        return (self.end,) * (self.columns + 1)

    def plan(self, n: int) -> DensityPlan:
        """Return production's plan for n records, on coefficients -bound, ..., bound."""
        model: Any = kng.HuberRegressor(
            threshold=self.threshold,
            bounds_X=(-self.end, self.end),
            bounds_y=(-self.end, self.end),
            fit_intercept=self.intercept,
            mechanism=self.mechanism,
        )
        design = model._design(Columns(self.columns))
        answers = tiny(design, self.bound, self.reach)
        loss = Linear(Huber(design.half_y), intercept=self.intercept).over(design, answers)
        unit = unit_of(self.relation, n, self.records_per_person)
        problem = Problem(loss, LInf(), Box.of(answers), design.records, answers, unit)
        weigh = KNG() if self.mechanism == "kng" else Exponential()
        return rescaled(certified(weigh.plan(problem, self.epsilon)), self.factor)


# Corners, both sides of every plane, records on planes of the lattice (ties), one to be clipped.
UNIVERSES: dict[int, tuple[Record, ...]] = {
    1: ((8, 8), (-8, 8), (8, -8), (8, 3), (-8, 0), (0, -8), (30, -2)),
    2: ((8, 8, 8), (-8, -8, 8), (8, -8, -8), (8, 8, 5), (-8, 4, 0), (30, -30, -2)),
}


def joint_laws(
    plans: list[DensityPlan], dataset: Dataset
) -> Iterator[tuple[tuple[Point, Point], arb]]:
    """Yield every pair of draws and its probability; call inside ``ctx.workprec``."""
    first, second = plans
    grid = list(points(first))
    weights = [
        {k: (-ball(g)).exp() for k, g in zip(grid, exponents(plan, dataset), strict=True)}
        for plan in plans
    ]
    whole = sum(weights[0].values(), arb(0))
    for k in grid:
        domain = second.given([k]).domain
        inside = [m for m in grid if domain.contains(m)]
        part = sum((weights[1][m] for m in inside), arb(0))
        for m in inside:
            yield (k, m), weights[0][k] / whole * weights[1][m] / part


def released_law(plan: DensityPlan, dataset: Dataset) -> list[arb]:
    """Return the law of what branch and bound releases; call inside ``ctx.workprec``.

    One attempt returns k with probability 2**P exp(-gamma(k) + least) / sum W. The first accepted
    of ``attempts`` is kept; without one, or on the beta coin, the answer is uniform on the box, and
    the domain's home if that lies outside.
    """
    envelope = envelope_of(plan, field_of(plan, dataset))
    smoothing, domain = plan.smoothing, plan.domain
    unit = arb(2) ** envelope._scale / arb(envelope._cumulative[-1])
    least, grid = Fraction(envelope._least, 16), list(points(plan))
    gammas = zip(grid, exponents(plan, dataset), strict=True)
    hits = {k: unit * (-ball(g - least)).exp() for k, g in gammas if domain.contains(k)}
    accepted = sum(hits.values(), arb(0))
    assert accepted >= ball(1 - smoothing.miss), "fewer attempts are accepted than promised"
    none, beta, size = (1 - accepted) ** smoothing.attempts, ball(smoothing.beta), arb(len(grid))
    outside = len(grid) - len(hits)
    spare = {k: (1 + outside * (k == domain.home())) / size for k in hits}
    return [
        (1 - beta) * (h / accepted * (1 - none) + none * spare[k]) + beta * spare[k]
        for k, h in hits.items()
    ]


def stating(monkeypatch: pytest.MonkeyPatch, delta: Callable[[Linear], Fraction]) -> None:
    """Let linear losses state another Delta than theirs, the same at every theta."""

    def stated(self: Delta, region: Region) -> Fraction:
        return delta(cast("Any", self.body).__self__)

    monkeypatch.setattr(Delta, "over", stated)
    monkeypatch.setattr(Delta, "under", stated)
