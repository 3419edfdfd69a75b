"""Bounds: public facts, in every way a caller may state them."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kng.core.bounds import Bounds, bounds_of
from kng.core.errors import SpecError, SpecTypeError

ONE = Bounds((F(0),), (F(1, 10),))
TWO = Bounds((F(0), F(-1)), (F(10), F(1)))


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        ((0, 0.1), ONE),
        ([0, "0.1"], ONE),
        (("0", "1/10"), ONE),
        (np.array([0, 0.1]), ONE),
        (([0], [0.1]), ONE),
        (ONE, ONE),
        (([0, -1], [10, 1]), TWO),
        (((0, -1), (10, 1)), TWO),
        (([0, -1, 0], [10, 1, 9]), Bounds((*TWO.low, F(0)), (*TWO.high, F(9)))),
        ((np.array([0, -1]), np.array([10, 1])), TWO),
        (np.array([[0, -1], [10, 1]]), TWO),
        ({"a": (0, 10), "b": (-1, 1)}, Bounds(TWO.low, TWO.high, ("a", "b"))),
        ({"a": np.array([0, 10]), 3: [-1, 1]}, Bounds(TWO.low, TWO.high, ("a", "3"))),
    ],
    ids=repr,
)
def test_bounds_are_read_in_every_form(stated, read):
    assert bounds_of(stated) == read


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (None, SpecError),
        ((1, 0), SpecError),
        ((1, 1), SpecError),
        ((0, 1, 2), SpecError),
        ((), SpecError),
        ({}, SpecError),
        (([0, 0], [1]), SpecError),
        (([0, 5], [1, 5]), SpecError),
        (([], []), SpecError),
        ({"a": (1, 0)}, SpecError),
        ({"a": (0, 1, 2)}, SpecError),
        ({"a": None}, SpecTypeError),
        ("01", SpecTypeError),
        (b"01", SpecTypeError),
        (5, SpecTypeError),
        ({0, 1}, SpecTypeError),
        ((0, None), SpecTypeError),
        (([0, [1]], [2, 3]), SpecTypeError),
    ],
    ids=repr,
)
def test_what_are_no_bounds_is_refused_by_name(wrong, error):
    with pytest.raises(error, match="bounds"):
        bounds_of(wrong)


def test_the_column_at_fault_is_named():
    with pytest.raises(SpecTypeError, match=r"bounds\['income'\] must be a pair"):
        bounds_of({"age": (0, 120), "income": 5})


def test_bytes_are_no_numbers():
    with pytest.raises(SpecTypeError, match="bounds"):
        bounds_of((b"a", b"b"))


@given(
    st.lists(st.tuples(st.fractions(), st.fractions(min_value=F(1, 99))), min_size=1, max_size=4)
)
def test_widths_and_lengths(sides):
    low = tuple(a for a, _ in sides)
    high = tuple(a + w for a, w in sides)
    bounds = Bounds(low, high)
    assert bounds.width == tuple(w for _, w in sides)
    assert len(bounds) == len(sides)
    assert bounds_of((np.array(low), np.array(high))) == bounds
    assert bounds_of(np.array([low, high])) == bounds


BOTH = [(0, 1), (10, 20)]


@pytest.mark.parametrize(
    "stated", [BOTH, tuple(BOTH), [[0, 1], [10, 20]], ([0, 1], [10, 20]), [("0", 1), (10, "20")]]
)
def test_two_pairs_that_could_be_two_ends_are_refused_with_both_ways_to_write_them(stated):
    with pytest.raises(SpecError, match=r"^bounds_X may be") as caught:
        bounds_of(stated, "bounds_X")
    message = str(caught.value)
    assert "np.array([[0, 1], [10, 20]]) if these are lows, then highs" in message
    assert "np.array([[0, 10], [1, 20]]) if they are pairs" in message
    assert "{'age': (0, 120)}" in message


def test_what_the_refusal_offers_is_read_as_it_says():
    ends, pairs = bounds_of(np.array([[0, 1], [10, 20]])), bounds_of(np.array([[0, 10], [1, 20]]))
    assert (ends.low, ends.high) == ((0, 1), (10, 20))
    assert (pairs.low, pairs.high) == ((0, 10), (1, 20))
    assert bounds_of((np.array([0, 1]), np.array([10, 20]))) == ends


@pytest.mark.parametrize("columns", [1, 2, 3, 5])
def test_one_pair_per_column_is_read_where_it_can_be_nothing_else(columns):
    pairs = [(-1, 1), ("-5", 0), (-2, 0), (-3, 0.5), (-4, 4)][:columns]
    read = bounds_of(pairs, "bounds_X")
    assert read == Bounds((-1, -5, -2, -3, -4)[:columns], (1, 0, 0, F(1, 2), 4)[:columns])


def test_two_ends_with_a_slip_are_not_read_as_two_pairs():
    with pytest.raises(SpecError, match=r"^bounds_X must be .* fit only as one pair per column"):
        bounds_of(([0, 5], [1, 5]), "bounds_X")
    assert bounds_of([(0, 5), (1, 5)]) == Bounds((F(0), F(1)), (F(5), F(5)))


def test_two_readings_that_agree_are_no_fault():
    assert bounds_of([(0, 1), (1, 2)]) == Bounds((F(0), F(1)), (F(1), F(2)))


def test_an_array_of_pairs_is_told_to_turn_around():
    with pytest.raises(SpecError, match=r"shape \(3, 2\).*bounds_X\.T"):
        bounds_of(np.array([[0, 1], [0, 2], [0, 3]]), "bounds_X")


def test_a_column_has_one_name():
    with pytest.raises(SpecError, match=r"^bounds_X name a column twice"):
        bounds_of({3: (0, 1), "3": (0, 2)}, "bounds_X")


def test_bounds_are_fixed():
    with pytest.raises(AttributeError):
        ONE.low = (F(5),)


@pytest.mark.parametrize(
    "wrong", [None, (1, 0), (0, 1, 2), {}, ([0], [1, 2]), {"a": (1, 0)}, {"a": 5}, 5, (0, "x")]
)
def test_the_argument_at_fault_is_named(wrong):
    with pytest.raises((SpecError, SpecTypeError), match=r"^bounds_X\b"):
        bounds_of(wrong, "bounds_X")
