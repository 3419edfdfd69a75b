"""The exponential mechanism for Huber's loss: every neighbouring pair of tiny universes, exactly.

The estimator chooses loss, bounds and mechanism; only its lattice of coefficients is replaced by
one that can be enumerated. Records are whole numbers x_1, ..., x_p, y within -8 .. 8, and some lie
outside, to be clipped. A directed search goes on where enumeration ends; faults are seeded in the
constant and in the record map, and must be seen.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from audit.oracle import (
    ADD,
    PRECISION,
    RELATIONS,
    REPLACE,
    Dataset,
    Record,
    audit,
    audit_laws,
    climb,
    datasets,
    pairs,
    sizes,
)
from audit.planes import UNIVERSES, released_law
from flint import ctx
from kng.core.sensitivity import Constant

import kng
from kng.core.lattice import Lattice
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.corridor import certified
from kng.domains import LatticeBox
from kng.estimators.public_facts import Columns
from kng.losses import HuberPlane, huber_plane
from kng.mechanisms import Exponential
from kng.norms import LInf

END = 8


@dataclass(frozen=True)
class Setting:
    """What is asked; stands where `audit.oracle` wants a setting. Bounds are in thresholds."""

    relation: str
    columns: int = 1
    intercept: bool = True
    epsilon: Fraction = Fraction(1)
    threshold: Fraction = Fraction(2)
    reach: int = 3
    bound: Fraction = Fraction(4)
    records_per_person: int = 1
    factor: Fraction = Fraction(1)

    @property
    def first(self) -> Record:
        """The least record."""
        return (-END,) * (self.columns + 1)

    @property
    def last(self) -> Record:
        """The greatest record."""
        return (END,) * (self.columns + 1)

    def plan(self, n: int) -> DensityPlan:
        """Return production's plan for n records, on coefficients -bound, ..., bound."""
        model: Any = kng.HuberRegressor(
            threshold=self.threshold,
            bounds_X=(-END, END),
            bounds_y=(-END, END),
            fit_intercept=self.intercept,
            mechanism="exponential",
        )
        design = model._design(Columns(self.columns))
        d, step = design.dim, self.bound / self.reach
        lattice = Lattice((-self.bound,) * d, (step,) * d, (2 * self.reach,) * d)
        neighbours = ReplaceOne(n) if self.relation == REPLACE else AddRemove()
        unit = PrivacyUnit(neighbours, self.records_per_person)
        box = LatticeBox((-self.reach,) * d, (self.reach,) * d)
        problem = Problem(HuberPlane(design), LInf(), box, design.records, lattice, unit)
        plan = certified(Exponential().plan(problem, self.epsilon))
        assert isinstance(plan, DensityPlan)
        return replace(plan, sensitivity=Constant(self.factor * plan.sensitivity.at((0,))))


# columns, intercept, lattice points on each side of 0
SHAPES = {"d1": (1, False, 20), "d1+1": (1, True, 3), "d2": (2, False, 3)}
# Share of epsilon = 1 that the worst pair must use: measured, rounded down. Under add-remove losses
# only add up, so no pair can use more than a half.
FLOORS = {
    ("d1", REPLACE): "0.59",
    ("d1", ADD): "0.32",
    ("d1+1", REPLACE): "0.52",
    ("d1+1", ADD): "0.36",
    ("d2", REPLACE): "0.45",
    ("d2", ADD): "0.36",
}


def setting_of(shape: str, relation: str, **changes: Any) -> Setting:
    columns, intercept, reach = SHAPES[shape]
    return replace(Setting(relation, columns, intercept, reach=reach), **changes)


def universe(setting: Setting, most: int = 3) -> tuple[Dataset, ...]:
    return datasets(UNIVERSES[setting.columns], sizes(setting.relation, most))


