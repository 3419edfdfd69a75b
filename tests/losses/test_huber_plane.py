"""Huber's loss of one record, in whole numbers: bounded as stated, and the bound attained."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kng.core.bounds import Bounds
from kng.core.delta import Absolute, delta
from kng.core.design import Design
from kng.core.errors import IncompatibleParts
from kng.core.lattice import Lattice
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.data import open_regression
from kng.domains import LatticeBox
from kng.losses import Huber, Linear
from kng.losses.fields.huber_records import LOSS, HuberRecords, HuberRows, losses
from kng.losses.linear_encoding import encoded

THRESHOLD = Fraction(1, 2)


def parts(columns: int, intercept: bool, far: Fraction, reach: int, step: Fraction):
    """Return a loss, a box of coefficients and their lattice; |y| <= far."""
    covariates = Bounds((Fraction(-1),) * columns, (Fraction(1),) * columns)
    encoding = encoded(covariates, (-far, far, 2 * far / ceil(2**21 * far / THRESHOLD)))
    d = columns + intercept
    answers = Lattice((-reach * step,) * d, (step,) * d, (2 * reach,) * d)
    design = Design(encoding, intercept, THRESHOLD)
    loss = Linear(Huber(THRESHOLD), intercept=intercept).over(design, answers)
    return loss, LatticeBox((-reach,) * d, (reach,) * d), answers


def largest_value(loss: Linear, box: LatticeBox) -> Fraction:
    """Return how far one record moves the summed loss."""
    region = loss.grid.region(box.first, box.last)
    return delta(Absolute(), loss.values(region), PrivacyUnit(ReplaceOne(3)))


def field_of(loss: Linear, box: LatticeBox, answers: Lattice, x, y) -> HuberRecords:
    kernel = HuberRows(loss.design, answers)
    source = open_regression(np.array([x], float), np.array([y], float), loss.design.records)
    table = source.collect(kernel)
    rows, response = table[:, :-1], table[:, -1]
    return HuberRecords(rows, response, float(kernel.threshold), "value", float(kernel.steps(box)))


CASES = {
    "outer": (Fraction(2), 8, Fraction(1, 4)),
    "squares alone": (Fraction(1, 16), 2, Fraction(1, 64)),
    "cut off": (Fraction(2**10), 2, Fraction(1, 4)),
    "no power of two": (Fraction(5, 3), 7, Fraction(1, 3)),
    "fine": (Fraction(2), 2**27, Fraction(1, 2**24)),
}


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(sorted(CASES)),
    st.booleans(),
    st.lists(st.floats(-1.1, 1.1), min_size=2, max_size=2),
    st.floats(allow_nan=True, allow_infinity=True),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
)
def test_no_record_has_a_larger_loss_anywhere(case, intercept, x, y, share):
    far, reach, step = CASES[case]
    loss, box, answers = parts(2, intercept, far, reach, step)
    bound = largest_value(loss, box)
    field = field_of(loss, box, answers, x, y)
    theta = tuple(round(s * reach) for s in share[: box.dim])
    assert 0 <= field.score(theta) <= bound


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_largest_loss_is_attained_against_a_record_with_none(case, intercept):
    far, reach, step = CASES[case]
    loss, box, answers = parts(1, intercept, far, reach, step)
    bound = largest_value(loss, box)
    at = box.last
    worst = field_of(loss, box, answers, [1], -float(far))
    grain = 1 / Fraction(worst.steps)
    assert worst.score(at) == bound or case == "no power of two"
    assert bound - grain <= worst.score(at) <= bound
    # x = -1 with an intercept, x = 0 without: a prediction of 0
    assert field_of(loss, box, answers, [-float(intercept)], 0).score(at) == 0
    cut = sum(answers.step) * (reach + 1) + 2
    response = min(far / THRESHOLD, cut)
    r = box.dim * reach * step + response
    stated = r * r / 2 if r <= 1 else r - Fraction(1, 2)
    assert abs(bound - stated) < Fraction(1, 2**15)


def test_a_cut_response_has_the_same_loss_but_for_a_constant():
    far, reach, step = CASES["cut off"]
    loss, box, answers = parts(1, True, far, reach, step)
    wide = field_of(loss, box, answers, [0.3], float(far))
    kernel = HuberRows(loss.design, answers)
    uncut = np.rint([float(far / THRESHOLD * kernel.threshold)])
    there = HuberRecords(wide.rows, uncut, wide.bend, "value", wide.steps)
    assert float(uncut[0]) > wide.response[0]
    gaps = {
        there.score((a, b)) - wide.score((a, b))
        for a in range(-reach, reach + 1)
        for b in range(-reach, reach + 1)
    }
    assert len(gaps) == 1


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 2**52), st.integers(0, 2**52), st.sampled_from([3.0, 2.0**17, 2.0**42, 1e9 / 7])
)
def test_a_loss_does_not_fall_as_its_residual_grows(a, b, bend):
    low, high = sorted((a, b))
    found = losses(np.array([float(low), -float(high)]), bend, 2.0**20)
    assert found[0] <= found[1]


@pytest.mark.parametrize("case", CASES)
def test_no_loss_has_more_steps_than_sums_can_hold(case):
    loss, box, answers = parts(2, True, *CASES[case])
    bound = largest_value(loss, box)
    steps = HuberRows(loss.design, answers).steps(box)
    assert LOSS // 16 < bound * steps <= LOSS or case == "squares alone"
    assert bound * steps <= LOSS


def test_residuals_that_float64_cannot_hold_are_refused():
    with pytest.raises(IncompatibleParts, match="larger step"):
        parts(2, True, Fraction(2), 2**40, Fraction(1, 2**30))
