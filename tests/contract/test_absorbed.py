"""What records may hold: anything. They are answered, charged once, and nothing else happens."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from contract.asking import RECORDS, STATISTICS, ask
from contract.hostile import CELLS, MISSING, NUMBERS

import kng

RELATIONS = ["replace-one", "add-remove"]


def answered(statistic: str, data: Any, ledger: kng.Ledger, **options: Any) -> kng.Release:
    """Ask, and check that the only trace is a value inside the bounds and one settled charge."""
    before = ledger.spent
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = ask(statistic, data, ledger=ledger, **options)
    low, high = release.bounds.low, release.bounds.high
    width = len(release.exact_value)
    assert all(
        a <= v <= b
        for a, v, b in zip(
            low * (width // len(low)),
            release.exact_value,
            high * (width // len(high)),
            strict=True,
        )
    )
    assert np.all(np.isfinite(release.value))
    assert ledger.spent - before == 1
    return release


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_hostile_record_in_a_list_is_answered(statistic, relation):
    for cell in CELLS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            release = ask(statistic, [*RECORDS, cell], neighbours=relation)
        assert 0 <= release.value <= 10


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_hostile_records_at_once_are_answered_and_booked(statistic, relation, ledger):
    answered(statistic, list(CELLS.values()), ledger, neighbours=relation)
    answered(statistic, tuple(CELLS.values()), ledger, neighbours=relation)
    assert [entry.state for entry in ledger.history()] == ["released"] * 2


@pytest.mark.parametrize("statistic", STATISTICS)
def test_object_arrays_series_and_frames_of_hostile_records_are_answered(statistic, ledger):
    cells = np.empty(len(CELLS), dtype=object)
    cells[:] = list(CELLS.values())
    answered(statistic, cells, ledger)
    answered(statistic, cells[:, None], ledger)
    answered(statistic, pd.Series(cells), ledger)
    answered(statistic, pd.DataFrame({"a": cells}), ledger, bounds={"a": (0, 10)})
    answered(statistic, {"a": cells, "b": cells}, ledger, bounds={"a": (0, 10)})


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(np.array([1.0, math.nan, math.inf, -math.inf, -0.0, 5e-324]), id="floats"),
        pytest.param(np.array([1.0, math.nan, math.inf], dtype=np.float16), id="halves"),
        pytest.param(np.array(["1e4000", "nan"], dtype=np.longdouble), id="long doubles"),
        pytest.param(np.array([2**63 - 1, -(2**63)]), id="ints"),
        pytest.param(np.array([2**64 - 1], dtype=np.uint64), id="unsigned"),
        pytest.param(np.array([1.0, 2.0], dtype=">f8"), id="other byte order"),
        pytest.param(np.array([True, False]), id="booleans"),
        pytest.param(np.array(["1", "text", ""], dtype=object), id="texts"),
        pytest.param(np.array([b"1", b"\xff"], dtype=object), id="bytes"),
        pytest.param(np.ma.array([1.0, math.nan, 3.0], mask=[0, 0, 1]), id="masked"),
        pytest.param(np.ma.array([1, 2, 3], mask=[1, 1, 1]), id="all masked"),
        pytest.param(pd.Series([1, None, 3], dtype="Int64"), id="nullable ints"),
        pytest.param(pd.Series([1.5, None], dtype="Float64"), id="nullable floats"),
        pytest.param(pd.Series([True, None], dtype="boolean"), id="nullable booleans"),
        pytest.param(pd.Series(["1", None, "x"], dtype=object), id="a series of texts"),
        pytest.param(pd.Series([1, 2, 1], dtype="category"), id="categories"),
        pytest.param(pd.Series([1, math.nan, "x"], index=[7, 7, 7]), id="repeated labels"),
        pytest.param([[1.0], [2.0, 3.0], [], None, 4.0], id="ragged rows"),
        pytest.param([[[1.0]], [[2.0]]], id="nested lists"),
        pytest.param(range(5), id="range"),
        pytest.param([5.0], id="one record"),
        pytest.param([None], id="one record without a value"),
    ],
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_kind_of_container_is_answered(statistic, data, relation, ledger):
    answered(statistic, data, ledger, neighbours=relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_hostile_rows_of_several_columns_are_answered(relation, ledger):
    bounds = ([0, 0], [10, 10])
    rows = [
        [1.0, 2.0],
        (3.0, "text"),
        [None, math.nan],
        [1.0],
        [1.0, 2.0, 3.0],
        [],
        None,
        5.0,
        "ab",
        {"a": 1.0, "b": 2.0},
        np.array([1.0, math.inf]),
        [[1.0], [2.0]],
        [10**400, b"\xff"],
    ]
    answered("mean", rows, ledger, bounds=bounds, neighbours=relation)
    table = np.empty((len(CELLS), 2), dtype=object)
    table[:, 0] = list(CELLS.values())
    table[:, 1] = list(CELLS.values())[::-1]
    answered("mean", table, ledger, bounds=bounds, neighbours=relation)
    answered("mean", pd.DataFrame(table), ledger, bounds=bounds, neighbours=relation)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "bounds",
    [(-1e300, 1e300), (1e299, 1e300), (-1e-300, 1e-300)],
    ids=["wide", "far", "narrow"],
)
def test_records_that_overflow_a_double_on_the_way_are_answered(
    statistic, relation, bounds, ledger
):
    data = [1e308, -1e308, 1.7976931348623157e308, 0.0, 5e-324, math.inf, math.nan]
    answered(statistic, data, ledger, bounds=bounds, neighbours=relation)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    "nothing",
    [[], (), np.array([]), np.array([], dtype=object), pd.Series([], dtype=float)],
    ids=["list", "tuple", "array", "object array", "series"],
)
def test_no_records_are_answered_where_their_number_is_private(statistic, nothing, ledger):
    answered(statistic, nothing, ledger, neighbours="add-remove")


@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
def test_no_records_are_answered_by_every_mechanism(mechanism, ledger):
    for statistic in STATISTICS:
        answered(statistic, [], ledger, neighbours="add-remove", mechanism=mechanism)
    nobody = np.empty((0, 2))
    answered("mean", nobody, ledger, neighbours="add-remove", bounds=([0, 0], [1, 1]))


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_missing_record_counts_as_what_the_caller_said(statistic):
    # epsilon is so large that the answer is the record itself.
    for cell in MISSING.values():
        release = ask(statistic, [cell] * 9, epsilon=10**6, granularity=1, missing=7)
        assert release.value == 7.0


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_number_counts_as_itself_clipped(statistic):
    for cell, number in NUMBERS.values():
        release = ask(statistic, [cell] * 9, epsilon=10**6, granularity="1/2", missing=7)
        assert release.value == round(2 * min(max(number, 0.0), 10.0)) / 2


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    "cell", [[[1.0, 2.0], [3.0]], [[1.0], 2.0], ["", b"\x80"]], ids=["ragged", "mixed", "texts"]
)
def test_a_ragged_cell_is_answered(statistic, cell, ledger):
    answered(statistic, [*RECORDS, cell], ledger)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_list_in_itself_is_answered(statistic, ledger):
    inside: list[Any] = []
    inside.append(inside)
    answered(statistic, [*RECORDS, inside], ledger)


def test_a_row_without_dimensions_is_answered(ledger):
    answered("mean", [[1.0, 2.0], np.array(5.0)], ledger, bounds=([0, 0], [10, 10]))


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(np.ma.array(["1", "secret"]), id="texts"),
        pytest.param(np.ma.array([1.0, "secret"], dtype=object), id="objects"),
        pytest.param(np.ma.array(np.array(["1e4000"], dtype=np.longdouble)), id="long doubles"),
    ],
)
def test_masked_arrays_of_any_kind_are_answered(statistic, data, ledger):
    answered(statistic, data, ledger)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_matrix_is_answered(statistic, ledger):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        column = np.matrix([[1.0], [2.0]])
    answered(statistic, column, ledger)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_labels_of_records_are_not_looked_at(statistic, ledger):
    answered(statistic, pd.Series([1.0, 2.0], index=["columns", "b"]), ledger)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_column_may_have_any_name(statistic, ledger):
    answered(statistic, pd.DataFrame({"column_names": [1.0, 2.0]}), ledger)


@pytest.mark.parametrize("statistic", ["quantile", "median"])
def test_a_tiny_epsilon_is_booked(statistic, ledger):
    ask(statistic, RECORDS, epsilon="1e-12", ledger=ledger)
    assert ledger.spent > 0