@pytest.mark.parametrize(("shape", "relation"), FLOORS)
def test_every_neighbouring_pair_loses_at_most_epsilon_and_the_worst_much_of_it(shape, relation):
    setting = setting_of(shape, relation)
    verdict = audit(setting, universe(setting))
    assert verdict.private, verdict
    assert verdict.spread <= setting.epsilon, verdict
    assert verdict.low >= Fraction(FLOORS[shape, relation]), verdict.tightness


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": Fraction(3), "threshold": Fraction(100), "bound": Fraction(1, 5)},
        {"epsilon": Fraction(1, 10), "records_per_person": 2},
        {"threshold": Fraction(1, 3), "bound": Fraction(1), "reach": 5},
    ],
    ids=["squares alone", "people", "responses cut off"],
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_other_public_numbers_change_nothing(relation, changes):
    setting = setting_of("d1+1", relation, **changes)
    verdict = audit(setting, universe(setting))
    assert verdict.private, verdict
    assert verdict.spread <= setting.epsilon, verdict


# --- directed search -----------------------------------------------------------------------------


def search(setting: Setting, n: int, seeds: range):
    """Return the worst pair of a few climbs from random neighbours."""
    found = []
    for seed in seeds:
        rng = random.Random(seed)

        def record(rng: random.Random = rng) -> Record:
            return tuple(rng.choice((-END, END, rng.randint(-END, END))) for _ in setting.first)

        common = tuple(record() for _ in range(n - 1))
        start = (*common, record()), (*common, record())
        found.append(climb(setting, start, rng, 300, enough=1.0))
    return max(found, key=lambda verdict: verdict.low)


@pytest.mark.parametrize(
    ("shape", "n", "floor"), [("d1", 20, "0.90"), ("d1+1", 20, "0.70"), ("d2", 10, "0.62")]
)
def test_directed_search_comes_close_to_epsilon_and_stays_below(shape, n, floor):
    verdict = search(setting_of(shape, REPLACE), n, range(1, 3))
    assert verdict.private, verdict
    assert verdict.spread <= 1, verdict
    assert verdict.low >= Fraction(floor), verdict.tightness


# --- the whole released point --------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_released_law_of_production_is_private(relation):
    setting = setting_of("d1+1", relation, reach=2)
    sample = datasets(UNIVERSES[1][:5], sizes(relation, 2))
    with ctx.workprec(PRECISION):
        laws = {d: released_law(setting.plan(len(d)), d) for d in sample}
        for law in laws.values():
            assert abs(sum(law) - 1) < 1e-50
    verdict = audit_laws(laws, pairs(sample, relation, 1), setting.epsilon)
    assert verdict.private, verdict
    assert verdict.tightness > {REPLACE: 0.46, ADD: 0.34}[relation], verdict.tightness


# --- seeded faults -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_half_the_constant_is_caught(shape):
    setting = setting_of(shape, REPLACE, factor=Fraction(1, 2))
    verdict = audit(setting, universe(setting))
    assert verdict.broken or verdict.spread > 1, verdict


def test_a_constant_without_the_response_is_caught(monkeypatch):
    """R - 1/2 in place of R + Y - 1/2, in a box as large as the bounds of y."""
    monkeypatch.setattr(huber_plane.HuberRows, "largest", _without_response)
    setting = setting_of("d1+1", REPLACE, bound=Fraction(1))
    verdict = audit(setting, universe(setting))
    assert verdict.broken or verdict.spread > 1, verdict


def _without_response(self, domain):
    sides = zip(domain.first, domain.last, strict=True)
    return huber_plane.ENDS * sum(max(abs(a), abs(b)) for a, b in sides)


def test_a_response_that_is_not_clipped_is_caught(monkeypatch):
    """The plan believes bounds_y, the record map does not."""
    setting = setting_of("d1+1", REPLACE)
    plans = {n: setting.plan(n) for n in range(1, 4)}

    def beyond(self, integers):
        step = float(self.design.records.step[-1] / (2 * self.design.half_y) * self.threshold)
        whole = (2 * integers - self.design.records.last[-1]) * step
        largest = np.abs(whole).max(initial=0.0)
        return np.rint(np.where(np.abs(whole) < 0.99 * largest, whole, 4 * whole))

    monkeypatch.setattr(huber_plane.HuberRows, "responses", beyond)
    verdict = audit(setting, universe(setting), plan_of=plans.__getitem__)
    assert verdict.broken or verdict.spread > 1, verdict
