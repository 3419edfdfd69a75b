"""Numbers as the caller wrote them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kng.core.errors import SpecError, SpecTypeError
from kng.core.exact import exact, listed, positive, show, whole


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (0.1, Fraction(1, 10)),
        (0.1 + 0.2, Fraction("0.30000000000000004")),
        (1e-7, Fraction(1, 10**7)),
        (1e22, Fraction(10**22)),
        (-0.0, Fraction(0)),
        (1e-300, Fraction(1, 10**300)),
        (1e300, Fraction(10**300)),
        (3, Fraction(3)),
        (2**80 + 1, Fraction(2**80 + 1)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction("0.1")),
        (np.longdouble("0.1"), Fraction(1, 10)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (np.array(0.1), Fraction(1, 10)),
        (np.array(7), Fraction(7)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("1e-3"), Fraction(1, 1000)),
        (Fraction(1, 3), Fraction(1, 3)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (" 2.50 ", Fraction(5, 2)),
        ("-1e-2", Fraction(-1, 100)),
        ("1_000", Fraction(1000)),
    ],
    ids=repr,
)
def test_a_number_is_read_as_it_is_written(written, read):
    value = exact(written, "x")
    assert value == read
    assert type(value) is Fraction


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (math.nan, SpecError, "x must be a finite number, got nan"),
        (math.inf, SpecError, "x must be a finite number, got inf"),
        (np.float32("nan"), SpecError, "x must be a finite number"),
        (Decimal("NaN"), SpecError, "x must be a finite number"),
        (Decimal("-Infinity"), SpecError, "x must be a finite number"),
        ("1/0", SpecError, "x must be a finite number, got '1/0'"),
        ("", SpecError, "x must be a number, got ''"),
        ("ten", SpecError, "x must be a number, got 'ten'"),
        ("0x10", SpecError, "x must be a number, got '0x10'"),
        ("1 / 3 / 4", SpecError, "x must be a number"),
        (True, SpecTypeError, "x must be a number, got True"),
        (np.False_, SpecTypeError, "x must be a number, got"),
        (np.array(True), SpecTypeError, "x must be a number, got"),
        (None, SpecTypeError, "x must be a number, got None"),
        (1j, SpecTypeError, "x must be a number, got complex"),
        (b"1", SpecTypeError, "x must be a number, got bytes"),
        ([1], SpecTypeError, "x must be a number, got list"),
        (np.array([1.0]), SpecTypeError, "x must be a number, got ndarray"),
    ],
    ids=repr,
)
def test_what_is_no_number_is_refused_by_name(wrong, error, says):
    with pytest.raises(error) as caught:
        exact(wrong, "x")
    assert says in str(caught.value)


FLOATS = st.one_of(
    st.floats(1e-300, 1e300), st.floats(-1e300, -1e-300), st.floats(0.001, 1000), st.just(0.0)
)


@given(FLOATS)
def test_a_float_is_read_by_its_repr_and_comes_back(x):
    value = exact(x, "x")
    assert value == Fraction(repr(x))
    assert float(value) == x


@given(st.fractions())
@example(Fraction(1, 3))
@example(Fraction(1, 2**900))
@example(Fraction(2**60 + 1, 2**60))
@example(Fraction(1, 10**20))
@example(Fraction(1, 3 * 10**20))
@example(Fraction(10**30))
@example(Fraction(-7, 5**40))
def test_what_is_shown_is_read_back(number):
    assert exact(show(number), "x") == number


@given(FLOATS)
def test_what_a_caller_wrote_is_shown_and_read_back(x):
    assert exact(show(exact(x, "x")), "x") == exact(x, "x")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(1, 10), "0.1"),
        (Fraction(1, 4), "0.25"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-3), "-3"),
        (Fraction(0), "0"),
        (Fraction(7, 6), "7/6"),
        (Fraction(2**60 + 1, 2**60), f"{2**60 + 1}/{2**60}"),
    ],
    ids=str,
)
def test_numbers_are_shown_for_people(number, text):
    assert show(number) == text


@pytest.mark.parametrize("wrong", [0, -1, "0", -0.0, "-1/3"])
def test_positive_refuses_zero_and_less(wrong):
    with pytest.raises(SpecError, match=f"x must be greater than 0, got {wrong}"):
        positive(wrong, "x")


@pytest.mark.parametrize(
    "wrong",
    [
        5e-324,
        1.0000000000000002e300,
        "1e301",
        "1e-301",
        10**301,
        -(10**5000),
        Fraction(1, 10**301),
        Decimal("1e999999"),
        "1e999999999999999999",
        "1/1e-299999999",
        "9" * 5000,
        np.longdouble("1e4000"),
    ],
    ids=lambda wrong: type(wrong).__name__,
)
def test_a_number_that_no_double_comes_near_is_refused_at_once(wrong):
    # At once: writing out the number that "1e999999999" stands for would take minutes.
    with pytest.raises(SpecError, match=r"^x must lie between 1e-300 and 1e300"):
        exact(wrong, "x")


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "1/2"])
def test_whole_refuses_parts_and_less_than_the_least(wrong):
    with pytest.raises(SpecError, match="x must be a whole number of at least 1, got"):
        whole(wrong, "x", 1)


@pytest.mark.parametrize("right", [2, 2.0, "2", np.int64(2), Fraction(4, 2), Decimal("2.0")])
def test_whole_takes_whole_numbers_however_written(right):
    value = whole(right, "x", 2)
    assert value == 2
    assert type(value) is int


def test_a_list_for_people_counts_what_repeats_in_a_row():
    assert listed(["1", "1", "2", "1"]) == "1 (2 times), 2, 1"
    assert listed(["a"]) == "a"
    assert listed([]) == ""
