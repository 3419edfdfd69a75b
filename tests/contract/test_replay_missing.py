"""Replay in memory: whether a cell is missing may not show in anything but the value.

Types of pandas, Polars and Arrow become arrays of whole numbers or of objects, depending on whether
a cell is missing. What leaves the library must depend on the type alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from contract.test_replay import RELATIONS, outlet

import kng

CELLS: list[Any] = [1, 2, 1, 0, 1, 1, 2, 1]
TYPES = ["Int64", "UInt8", "Float64", "boolean", "int64[pyarrow]", "bool[pyarrow]", "category"]


def columns() -> dict[str, Any]:
    """Return makers of columns, from cells of which one may be None."""

    def pandas(dtype: str) -> Any:
        def make(cells: list[Any]) -> Any:
            if "bool" in dtype:
                cells = [None if cell is None else cell > 0 for cell in cells]
            kind = pd.CategoricalDtype([0, 1, 2]) if dtype == "category" else dtype
            return pd.Series(cells, dtype=kind)

        return make

    return {
        **{dtype: pandas(dtype) for dtype in TYPES},
        "list": list,
        "masked": lambda cells: np.ma.array(
            [cell or 0 for cell in cells], mask=[cell is None for cell in cells]
        ),
        "arrow": lambda cells: pa.array(cells, pa.int64()),
        "dictionary": lambda cells: pa.array(cells, pa.int64()).dictionary_encode(),
        "polars": lambda cells: pl.Series(cells, dtype=pl.Int64),
        "objects": lambda cells: np.array(cells, dtype=object),
    }


MADE = columns()


def frame(column: Any) -> Any:
    """Return a data frame of the column's own library with it."""
    if isinstance(column, pl.Series):
        return column.to_frame("a")
    if isinstance(column, pa.Array):
        return pa.table({"a": column})
    return pd.DataFrame({"a": column}) if isinstance(column, pd.Series) else {"a": column}


def fit(column: Any, **options: Any) -> kng.Release:
    rest = np.arange(len(column)) / 8
    table = {"a": column, "b": rest}
    if isinstance(column, pl.Series | pa.Array):
        X: Any = pl.DataFrame(table) if isinstance(column, pl.Series) else pa.table(table)
    else:
        X = pd.DataFrame(
            {"a": pd.Series(column, dtype=getattr(column, "dtype", object)), "b": rest}
        )
    y = {pl.Series: pl.Series(rest), pa.Int64Array: pa.array(rest)}.get(type(column), rest)
    model = kng.LinearRegression(
        mechanism="kng", bounds_X={"a": (0, 2), "b": (0, 1)}, bounds_y=(0, 1), **options
    )
    release: kng.Release = model.fit(X, y).release_
    return release


ASKED = {
    "mean": lambda column, **o: kng.mean(column, bounds=(0, 2), **o),
    "mean of a frame": lambda column, **o: kng.mean(frame(column), bounds={"a": (0, 2)}, **o),
    "median": lambda column, **o: kng.median(column, bounds=(0, 2), **o),
    "sum": lambda column, **o: kng.sum(column, bounds=(0, 2), **o),
    "histogram": lambda column, **o: kng.histogram(column, levels=[0, 1, 2], **o),
    "proportion": lambda column, **o: kng.proportion(column, **o),
    "share": lambda column, **o: kng.proportion(frame(column), of="a = 1", **o),
    "count": lambda column, **o: kng.count(frame(column), where="a is missing", **o),
    "groups": lambda column, **o: kng.count(frame(column), by={"a": [1, 0]}, **o),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("statistic", ASKED)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_missing_cell_shows_in_the_value_alone(made, statistic, relation, capfd, caplog):
    seen = []
    for cell in (1, None, 2):
        column = MADE[made]([cell, *CELLS])
        options = {"epsilon": 1, "neighbours": relation, "random_state": 3}
        seen.append(outlet(ASKED[statistic], column, capfd, caplog, **options))
    assert isinstance(seen[0], dict), seen[0]
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("made", [name for name in MADE if name != "masked"])
def test_a_missing_covariate_shows_in_the_value_alone(made, capfd, caplog):
    seen = []
    for cell in (1, None):
        column = MADE[made]([cell, *CELLS])
        seen.append(outlet(fit, column, capfd, caplog, epsilon=1, random_state=3))
    assert isinstance(seen[0], dict), seen[0]
    assert seen[0] == seen[1]


def test_the_receipt_says_where_the_type_decides():
    """NumPy's whole numbers cannot be missing; pandas chooses that type by looking at cells."""
    whole = kng.mean(np.array(CELLS), bounds=(0, 2), epsilon=1, random_state=1)
    floats = kng.mean(np.array(CELLS, float), bounds=(0, 2), epsilon=1, random_state=1)
    stated = kng.mean(np.array(CELLS), bounds=(0, 2), missing=1, epsilon=1, random_state=1)
    assert "public-schema" in whole.assumptions
    assert "public-schema" not in floats.assumptions
    assert "public-schema" not in stated.assumptions
    assert whole.law != floats.law
