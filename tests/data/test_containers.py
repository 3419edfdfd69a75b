"""The same records in another container are the same integers; the caller's stay as they are."""

from __future__ import annotations

import csv
import math
from array import array
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from data.reading import batches, encoding, integers
from hypothesis import given
from hypothesis import strategies as st

from kng.core.errors import SchemaError
from kng.data import open_source, open_table, work
from kng.data.engine import Asked
from kng.data.recipe import Plain

RULE = encoding((-3, 11), missing=2)
FLOATS = st.lists(st.floats(width=64), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def written(folder: Any, cells: list[Any]) -> Any:
    path = folder / "cells.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["a"])
        writer.writerows([cell] for cell in cells)
    return path


@given(FLOATS)
def test_every_container_of_floats_gives_the_same_integers(folder, cells):
    expected = [integers([cell], RULE)[0] for cell in cells]
    column = np.array(cells)
    wide = np.column_stack([np.zeros(len(cells)), column, np.zeros(len(cells))])
    named = encoding({"a": (-3, 11)}, missing=2)
    for data in (
        cells,
        tuple(cells),
        column,
        column[:, None],
        column.astype(object),
        column.astype(object)[:, None],
        column.astype(">f8"),
        column.astype(np.longdouble),
        wide[:, 1],
        np.repeat(column, 2)[::2],
        np.asfortranarray(column[:, None]),
        np.ma.array(column),
        array("d", cells),
        memoryview(column),
        pd.Series(cells),
        pd.Series(cells, dtype=object),
        pd.Series(cells, dtype="Float64"),
        pd.Index(cells),
        pd.DataFrame({"a": cells}),
        {"a": cells},
        [[cell] for cell in cells],
        [(cell,) for cell in cells],
        [np.array([cell]) for cell in cells],
        [np.float64(cell) for cell in cells],
        [str(cell) for cell in cells],
        written(folder, cells),
        str(written(folder, cells)),
    ):
        assert integers(data, RULE) == expected
    frame = pd.DataFrame({"b": [0.0] * len(cells), "a": cells})
    for data in (frame, {"b": cells[::-1], "a": cells}, written(folder, cells)):
        assert integers(data, named) == expected


@given(st.lists(st.floats(width=32), min_size=1, max_size=8))
def test_single_precision_is_read_as_the_same_number(folder, cells):
    expected = [integers([float(np.float32(cell))], RULE)[0] for cell in cells]
    column = np.array(cells, dtype=np.float32)
    for data in (column, list(column), pd.Series(column), written(folder, column.astype(float))):
        assert integers(data, RULE) == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_integers_are_read_as_the_nearest_double(folder, cells):
    rule = encoding((-(2**63), 2**63), granularity=2**20)
    expected = [integers([float(cell)], rule)[0] for cell in cells]
    column = np.array(cells, dtype=np.int64)
    for data in (
        cells,
        column,
        list(column),
        column.astype(object),
        pd.Series(column),
        pd.Series(column, dtype="Int64"),
        written(folder, cells),
    ):
        assert integers(data, rule) == expected


@given(st.lists(st.sampled_from([1.0, 2.5, None]), min_size=1, max_size=8))
def test_missing_entries_are_missing_in_every_container(folder, cells):
    expected = [integers([cell], RULE)[0] for cell in cells]
    mask = [cell is None for cell in cells]
    filled = [99.0 if cell is None else cell for cell in cells]
    for data in (
        cells,
        np.array(cells, dtype=object),
        pd.Series(cells, dtype=float),
        pd.Series(cells, dtype=object),
        pd.Series(cells, dtype="Float64"),
        pd.DataFrame({"a": pd.Series(cells, dtype="Float64")}),
        np.ma.array(filled, mask=mask),
        np.ma.array(np.array(filled)[:, None], mask=np.array(mask)[:, None]),
        written(folder, cells),
    ):
        assert integers(data, RULE) == expected


TABLES = st.lists(
    st.tuples(
        st.one_of(st.floats(width=64), st.sampled_from([0.5, 1.5, 2.5, -0.0, 5e-324, 10.5])),
        st.one_of(st.floats(-8, 8), st.sampled_from([math.nan, math.inf, -math.inf, -0.0])),
        st.floats(-1e3, 1e3, width=32),
    ),
    min_size=1,
    max_size=8,
)


@given(TABLES, st.sampled_from([0, 0.1]), st.sampled_from([1, "0.1"]))
def test_a_table_is_its_columns_whatever_its_layout(rows, low, step):
    # Powers of two and other steps, with and without a shift, side by side.
    table = np.array(rows)
    bounds = ([low, -5, 0], [low + 10, 5, 100])
    rule = encoding(bounds, granularity=[step, "1/4", 3], missing=[3, 0, 99])
    singles = [
        encoding((bounds[0][j], bounds[1][j]), granularity=rule.step[j], missing=(3, 0, 99)[j])
        for j in range(3)
    ]
    columns = [integers(table[:, j], single) for j, single in enumerate(singles)]
    expected = [tuple(k for (k,) in row) for row in zip(*columns, strict=True)]
    fixed = table.copy()
    fixed.flags.writeable = False
    wider = np.column_stack([table, table])
    for data in (
        table,
        np.asfortranarray(table),
        fixed,
        wider[:, 3:],
        np.repeat(table, 2, axis=0)[::2],
        table.astype(">f8"),
        table.astype(object),
        table.astype(np.longdouble),
        pd.DataFrame(table),
        {"a": table[:, 0], "b": [row[1] for row in rows], "c": table[:, 2]},
        np.ma.array(table),
        rows,
    ):
        assert integers(data, rule) == expected
    with np.errstate(over="ignore"):
        single_precision = table.astype(np.float32)
    assert integers(single_precision, rule) == integers(single_precision.astype(float), rule)


def test_a_table_of_integers_is_read_as_a_table_of_floats():
    table = np.array([[1, -7, 2**62], [2**53 + 1, 4, -(2**63)]])
    rule = encoding(([0, -5, 0], [10, 5, 2**62]), granularity=[1, "1/4", 2**20])
    assert integers(table, rule) == integers(table.astype(float), rule)
    assert integers(table[:, :2] > 0, encoding(([0, 0], [1, 1]), granularity=1)) == [(1, 0), (1, 1)]


def test_booleans_count_as_zero_and_one():
    rule = encoding((0, 1), granularity="1/2")
    for data in ([True, False], np.array([True, False]), pd.Series([True, False])):
        assert integers(data, rule) == [(2,), (0,)]


def test_booleans_written_as_words_are_text(folder):
    # A file holds words, not booleans: "True" is no number, so it is missing.
    rule = encoding((0, 1), granularity="1/2")
    assert integers(written(folder, [True, False, 1]), rule) == [(1,), (1,), (2,)]


def test_a_table_is_read_by_name_whatever_the_order_of_its_columns():
    rule = encoding({"b": (0, 10), "a": (0, 20)}, granularity=1)
    frame = pd.DataFrame({"a": [11, 12], "z": [0, 0], "b": [1, 2]})
    assert integers(frame, rule) == integers(dict(frame), rule) == [(1, 11), (2, 12)]


def test_columns_without_names_are_read_in_order():
    rule = encoding(([0, 0], [10, 20]), granularity=1)
    expected = [(1, 11), (2, 12)]
    rows = [[1, 11], [2, 12]]
    for data in (rows, np.array(rows), pd.DataFrame(rows), {"x": [1, 2], "y": [11, 12]}):
        assert integers(data, rule) == expected


def test_nothing_of_the_callers_is_changed(folder):
    special = [1.0, math.nan, math.inf, -0.0, 99.0]
    rule = encoding((-3, 11), missing=2)
    double = encoding(([-3, -3], [11, 11]))
    column, table = np.array(special), np.column_stack([special, special])
    fixed, masked = column.copy(), np.ma.array(special, mask=[0, 0, 0, 0, 1])
    fixed.flags.writeable = False
    frame, cells = pd.DataFrame({"a": special}), [*special, "text", [1.0]]
    before = column.tobytes(), table.tobytes(), masked.data.tobytes(), repr(cells)
    for data in (column, fixed, masked, cells, frame, {"a": special}):
        for _ in range(2):  # every source may be read again
            integers(data, rule)
    integers(table, double)
    assert before == (column.tobytes(), table.tobytes(), masked.data.tobytes(), repr(cells))
    assert masked.mask.tolist() == [False] * 4 + [True]
    assert np.array_equal(frame["a"], special, equal_nan=True)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_source_may_be_read_again_and_counted_in_between(kind, folder):
    cells = [float(x) for x in range(10)]
    data = cells if kind == "memory" else written(folder, cells)
    source = open_source(data, RULE)
    first = batches(source)
    assert source.count() == 10
    again = batches(source)
    assert np.array_equal(np.concatenate(first), np.concatenate(again))


def test_two_readers_of_one_engine_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setattr(work, "BATCH_RECORDS", 2)
    rule, engine = encoding((0, 10), granularity=1), open_table({"a": [1.0, 2.0, 3.0, 4.0]})
    engine.prepare(Asked((0,)))
    one, other = (work.integers(engine.blocks(Asked((0,))), Plain((0,)), rule) for _ in "ab")
    a, b = next(one), next(other)
    next(other)
    assert a[:, 0].tolist() == [1.0, 2.0]
    assert b[:, 0].tolist() == [3.0, 4.0], "a batch lives until the next one"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param({"b": [1.0]}, "no column named 'a'; they have 'b'", id="mapping"),
        pytest.param(pd.DataFrame({"b": [1.0]}), "no column named 'a'", id="frame"),
        pytest.param([1.0], "the data have no column names", id="list"),
        pytest.param({"a": [1.0], "b": [1.0, 2.0]}, None, id="other column longer"),
    ],
)
def test_names_are_looked_for_when_the_source_is_opened(data, says):
    rule = encoding({"a": (0, 1)})
    if says is None:
        assert open_source(data, rule).count() == 1
    else:
        with pytest.raises(SchemaError, match=says):
            open_source(data, rule)


def test_columns_of_different_lengths_are_no_table():
    with pytest.raises(SchemaError, match="differ in length"):
        open_source({"a": [1.0], "b": [1.0, 2.0]}, encoding({"a": (0, 1), "b": (0, 1)}))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(np.array(["1", "2"]), id="array"),
        pytest.param(np.array([b"1", b"2"]), id="array of bytes"),
        pytest.param(pd.DataFrame({"a": pd.Series(["1", "2"], dtype="str")}), id="frame"),
        pytest.param(pl.DataFrame({"a": ["1", "2"]}), id="polars"),
        pytest.param(pa.table({"a": ["1", "2"]}), id="arrow"),
        pytest.param({"a": np.array(["1", "2"])}, id="mapping"),
    ],
)
def test_a_column_that_is_declared_to_be_text_is_no_number(data):
    rule = encoding((0, 10) if isinstance(data, np.ndarray) else {"a": (0, 10)})
    with pytest.raises(SchemaError, match="a number is needed"):
        open_source(data, rule)
