"""Losses on balls, polytopes and simplices: laws of draws and privacy losses, by brute force.

Scores come from plain arithmetic of `product.plain`, sets from their definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction as F
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import exp, log
from typing import Any

import numpy as np
import pytest
from product.axes import LOSSES, LossRow
from product.plain import root
from samplers.laws import ALARM, p_value

from kng.core.bits import SeededBits
from kng.core.boxes.covering import ShiftedField
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.domains import L2Ball, Polytope, Simplex
from kng.losses.kernels.held import Held
from kng.mechanisms import KNG, Exponential
from kng.norms import L2, LInf
from kng.samplers.exact.boxes import BoxEnvelope, covers_of
from kng.samplers.registry import certified

Vector = tuple[F, ...]
RADIUS, TOTAL = F(5, 3), F(7, 4)
# A random polytope in two coordinates, not symmetric, with a row that cuts nothing off.
ROWS = [([3, 2], 4), ([-2, 1], 2), ([1, -4], 5), ([-1, -1], F(5, 2)), ([0, 1], 2), ([1, 0], 9)]
MECHANISMS = {"kng": KNG(), "exponential": Exponential()}
UNITS = {"replace-one": lambda n: ReplaceOne(n), "add-remove": lambda _: AddRemove()}


@dataclass(frozen=True)
class Set:
    """A domain in d coordinates, and membership by its definition."""

    domain: Callable[[int], Any]
    holds: Callable[[Vector], bool]


def _polytope(d: int) -> Polytope:
    kept = [(row[:d], limit) for row, limit in ROWS if any(row[:d])]
    return Polytope(*zip(*kept, strict=True))


SETS = {
    "round": Set(lambda d: L2Ball(RADIUS, d), lambda t: sum(v * v for v in t) <= RADIUS**2),
    "polytope": Set(
        _polytope,
        lambda t: all(sum(a * v for a, v in zip(r, t, strict=False)) <= b for r, b in ROWS),
    ),
    "simplex": Set(lambda d: Simplex(TOTAL, d), lambda t: min(t) >= 0 and sum(t) <= TOTAL),
}


@dataclass(frozen=True)
class Case:
    """A loss of the product's table on one of the sets."""

    loss: str
    domain: str
    mechanism: str
    relation: str = "replace-one"

    def __str__(self) -> str:
        return ", ".join((self.loss, self.domain, self.mechanism, self.relation))

    @property
    def row(self) -> LossRow:
        return LOSSES[self.loss]

    @property
    def round(self) -> bool:
        return self.loss.startswith("distance")

    def plan(self, n: int, epsilon: int) -> Any:
        row, unit = self.row, PrivacyUnit(UNITS[self.relation](n))
        domain, norm = SETS[self.domain].domain(row.dim), L2() if self.round else LInf()
        problem = Problem(row.loss, norm, domain, row.records, row.answers, unit)
        plan = certified(MECHANISMS[self.mechanism].plan(problem, F(epsilon)))
        for load in plan.loaders:
            load()
        return plan

    def read(self, plan: Any, dataset: Any) -> Any:
        rows = np.array(self.row.rows(dataset), dtype=np.float64)
        source = Held(rows.reshape(len(dataset), len(self.row.records)))
        return plan.read(source, [plan])[0]

    @cached_property
    def points(self) -> list[tuple[int, ...]]:
        """Return all lattice points, from a wide box of them."""
        grid, holds = self.row.loss.grid, SETS[self.domain].holds
        wide = product(range(-20, 21), repeat=self.row.dim)
        return [k for k in wide if holds(grid.theta(k))]

    def score(self, theta: Vector, dataset: Any) -> F:
        """Return what is weighed, from its definition."""
        plain = self.row.plain
        if self.mechanism == "exponential":
            return sum((plain.value(theta, x) for x in dataset), F(0))
        scores = [plain.score(theta, x) for x in dataset]
        total = [sum(column, F(0)) for column in zip(*scores, strict=True)] or [F(0)] * self.row.dim
        here = sum(x == theta for x in dataset)
        if self.round and self.row.dim > 1:
            return max(root(sum((v * v for v in total), F(0))) - here, F(0))
        if self.row.ranks:
            return max(total[0] - here, -total[0], F(0))
        return max(map(abs, total))

    def exponents(self, plan: Any, dataset: Any) -> np.ndarray[Any, Any]:
        grid = self.row.loss.grid
        found = [
            plan.epsilon * self.score(grid.theta(k), dataset) / (2 * plan.delta_at(k))
            for k in self.points
        ]
        return np.array([float(v) for v in found])


