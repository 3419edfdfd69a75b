"""Quantile planes through 0 over boxes that are not symmetric around it, audited exactly.

All datasets of up to three records in one and two coefficients, both relations. At outer quantiles
so few cannot do enough: there all datasets of twelve records of three kinds, and a directed search.
Then the law of the released point; and faults that must be seen: either case of the sensitivity
left out, Delta halved or doubled, covariates that are clipped to -M .. M only.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from audit.oracle import (
    PRECISION,
    RELATIONS,
    REPLACE,
    Dataset,
    Record,
    audit,
    audit_laws,
    datasets,
    pairs,
    sizes,
)
from audit.planes import Plane, released_law, stating
from audit.test_planes import search
from flint import ctx

from kng.losses import Linear
from kng.losses.pointwise.function import Interval

BOXES = {
    "positive": ((0, 8),),
    "away from 0": ((2, 8),),
    "negative": ((-8, -1),),
    "across 0": ((-4, 8),),
    "two positive": ((0, 8), (0, 8)),
    "one of each": ((0, 8), (-4, 8)),
    "away and symmetric": ((2, 8), (-8, 8)),
}


def plane(name: str, relation: str, quantile: str, **others: Any) -> Plane:
    box = BOXES[name]
    reach = 20 if len(box) == 1 else 3
    return Plane((quantile,), relation, len(box), False, reach=reach, boxes=box, **others)


def universe(setting: Plane) -> tuple[Dataset, ...]:
    """Return datasets of corners, of records on planes of the lattice and of some to be clipped."""
    *box, (low, high) = zip(setting.first, setting.last, strict=True)
    far = [b if abs(b) >= abs(a) else a for a, b in box]
    near = [a if abs(b) >= abs(a) else b for a, b in box]
    beyond = [30 if end > 0 else -30 for end in far]
    records: list[Record] = [
        (*far, high), (*far, low), (*near, high), (*near, low), (*far, 3), (*beyond, 1),
    ]  # fmt: skip
    if len(box) > 1:
        records[2:4] = [(near[0], far[1], high)]
        records += [(far[0], near[1], y) for y in (low, high, 3)]
    return datasets(records, sizes(setting.relation, 3))


# Share of epsilon = 1 that the worst pair must use: measured, rounded down.
FLOORS = {"0.1": "0.38", "0.5": "0.80", "0.9": "0.38"}


@pytest.mark.every(2)
@pytest.mark.parametrize("quantile", FLOORS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", BOXES)
def test_every_neighbouring_pair_loses_at_most_epsilon_and_the_worst_much_of_it(
    name: str, relation: str, quantile: str
) -> None:
    setting = plane(name, relation, quantile)
    verdict = audit(setting, universe(setting))
    assert verdict.private, verdict
    assert verdict.spread <= setting.epsilon, verdict
    assert verdict.low >= Fraction(FLOORS[quantile]), verdict.tightness


def crowds(setting: Plane) -> tuple[Dataset, ...]:
    """Return all datasets of twelve records at the far end: above, below and across the planes."""
    far = max(setting.boxes[0], key=abs)
    records = [(far, 8), (far, -8), (far, 1)]
    return datasets(records, [12] if setting.relation == REPLACE else [11, 12])


@pytest.mark.parametrize("quantile", ["0.1", "0.9"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["positive", "away from 0", "negative"])
def test_twelve_records_use_all_of_epsilon_at_outer_quantiles(
    name: str, relation: str, quantile: str
) -> None:
    setting = plane(name, relation, quantile)
    verdict = audit(setting, crowds(setting))
    assert verdict.private, verdict
    assert verdict.spread == 1, verdict
    assert verdict.tightness > 0.98


SEARCHES = [
    ("positive", "0.9", "0.99"),
    ("across 0", "0.1", "0.99"),
    ("two positive", "0.9", "0.85"),
    ("one of each", "0.1", "0.99"),
]


@pytest.mark.parametrize(("name", "quantile", "floor"), SEARCHES)
def test_directed_search_comes_close_to_epsilon_and_stays_below(
    name: str, quantile: str, floor: str
) -> None:
    verdict = search(plane(name, REPLACE, quantile), 20, range(1, 3))
    assert verdict.private, verdict
    assert verdict.spread <= 1, verdict
    assert verdict.low >= Fraction(floor), verdict.tightness


@pytest.mark.parametrize("response", [(-8, 8), (0, 8), (2, 8)], ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
def test_a_response_of_one_sign_is_measured_from_0_too(
    mechanism: str, relation: str, response: tuple[int, int]
) -> None:
    for name, quantile in (("positive", "0.9"), ("across 0", "0.1")):
        setting = plane(name, relation, quantile, mechanism=mechanism, response=response)
        verdict = audit(setting, universe(setting))
        assert verdict.private, verdict
        assert verdict.spread <= setting.epsilon, verdict


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_released_law_of_production_is_private(relation: str) -> None:
    setting = Plane(("0.9",), relation, 2, False, reach=2, boxes=BOXES["one of each"])
    sample = datasets(((8, 8, 8), (8, -4, -8), (0, 8, 1), (8, 8, 2)), sizes(relation, 2))
    plans = {n: setting.plan(n) for n in {len(d) for d in sample}}
    with ctx.workprec(PRECISION):
        laws = {d: released_law(plans[len(d)], d) for d in sample}
        for law in laws.values():
            assert abs(sum(law) - 1) < 1e-50
    verdict = audit_laws(laws, pairs(sample, relation, 1), setting.epsilon)
    assert verdict.private, verdict
    assert verdict.spread <= plans[1].width, "the range on the receipt is too small"


# --- seeded faults -------------------------------------------------------------------------------


def same_side(loss: Linear) -> Fraction:
    ends = loss.pointwise.psi(Interval(None, None), Interval(None, None))
    return ends.largest * max(loss.design.widths)


@pytest.mark.parametrize("quantile", ["0.1", "0.5", "0.9"])
@pytest.mark.parametrize("name", ["positive", "away from 0", "negative"])
def test_opposite_sides_left_out_are_caught(
    name: str, quantile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For covariates of one sign this is also the symmetric constant, halved."""
    stating(monkeypatch, same_side)
    setting = plane(name, REPLACE, quantile)
    assert audit(setting, crowds(setting)).broken


def test_records_on_the_same_side_left_out_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 is the constant of covariates of one sign; across 0 it takes 1.5 * 0.9."""
    stating(monkeypatch, lambda _: Fraction(1))
    assert search(plane("across 0", REPLACE, "0.1"), 20, range(1, 3)).broken


def test_covariates_that_are_clipped_to_both_signs_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The constant of (0, 8) for records of (-8, 8)."""
    stating(monkeypatch, lambda _: Fraction(1))
    setting = Plane(("0.9",), REPLACE, 1, False, reach=20, boxes=((-8, 8),))
    assert search(setting, 20, range(1, 3)).broken


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["positive", "across 0", "two positive"])
def test_half_a_sensitivity_is_caught_and_twice_misses_its_floor(
    name: str, relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = plane(name, relation, "0.5")
    sample, original = universe(setting), setting.plan(1).steady
    stating(monkeypatch, lambda _: original / 2)
    assert audit(setting, sample).broken
    stating(monkeypatch, lambda _: 2 * original)
    assert audit(setting, sample).high < Fraction(FLOORS["0.5"])
