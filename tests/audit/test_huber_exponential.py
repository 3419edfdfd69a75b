"""The exponential mechanism for Huber's loss: every neighbouring pair of tiny universes, exactly.

The estimator chooses loss, bounds and mechanism; only its lattice of coefficients is replaced by
one that can be enumerated. Records are whole numbers x_1, ..., x_p, y within -8 .. 8, and some lie
outside, to be clipped. A directed search goes on where enumeration ends; faults are seeded in the
constant and in the record map, and must be seen.
"""

from __future__ import annotations

import random
from dataclasses import replace
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
from audit.planes import END, UNIVERSES, HuberPlane, released_law
from flint import ctx

from kng.losses.fields.huber_records import HuberRows
from kng.losses.kernels.linear_rows import LinearRows

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


def setting_of(shape: str, relation: str, **changes: Any) -> HuberPlane:
    columns, intercept, reach = SHAPES[shape]
    return replace(HuberPlane(relation, columns, intercept, reach=reach), **changes)


def universe(setting: HuberPlane, most: int = 3) -> tuple[Dataset, ...]:
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


def search(setting: HuberPlane, n: int, seeds: range):
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
    monkeypatch.setattr(LinearRows, "ends", lambda self: (0, 0))
    setting = setting_of("d1+1", REPLACE, bound=Fraction(1))
    verdict = audit(setting, universe(setting))
    assert verdict.broken or verdict.spread > 1, verdict


def test_a_response_that_is_not_clipped_is_caught(monkeypatch):
    """The plan believes bounds_y, the record map does not."""
    setting = setting_of("d1+1", REPLACE)
    plans = {n: setting.plan(n) for n in range(1, 4)}

    def beyond(self, integers):
        step = float(self.design.records.step[-1] / (2 * self.design.half_y) * self.threshold)
        whole = (2 * integers - self.design.records.last[-1]) * step
        largest = np.abs(whole).max(initial=0.0)
        return np.rint(np.where(np.abs(whole) < 0.99 * largest, whole, 4 * whole))

    monkeypatch.setattr(HuberRows, "responses", beyond)
    verdict = audit(setting, universe(setting), plan_of=plans.__getitem__)
    assert verdict.broken or verdict.spread > 1, verdict