def law(gamma: Any, rate: float = 1.0) -> Any:
    weights = np.exp(-rate * (gamma - gamma.min()))
    return weights / weights.sum()


def draws(plan: Any, field: Any, bits: SeededBits) -> Iterator[Any]:
    """Yield draws; on boxes mostly accepted attempts of one cover, which every draw makes anew."""
    sampler = plan.certificate.sampler
    if sampler.name != "branch-and-bound":
        while True:
            yield sampler.draw(plan, field, bits)
    for _ in range(20):
        yield sampler.draw(plan, field, bits)
    if isinstance(field, ShiftedField):
        field = field.shifted(bits)
    cover = covers_of(plan, field)[0][0]
    cover.refine(2**8)
    envelope = BoxEnvelope(plan, cover)
    while True:
        point = envelope.attempt(bits)
        if point is not None:
            yield point


# --- laws ----------------------------------------------------------------------------------------

DRAWN = [
    Case("location squared", "round", "kng"),
    Case("location squared d2", "round", "kng"),
    Case("location pinball", "polytope", "kng"),
    Case("location pinball d2", "simplex", "exponential"),
    Case("location huber d2", "polytope", "exponential"),
    Case("distance", "simplex", "kng"),
    Case("distance d2", "round", "kng"),
    Case("distance d2", "polytope", "exponential"),
    Case("linear squared d2", "simplex", "kng"),
    Case("linear squared +1", "round", "exponential"),
    Case("linear pinball d2", "round", "kng"),
    Case("linear pinball +1", "polytope", "kng"),
    Case("linear huber d2", "simplex", "kng"),
    Case("linear huber +1", "round", "exponential"),
    Case("linear expectile d2", "polytope", "kng"),
    Case("linear logistic d2", "simplex", "exponential"),
    Case("linear logistic +1", "round", "kng"),
]
DRAWS, OFF = 4000, 0.2


def telling(case: Case) -> tuple[float, int, Any]:
    """Return how far a rate that is 20 % off is from the law, and with what epsilon and records."""
    universe = case.row.universe
    datasets = [(universe[0],) * 2, (universe[0], universe[-1]), (universe[-1],) * 3]

    def apart(epsilon: int, dataset: Any) -> float:
        gamma = case.exponents(case.plan(len(dataset), epsilon), dataset)
        right = law(gamma)
        return min(
            float((((law(gamma, rate) - right) ** 2) / law(gamma, rate)).sum())
            for rate in (1 - OFF, 1 + OFF)
        )

    return max((apart(e, dataset), e, dataset) for e, dataset in product((4, 12, 32), datasets))


