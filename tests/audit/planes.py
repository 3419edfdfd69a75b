"""Quantile planes on tiny lattices: the plans that `QuantileRegressor` would draw from.

The estimator chooses loss, norm, domains and shares; only its lattice of coefficients is replaced
by one that can be enumerated. Records are whole numbers x_1, ..., x_p, y within -8 .. 8 unless a
plane has other boxes, which the production door standardises; a universe also holds some beyond, to
be clipped.

    Plane         what is asked; stands where `audit.oracle` wants a setting
    UNIVERSES     record values, by columns
    joint_laws    law of several quantiles released one after the other
    released_law  law of the whole released point: attempts, beta and fallback
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from audit.oracle import REPLACE, Dataset, Record, ball, exponents, field_of, points
from flint import arb
from samplers.envelopes import envelope_of

import kng
from kng.core.lattice import Lattice
from kng.core.parts import Point
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.corridor import certified
from kng.estimators.public_facts import Columns

END = 8


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
        """Return production's plans for n records, on coefficients -bound, ..., bound."""
        model: Any = kng.QuantileRegressor(
            bounds_X=tuple(zip(*self._covariates, strict=True)),
            bounds_y=self.response,
            fit_intercept=self.intercept,
            mechanism=self.mechanism,
            norm=self.norm,
        )
        design = model._design(Columns(self.columns))
        d, step = design.dim, self.bound / self.reach
        lattice = Lattice((-self.bound,) * d, (step,) * d, (2 * self.reach,) * d)
        neighbours = ReplaceOne(n) if self.relation == REPLACE else AddRemove()
        unit = PrivacyUnit(neighbours, self.records_per_person)
        taus = [Fraction(q) for q in self.quantiles]
        made = model._stepwise(design, lattice, unit, taus, self.epsilon / len(taus))
        plans = [certified(plan) for plan in made]
        assert all(isinstance(plan, DensityPlan) for plan in plans)
        return plans

    def plan(self, n: int) -> DensityPlan:
        """Return the plan of the only quantile."""
        (plan,) = self.plans(n)
        return plan


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
