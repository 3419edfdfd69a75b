"""The lattice of answers, and how the default step is chosen."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kng.core.bounds import bounds_of
from kng.core.encoding import MOST_STEPS, encoding_of
from kng.core.errors import SpecError
from kng.core.lattice import Lattice, power_of_two_below

POSITIVE = st.fractions(min_value=F(1, 10**6), max_value=10**9)
LINE = Lattice((F(-1),), (F(1, 4),), (8,))


@given(st.fractions(), POSITIVE, st.integers(0, 200), st.fractions())
def test_the_nearest_point_is_nearest(origin, step, last, value):
    lattice = Lattice((origin,), (step,), (last,))
    (k,) = lattice.nearest((value,))
    assert 0 <= k <= last
    distance = abs(lattice.units((k,))[0] - value)
    for other in (k - 1, k + 1):
        if 0 <= other <= last:
            assert distance <= abs(lattice.units((other,))[0] - value)


def test_a_value_half_way_goes_to_the_even_point():
    assert [LINE.nearest((F(-1) + F(k, 8),))[0] for k in (1, 3, 5)] == [0, 2, 2]


@given(st.lists(st.integers(), min_size=1, max_size=4))
def test_clamping_moves_only_what_is_outside(integers):
    last = (8,) * len(integers)
    lattice = Lattice((F(0),) * len(integers), (F(1),) * len(integers), last)
    clamped = lattice.clamp(integers)
    assert clamped == tuple(0 if k < 0 else 8 if k > 8 else k for k in integers)
    assert lattice.clamp(clamped) == clamped


def test_units_and_points():
    plane = Lattice((F(0), F(1, 3)), (F(1, 10), F(2)), (9, 4))
    assert plane.units((3, 2)) == (F(3, 10), F(13, 3))
    assert plane.points == 50
    with pytest.raises(ValueError, match=r"shorter|longer"):
        plane.units((1,))


@given(st.fractions(min_value=F(1, 10**300), max_value=10**300))
@example(F(1))
@example(F(2**70))
@example(F(2**70 - 1))
@example(F(2**70 + 1))
@example(F(1, 2**70))
@example(F(1, 3))
def test_the_power_of_two_below(number):
    power = power_of_two_below(number)
    assert power <= number < 2 * power
    assert 1 in (power.numerator, power.denominator)
    assert (power.numerator & (power.numerator - 1)) == 0
    assert (power.denominator & (power.denominator - 1)) == 0


@given(st.fractions(max_value=10**9, min_value=-(10**9)), POSITIVE, st.sampled_from([20, 32]))
def test_the_default_step_is_a_power_of_two_that_is_fine_enough(low, width, bits):
    rule = encoding_of(bounds_of((low, low + width)), granularity=None, missing=None, bits=bits)
    (step,), (last,) = rule.step, rule.last
    assert power_of_two_below(step) == step
    assert 2**bits <= last < 2 ** (bits + 1)
    assert last * step <= width < (last + 1) * step
    assert rule.lattice == Lattice((low,), (step,), (last,))
    # A record with a missing cell is absent, unless none can be missing: then it is in the middle.
    assert rule.missing == (None,)
    assert rule.complete == (0,)
    (middle,) = rule.always(0).missing
    assert abs(low + step * middle - (low + width / 2)) <= step


@given(POSITIVE, POSITIVE)
def test_a_stated_step_is_used_as_it_is(width, step):
    bounds = bounds_of((0, width))
    if step > width:
        with pytest.raises(SpecError, match="granularity must not exceed the range"):
            encoding_of(bounds, granularity=step, missing=None, bits=20)
    elif width // step > MOST_STEPS:
        with pytest.raises(SpecError, match=r"more than 2\*\*44 steps"):
            encoding_of(bounds, granularity=step, missing=None, bits=20)
    else:
        rule = encoding_of(bounds, granularity=step, missing=None, bits=20)
        assert rule.step == (step,)
        assert rule.last == (width // step,)
        assert 0 <= rule.always(0).missing[0] <= rule.last[0]


def test_the_most_steps_are_allowed_and_no_more():
    bounds = bounds_of((0, 2**44))
    assert encoding_of(bounds, granularity=1, missing=None, bits=20).last == (2**44,)
    with pytest.raises(SpecError, match="larger granularity"):
        encoding_of(bounds_of((0, 2**44 + 1)), granularity=1, missing=None, bits=20)


def test_settings_are_one_for_all_or_one_per_column():
    bounds = bounds_of({"a": (0, 10), "b": (0, 20)})
    for granularity, missing in ((2, 4), ([2, 2], [4, 4]), ({"b": 2, "a": 2}, {"a": 4, "b": 4})):
        rule = encoding_of(bounds, granularity=granularity, missing=missing, bits=20)
        assert (rule.step, rule.last, rule.missing) == ((F(2), F(2)), (5, 10), (2, 2))
        assert len(rule) == 2
    rule = encoding_of(bounds, granularity={"b": 4, "a": 2}, missing=[0, 20], bits=20)
    assert (rule.step, rule.missing) == ((F(2), F(4)), (0, 5))


@pytest.mark.parametrize("missing", [-1, 11, "10.0001"])
def test_what_missing_counts_as_lies_inside_the_bounds(missing):
    with pytest.raises(SpecError, match=r"missing must lie inside the bounds \(0, 10\), got"):
        encoding_of(bounds_of((0, 10)), granularity=1, missing=missing, bits=20)


def test_missing_at_the_upper_bound_stays_on_the_lattice():
    rule = encoding_of(bounds_of((0, 10)), granularity=4, missing=10, bits=20)
    assert (rule.last, rule.missing) == ((2,), (2,))
