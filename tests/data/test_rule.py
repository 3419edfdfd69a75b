"""One record, one rule: exact, total, and blind to everything but the record."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from contract.hostile import CELLS, MISSING, NUMBERS
from data.reading import by_rule, encoding, integers
from hypothesis import example, given
from hypothesis import strategies as st

from kng.core.bounds import bounds_of
from kng.core.encoding import encoding_of
from kng.data import work
from kng.data.ingest import number, numbers

FLOATS = st.floats(width=64)
# Bounds that a double holds exactly, with a step that is a power of two.
LOWS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.5, -1e299, 1e15, -(2.0**52), 1e-299]),
    st.floats(-1e12, 1e12),
)


@given(x=FLOATS, low=LOWS, power=st.integers(-40, 40), last=st.integers(1, 2**44))
@example(x=0.5, low=0.0, power=0, last=10)  # a tie goes to the even neighbour
@example(x=1.5, low=0.0, power=0, last=10)
@example(x=2.5, low=0.0, power=0, last=10)
@example(x=-0.0, low=0.0, power=0, last=10)
@example(x=-5e-324, low=0.0, power=0, last=10)
@example(x=10.5, low=0.0, power=0, last=10)
@example(x=1.7976931348623157e308, low=-1e299, power=970, last=10)
@example(x=math.nan, low=-1.0, power=3, last=7)
def test_a_number_becomes_what_the_exact_rule_says(x, low, power, last):
    step = Fraction(2) ** power
    bounds = (Fraction(low), Fraction(low) + last * step)
    rule = encoding(bounds, granularity=step)
    assert rule.last == (last,)
    (record,) = integers([x], rule)
    assert record == (by_rule(x, low, step, last, rule.missing[0]),)


@given(
    near=st.integers(0, 2**44),
    offset=st.sampled_from([-0.5, -0.25, 0.0, 0.25, 0.5]),
    down=st.booleans(),
)
def test_numbers_near_ties_are_rounded_half_to_even(near, offset, down):
    x = near + offset
    if down:
        x = math.nextafter(x, -math.inf)
    rule = encoding((0, 2**44), granularity=1)
    assert integers([x], rule) == [(by_rule(x, 0.0, Fraction(1), 2**44, 0),)]


@given(
    x=FLOATS, step=st.sampled_from([0.1, 0.3, 1e-3, 7.0, 2.5]), low=st.sampled_from([0.1, -3.3, 0])
)
def test_other_steps_follow_the_documented_floating_point_formula(x, step, low):
    rule = encoding((low, low + 100), granularity=step)
    (record,) = integers([x], rule)
    if math.isnan(x):
        expected = rule.missing[0]
    else:
        steps = (x - float(low)) / step
        expected = round(min(max(steps, 0.0), float(rule.last[0])))
    assert record == (expected,)


@pytest.mark.parametrize("power", [-990, -900, 900, 990])
def test_the_rule_holds_for_very_small_and_very_large_steps(power):
    step = Fraction(2) ** power
    rule = encoding((0, 16 * step), granularity=step)
    for k in (0, 3, 16):
        assert integers([float(k * step)], rule) == [(k,)]


def test_the_rule_holds_for_the_narrowest_bounds():
    # A mean's default cuts a range of 1e-300 into steps of 2**-1029.
    rule = encoding_of(bounds_of((0, 1e-300)), granularity=None, missing=None, bits=32)
    for k in (0, 3, 2**31, rule.last[0]):
        assert integers([float(k * rule.step[0])], rule) == [(k,)]


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_a_number_is_missing(name):
    for missing, expected in ((None, 5), (0, 0), (10, 10), ("7.4", 7)):
        rule = encoding((0, 10), granularity=1, missing=missing)
        assert integers([MISSING[name]], rule) == [(expected,)]


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_a_number_is_read(name):
    cell, value = NUMBERS[name]
    assert number(cell) == value
    rule = encoding((-5, 5), granularity="1/8")
    assert integers([cell], rule) == [(by_rule(value, -5.0, Fraction(1, 8), 80, 40),)]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**500), 10**500),
    FLOATS,
    st.floats(width=32).map(np.float32),
    st.complex_numbers(),
    st.text(max_size=20),
    st.from_regex(r"[ +-]?[0-9_.]{1,5}(e[+-]?[0-9]{1,4})?", fullmatch=True),
    st.binary(max_size=8),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.uuids(),
    st.sampled_from(sorted(CELLS)).map(CELLS.get),
)


def check_total(cell: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = number(cell)
    assert type(value) is float or isinstance(value, np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (record,) = integers([cell], encoding())
    assert record == integers([value], encoding())[0]


@given(SCALARS)
@example(Decimal("Infinity"))
@example(Decimal("-sNaN123"))
@example("١٢")
@example("1_000")
@example("0x10")
@example("1" * 10_000)
@example(np.timedelta64(5, "ns"))
@example(np.void(b"12"))
@example(np.str_("7"))
@example(np.bytes_(b"7"))
def test_any_cell_is_read_without_an_error_or_a_warning(cell):
    check_total(cell)


@given(st.one_of(st.tuples(SCALARS), st.dictionaries(st.text(), SCALARS), st.frozensets(st.text())))
@example([[1.0]])
@example([np.array(1.0)])
def test_any_container_of_one_is_read_without_an_error_or_a_warning(cell):
    check_total(cell)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=6))
@example([[1.0, 2.0], [3.0]])
@example(["", b"\x80"])
def test_any_nested_cell_is_read_without_an_error_or_a_warning(cell):
    check_total(cell)


def test_a_very_deep_list_and_a_list_in_itself_are_missing():
    deep: Any = [1.0]
    for _ in range(5000):
        deep = [deep]
    inside: list[Any] = []
    inside.append(inside)
    check_total(deep)
    check_total(inside)


def test_a_number_that_will_not_be_compared_is_missing():
    class Huge(float):
        def __float__(self) -> float:
            raise OverflowError

        def __gt__(self, other: object) -> bool:
            raise ValueError("no order")

    check_total(Huge(1.0))


@given(SCALARS, st.lists(SCALARS, max_size=6), st.integers(0, 6), st.integers(1, 4))
def test_a_record_does_not_depend_on_its_place_its_neighbours_or_the_batch(cell, others, at, size):
    rule = encoding((-3, 11), missing=2)
    data = [*others[:at], cell, *others[at:]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "BATCH_RECORDS", size)
        read = integers(data, rule)
    assert read[min(at, len(others))] == integers([cell], rule)[0]
    assert read == [integers([one], rule)[0] for one in data]


@given(st.lists(st.tuples(SCALARS, SCALARS), min_size=1, max_size=5), st.integers(1, 3))
def test_rows_of_several_columns_are_read_cell_by_cell(rows, size):
    both = encoding(([0, -5], [10, 5]), granularity=[1, "1/4"], missing=[3, 0])
    first = encoding((0, 10), granularity=1, missing=3)
    second = encoding((-5, 5), granularity="1/4", missing=0)
    expected = [(*integers([a], first)[0], *integers([b], second)[0]) for a, b in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "BATCH_RECORDS", size)
        assert integers([list(row) for row in rows], both) == expected
        assert integers(rows, both) == expected
        assert integers({"a": [a for a, _ in rows], "b": [b for _, b in rows]}, both) == expected


@pytest.mark.parametrize(
    "row", [None, [], [1.0], [1.0, 2.0, 3.0], 7.0, "ab", {"a": 1}, (1,), b"12"]
)
def test_a_row_of_another_width_is_missing_throughout(row):
    rule = encoding(([0, 0], [10, 10]), granularity=1, missing=[3, 4])
    assert integers([[1.0, 2.0], row, (5, 6)], rule) == [(1, 2), (3, 4), (5, 6)]


def test_a_column_of_cells_is_the_cells_one_by_one():
    cells = list(CELLS.values())
    together = numbers(cells)
    assert together.dtype == np.float64
    assert np.array_equal(together, [number(cell) for cell in cells], equal_nan=True)