@pytest.mark.every(3)
@pytest.mark.parametrize("case", DRAWN, ids=str)
def test_draws_follow_the_law_and_not_one_that_is_20_percent_off(case):
    _, epsilon, dataset = telling(case)
    plan = case.plan(len(dataset), epsilon)
    assert plan.certificate.guarantee.value == "exact"
    made = draws(plan, case.read(plan, dataset), SeededBits(11))
    drawn = [next(made) for _ in range(DRAWS)]
    gamma = case.exponents(plan, dataset)
    laws = {rate: dict(zip(case.points, law(gamma, rate), strict=True)) for rate in (0.8, 1, 1.2)}
    assert set(drawn) <= set(case.points)
    assert p_value(drawn, laws[1]) > ALARM
    # Other rates are seen by how many draws are near the least exponent.
    order = np.argsort(gamma, kind="stable")
    before = np.cumsum(law(gamma)[order]) - law(gamma)[order] / 2
    group = dict(zip([case.points[i] for i in order], (before * 12).astype(int), strict=True))
    for rate in (1 - OFF, 1 + OFF):
        grouped = np.bincount(list(group.values()), weights=law(gamma, rate)[order], minlength=12)
        chances = {i: float(p) for i, p in enumerate(grouped) if p}
        assert p_value([group[k] for k in drawn], chances) < 1e-4


# --- privacy -------------------------------------------------------------------------------------

N = 2
# Where the largest loss over all neighbours comes near epsilon, and how near it must come.
NEAR = [
    (Case("distance d2", "round", "kng", "add-remove"), 100, 0.95),
    (Case("distance d2", "polytope", "kng", "add-remove"), 100, 0.95),
    (Case("distance d2", "simplex", "kng", "add-remove"), 100, 0.95),
    (Case("linear pinball", "round", "exponential"), 100, 0.75),
    (Case("linear pinball", "polytope", "exponential"), 100, 0.8),
    (Case("linear squared d2", "simplex", "kng"), 1, 0.65),
]
# Refused on these sets, as the table of the product says: quantiles drawn together are ordered,
# counts are minimised, and a score has no value.
REFUSED = {
    *product(["quantiles"], MECHANISMS),
    *product([name for name in LOSSES if "counts" in name], ["kng"]),
    ("score", "exponential"),
}
PRIVATE = [
    Case(loss, domain, mechanism, relation)
    for i, (loss, mechanism, relation) in enumerate(product(LOSSES, MECHANISMS, UNITS))
    for j, domain in enumerate(SETS)
    if (i + i // 4) % 3 == j and (loss, mechanism) not in REFUSED
]


def neighbours(case: Case) -> Iterator[tuple[Any, Any]]:
    universe = case.row.universe
    if case.relation == "replace-one":
        for rest in combinations_with_replacement(universe, N - 1):
            for x, y in product(universe, repeat=2):
                if x != y:
                    yield tuple(sorted((*rest, x))), tuple(sorted((*rest, y)))
        return
    for m in range(N):
        for rest in combinations_with_replacement(universe, m):
            for x in universe:
                pair = tuple(sorted(rest)), tuple(sorted((*rest, x)))
                yield pair
                yield pair[::-1]


def largest_loss(case: Case, plan: Any) -> float:
    """Return the largest log ratio of the law over all neighbours and all points."""
    logs: dict[Any, Any] = {}

    def log_law(dataset: Any) -> Any:
        if dataset not in logs:
            field = case.read(plan, dataset)
            gamma = np.array([float(plan.exponent(k, field.score(k))) for k in case.points])
            logs[dataset] = -gamma - log(sum(exp(-g) for g in gamma))
        return logs[dataset]

    return max(float((log_law(a) - log_law(b)).max()) for a, b in neighbours(case))


@pytest.mark.every(2)
@pytest.mark.parametrize("case", PRIVATE, ids=str)
def test_the_privacy_loss_is_at_most_epsilon(case):
    plan = case.plan(N, 1)
    assert largest_loss(case, plan) <= 1 + 1e-9


@pytest.mark.parametrize(("case", "epsilon", "floor"), NEAR, ids=str)
def test_the_privacy_loss_comes_near_epsilon(case, epsilon, floor):
    assert floor < largest_loss(case, case.plan(N, epsilon)) / epsilon <= 1 + 1e-9


def test_half_of_delta_would_be_seen():
    case, epsilon, _ = NEAR[0]
    plan = case.plan(N, 2 * epsilon)  # as if Delta were half as large
    assert largest_loss(case, plan) / epsilon > 1.5
