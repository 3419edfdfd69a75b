"""Quantile planes through 0, with covariates in boxes that need not be symmetric around it.

Every pair of records of a small universe goes through the production door and is compared at every
point of a small lattice, exactly: the sensitivity is the largest change there is, and no more.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kng.core.bodies import Body
from kng.core.bounds import Bounds
from kng.core.delta import Absolute, delta
from kng.core.design import Design, from_zero
from kng.core.encoding import Encoding
from kng.core.errors import SpecError
from kng.core.lattice import Lattice
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.regions import Region
from kng.data import open_regression
from kng.losses import Huber, Linear, Pinball
from kng.losses.fields.plane_records import ENDS, PlaneRows
from kng.losses.linear_encoding import encoded
from kng.norms import LInf

TAUS = [Fraction(q) for q in ("0.1", "0.5", "0.8", "0.9")]
BOXES = {
    "positive": [(0, 10)],
    "away from 0": [(18, 90)],
    "negative": [(-7, -3)],
    "across 0": [("-0.5", 1)],
    "nearly symmetric": [(-1, "0.99")],
    "two positive": [(0, 10), (18, 90)],
    "one of each": [(0, 10), (-1, 1)],
    "both signs": [(-9, -2), ("-0.3", "0.9")],
}
STEP = Fraction(1, 2)
ONE, ADDED = PrivacyUnit(ReplaceOne(3)), PrivacyUnit(AddRemove())


def design(box, response=(-1, 1)) -> Design:
    lows, highs = zip(*((Fraction(a), Fraction(b)) for a, b in box), strict=True)
    y = from_zero(*map(Fraction, response), 2**24)
    return Design(encoded(Bounds(lows, highs), y, from_zero), False)


def body_of(tau: Fraction, plan: Design) -> Body:
    """Return what holds the score of any record at any plane."""
    return Linear(Pinball(tau), intercept=False).over(plan).body(Region.everything(plan.dim))


def gradients(tau: Fraction, plan: Design, box) -> list[list[tuple[Fraction, ...]]]:
    """Return, at every point of a lattice, (w - tau) z of every record of a universe."""
    d = plan.dim
    answers = Lattice((-4 * STEP,) * d, (STEP,) * d, (8,) * d)
    ends = [(float(Fraction(a)), float(Fraction(b))) for a, b in box]
    cells = [(low, high, (low + 2 * high) / 3, -1e6, 1e6) for low, high in ends]
    records = [(*x, y) for x in product(*cells) for y in (-1.0, 0.0, 0.3, 1.0)]
    table = np.array(records)
    source = open_regression(table[:, :-1], table[:, -1], plan.records)
    table = source.collect(PlaneRows(plan, answers))
    rows, response = table[:, :-1], table[:, -1]
    found = []
    for theta in product(range(-4, 5), repeat=d):
        ahead = rows @ np.array(theta, np.float32) >= response
        found.append(
            [
                tuple((int(w) - tau) * Fraction(int(v), ENDS) for v in x)
                for w, x in zip(ahead, rows, strict=True)
            ]
        )
    return found


def largest_change(here: list[list[tuple[Fraction, ...]]]) -> Fraction:
    """Return the sup norm of the widest change, coordinate by coordinate."""
    sides = [(max(side), min(side)) for point in here for side in zip(*point, strict=True)]
    return max(high - low for high, low in sides)


@pytest.mark.parametrize("tau", TAUS, ids=str)
@pytest.mark.parametrize("name", BOXES)
def test_the_sensitivity_is_the_largest_change_of_all_pairs_at_all_planes(name, tau):
    plan = design(BOXES[name])
    here = gradients(tau, plan, BOXES[name])
    body = body_of(tau, plan)
    two, one = delta(LInf(), body, ONE), delta(LInf(), body, ADDED)
    assert largest_change(here) == two
    assert max(LInf().value(g) for point in here for g in point) == one == max(tau, 1 - tau)


@pytest.mark.parametrize("tau", TAUS, ids=str)
@pytest.mark.parametrize("name", BOXES)
def test_the_constant_in_closed_form(name, tau):
    plan, larger = design(BOXES[name]), max(tau, 1 - tau)
    two = delta(LInf(), body_of(tau, plan), ONE)
    widest = max(
        (Fraction(b) - Fraction(a)) / max(abs(Fraction(a)), abs(Fraction(b)))
        for a, b in BOXES[name]
    )
    # up to one step by which an end moves inwards
    assert 0 <= max(Fraction(1), larger * widest) - two <= Fraction(2, ENDS)
    if name in {"positive", "away from 0", "negative", "two positive"}:
        assert two == 1, "covariates of one sign: 1 at every quantile"
    if name == "one of each":
        assert two == 2 * larger


@pytest.mark.parametrize("tau", TAUS, ids=str)
@pytest.mark.parametrize("name", ["positive", "across 0", "one of each"])
def test_neither_half_of_the_argument_can_be_left_out(name, tau):
    """Same side alone, opposite sides alone: one of them is exceeded, or both are equal."""
    plan, larger = design(BOXES[name]), max(tau, 1 - tau)
    widest = largest_change(gradients(tau, plan, BOXES[name]))
    same, opposite = larger * max(plan.widths), Fraction(1)
    assert widest == max(same, opposite)
    if name == "positive":
        assert widest > same, "a version that forgets opposite sides is caught"
    elif larger > Fraction(2, 3):
        assert widest > opposite, "a version that forgets records on the same side is caught"


@pytest.mark.parametrize("tau", TAUS, ids=str)
@pytest.mark.parametrize("response", [(-1, 1), (0, 1), ("-0.25", 1), (-3, -2)], ids=str)
@pytest.mark.parametrize("name", ["positive", "across 0"])
def test_the_value_of_one_record_is_bounded_and_the_bound_nearly_attained(name, response, tau):
    plan = design(BOXES[name], response)
    reach = 4
    answers = Lattice((-reach * STEP,), (STEP,), (2 * reach,))
    loss = Linear(Pinball(tau), intercept=False).over(plan, answers, Fraction(0))
    region = Region.between(answers.origin, answers.units(answers.last))
    bound = delta(Absolute(), loss.values(region), ONE)
    losses = []
    for x, y in product((-1e9, 1e9), (-1e9, 1e9)):
        source = open_regression(np.array([[x]]), np.array([y]), plan.records)
        table = source.collect(PlaneRows(plan, answers))
        rows, z = table[:, :-1], table[:, -1]
        for theta in range(-reach, reach + 1):
            gap = (Fraction(int(z[0])) - Fraction(int(rows[0, 0])) * theta) * STEP / ENDS
            losses.append(max(tau * gap, (tau - 1) * gap))
    assert 0 <= max(losses) <= bound
    assert bound - max(losses) <= max(tau, 1 - tau) * STEP / ENDS, "one unit of rounding"


# --- the columns themselves ----------------------------------------------------------------------

number = st.fractions(-1000, 1000, max_denominator=1000)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(ends=st.tuples(number, number), steps=st.sampled_from([2**16, 2**24]))
def test_steps_are_counted_from_zero_and_stay_within_the_bounds(ends, steps):
    low, high = sorted(ends)
    largest = max(abs(low), abs(high))
    assume(largest > 0 and high - low >= 66 * (2 * largest / steps))
    first, last, step = from_zero(low, high, steps)
    assert (first / step).denominator == (last / step).denominator == 1
    assert low <= first < low + step
    assert high - step < last <= high
    assert max(abs(first), abs(last)) == largest == step * steps / 2


@settings(max_examples=100, deadline=None, derandomize=True)
@given(ends=st.tuples(number, number))
def test_a_design_reaches_one_and_zero_is_where_it_was(ends):
    low, high = sorted(ends)
    largest = max(abs(low), abs(high))
    assume(largest > 0 and high - low >= largest / 400)
    plan = design([(low, high)])
    (a, b), _ = plan.ends
    assert max(abs(a), abs(b)) == 1
    assert abs(a - low / largest) < Fraction(2, ENDS)
    assert abs(b - high / largest) < Fraction(2, ENDS)
    assert plan.middles == (0, 0)
    assert plan.halves[0] == largest
    assert plan.spans[0] == ENDS
    # 0 itself, where it is inside, is an integer that standardises to 0
    if low < 0 < high:
        k = round(-plan.records.bounds.low[0] / plan.records.step[0])
        assert 2 * k - plan.offsets[0] == 0


@pytest.mark.parametrize("bounds", [(10**6, 10**6 + 1), (-(10**6) - 1, -(10**6)), ("0.999", 1)])
def test_bounds_too_narrow_for_their_distance_from_zero_are_refused(bounds):
    with pytest.raises(SpecError, match=r"too narrow.*distance from 0.*intercept"):
        design([bounds])


def test_a_design_by_hand_must_hold_zero_on_its_lattice():
    records = encoded(Bounds((Fraction(1, 3),), (Fraction(1),)), (Fraction(-1), Fraction(1), STEP))
    assert Design(records, True).middles[0] == Fraction(2, 3)
    with pytest.raises(SpecError, match="half steps"):
        Design(
            encoded(Bounds((Fraction(1, 7),), (Fraction(1),)), (Fraction(-1), Fraction(1), STEP)),
            False,
        )


@pytest.mark.parametrize("pointwise", [Huber(1), Pinball(TAUS[0])], ids=lambda p: p.name)
def test_planes_refuse_covariates_in_other_steps(pointwise):
    """Their whole numbers are 2**16 z, or the sensitivity would be that of other records."""
    low, high, step = from_zero(Fraction(-1), Fraction(1), 2**17)
    bounds = Bounds((low, low), (high, high))
    finer = Encoding(bounds, (step, step), (2**16, 2**16))
    for intercept in (True, False):
        formula, d = Linear(pointwise, intercept=intercept), 1 + intercept
        answers = Lattice((-4 * STEP,) * d, (STEP,) * d, (8,) * d)
        with pytest.raises(SpecError, match="steps"):
            formula.over(Design(finer, intercept), answers)
