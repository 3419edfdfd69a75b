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
    assert bounds_of((low, high)) == bounds


def test_bounds_are_fixed():
    with pytest.raises(AttributeError):
        ONE.low = (F(5),)


@pytest.mark.parametrize(
    "wrong", [None, (1, 0), (0, 1, 2), {}, ([0], [1, 2]), {"a": (1, 0)}, {"a": 5}, 5, (0, "x")]
)
def test_the_argument_at_fault_is_named(wrong):
    with pytest.raises((SpecError, SpecTypeError), match=r"^bounds_X\b"):
        bounds_of(wrong, "bounds_X")
