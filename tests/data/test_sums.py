"""The compiled sum of a column, against batches summed by NumPy and whole numbers of Python."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from data.reading import encoding, integers
from hypothesis import example, given
from hypothesis import strategies as st

import kng
from kng.core.encoding import BATCH_RECORDS, MOST_STEPS, Encoding
from kng.data import open_source, source, sums
from kng.data.sums import ColumnSum

RULES = {
    "power of two": encoding((0, 10), granularity=Fraction(1, 2**20)),
    "below zero": encoding((-3, 10), granularity=Fraction(1, 4), missing=-3),
    "thirds": encoding((0, 10), granularity="1/3", missing=10),
    "tenths below zero": encoding((-1, 1), granularity="0.1"),
    "the finest": encoding((0, MOST_STEPS), granularity=1),
    "tiny": encoding((0, Fraction(1, 10**290)), granularity=Fraction(1, 10**295)),
    "huge": encoding((-(10**299), 10**299)),
}
HOSTILE = [
    *(math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(1.7976931348623157e308, -1.7976931348623157e308, 2.0**44, 2.0**44 + 0.5, 2.0**53 + 2, 1e16),
    *(k + half for k in (0, 1, 2, 9, 2**43) for half in (0.5, 0.125, 0.375, 1 / 6)),
    *(np.nextafter(k + 0.5, side) for k in (0, 1, 2**30) for side in (-np.inf, np.inf)),
]
CELLS = st.lists(st.one_of(st.floats(width=64), st.sampled_from(HOSTILE)), max_size=40)
KINDS = ("f8", ">f8", "f4", ">f4", "f2", "longdouble")
LAYOUTS = {
    "whole": lambda x: x,
    "strided": lambda x: np.repeat(x, 3)[::3],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "a column": lambda x: np.stack([x, x], axis=1)[:, :1],
    "read only": lambda x: np.frombuffer(x.tobytes(), dtype=x.dtype),
    "unaligned": lambda x: np.frombuffer(b"-" + x.tobytes(), dtype=x.dtype, offset=1),
}


def both(data: Any, rule: Encoding) -> tuple[int, int]:
    """Return the sum by the compiled loop and by batches."""
    opened = open_source(data, rule)
    plain = opened.sums()
    opened.prepare_sums(sums.MANY)
    quick = opened.sums()
    assert plain[0] == quick[0] == len(data)
    return quick[1][0], plain[1][0]


@pytest.mark.parametrize("name", RULES)
@given(cells=CELLS, kind=st.sampled_from(KINDS))
@example(cells=HOSTILE, kind="f8")
@example(cells=HOSTILE, kind="f4")
@example(cells=[], kind="f8")
def test_a_compiled_sum_is_that_of_batches(name: str, cells: list[float], kind: str) -> None:
    rule = RULES[name]
    with np.errstate(all="ignore"):
        data = np.array(cells).astype(kind)
        quick, plain = both(data, rule)
        assert quick == plain == sum(record[0] for record in integers(data, rule))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["f8", "f4", ">f8"])
@pytest.mark.parametrize("name", ["power of two", "thirds"])
def test_layouts_are_summed_alike(layout: str, kind: str, name: str) -> None:
    x = np.random.default_rng(1).normal(5, 5, 1000).astype(kind)
    x[::7] = np.nan
    expected = both(x, RULES[name])[1]
    assert both(LAYOUTS[layout](x), RULES[name]) == (expected, expected)


@pytest.mark.parametrize("kind", ["i1", "u1", "i4", "i8", "u8", "bool"])
def test_whole_numbers_are_summed_alike(kind: str) -> None:
    x = np.random.default_rng(2).integers(0, 100, 1000).astype(kind)
    quick, plain = both(x, RULES["below zero"])
    assert quick == plain


def test_the_largest_block_does_not_overflow() -> None:
    x = np.full(3 * BATCH_RECORDS + 5, float(MOST_STEPS))
    quick, plain = both(x, RULES["the finest"])
    assert quick == plain == len(x) * MOST_STEPS


def test_where_a_record_stands_changes_nothing() -> None:
    """A loop that handles the last records apart must handle them alike."""
    rule = RULES["power of two"]
    add = ColumnSum(rule, np.dtype("f8"))
    for size in (*range(70), BATCH_RECORDS - 1, BATCH_RECORDS, BATCH_RECORDS + 1):
        x = np.zeros(size)
        for at in {0, size // 2, size - 1} if size else ():
            for cell in (math.nan, 2.5, 1e300):
                x[at] = cell
                assert add(x)[1] == add(np.array([cell]))[1]
                x[at] = 0.0


@given(st.lists(st.one_of(st.floats(), st.integers(), st.none(), st.booleans()), max_size=20))
@example([1.0, math.nan, math.inf, -0.0])
@example([1.0, 10**400])
@example([1.0, np.float64(2)])
def test_a_list_of_floats_is_read_as_cell_by_cell(cells: list[Any]) -> None:
    rule = RULES["power of two"]
    assert integers(cells, rule) == [integers([cell], rule)[0] for cell in cells]


def asked(relation: dict[str, Any]) -> Any:
    x = np.random.default_rng(3).normal(5, 3, 5000)
    x[10] = np.nan
    return kng.mean(x, bounds=(0, 10), epsilon=1, random_state=5, **relation)


@pytest.mark.parametrize(
    ("relation", "loaded"),
    [
        ({}, True),
        ({"neighbours": "add-remove"}, False),
        ({"neighbours": "add-remove", "n_max": 4999}, False),
        ({"neighbours": "add-remove", "n_max": 5000}, True),
    ],
    ids=["public", "private", "private, few", "private, many"],
)
def test_what_is_loaded_depends_on_a_public_number(
    relation: dict[str, Any], loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """5000 records came in each case; the release is the same either way."""
    expected = asked(relation)
    made: list[ColumnSum] = []

    class Spy(ColumnSum):
        def __init__(self, *public: Any) -> None:
            super().__init__(*public)
            made.append(self)

    monkeypatch.setattr(source, "MANY", 5000)
    monkeypatch.setattr(source, "ColumnSum", Spy)
    assert asked(relation) == expected
    assert bool(made) == loaded


def test_means_of_few_records_load_no_compiler() -> None:
    code = (
        "import sys, numpy as np, kng; x = np.zeros(10**6);"
        "kng.mean(x, bounds=(0, 1), epsilon=1);"
        "kng.mean(x, bounds=(0, 1), epsilon=1, neighbours='add-remove');"
        "kng.median(x, bounds=(0, 1), epsilon=1);"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
