"""Fits to columns of a table, whatever it is, are fits to X and y."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from estimators.fitting import WAYS, model

import kng

NAMES = ["age", "visits"]
BOUNDS = {"age": (-1, 1), "visits": (-1, 1)}


def frame(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.uniform(-1, 1, (n, 2)), columns=NAMES)
    table["pay"] = table["age"] - table["visits"] + rng.normal(0, 0.1, n)
    table["note"] = "text"
    return table


def held(table: pd.DataFrame, folder: Any) -> list[Any]:
    table.to_parquet(folder / "t.parquet")
    table.to_csv(folder / "t.csv", index=False)
    rest = [table, dict(table), pl.DataFrame(table), pl.LazyFrame(table), pa.table(table)]
    return [*rest, folder / "t.parquet", str(folder / "t.csv"), kng.Table(folder / "t.csv")]


@pytest.mark.parametrize("way", WAYS)
def test_a_table_with_a_target_is_x_and_y(way, tmp_path):
    table = frame()
    options = {"bounds_X": BOUNDS, "random_state": 4}
    fitted = model(way, **options).fit(table[NAMES], table["pay"])
    for data in held(table, tmp_path):
        for features in (None, NAMES):
            other = model(way, **options).fit(data, target="pay", features=features)
            assert other.release_.integers == fitted.release_.integers
            assert other.feature_names_in_.tolist() == NAMES
            assert other.release_.bounds.columns == ("age", "visits", "pay")
    assert np.array_equal(other.predict(table[NAMES]), fitted.predict(table[NAMES]))


def test_features_are_all_other_columns_where_nothing_names_them():
    table = frame().drop(columns="note")
    fitted = model("linear", bounds_X=([-1, -1], [1, 1])).fit(table, target="pay")
    assert fitted.feature_names_in_.tolist() == NAMES


def test_labels_are_read_from_a_table(tmp_path):
    table = frame()
    table["paid"] = np.where(table["pay"] > 0, "yes", "no")
    options = {"epsilon": 1, "bounds_X": BOUNDS, "classes": ("no", "yes"), "random_state": 2}
    fitted = kng.LogisticRegression(**options).fit(table[NAMES], table["paid"])
    for data in held(table, tmp_path):
        other = kng.LogisticRegression(**options).fit(data, target="paid", features=NAMES)
        assert other.release_.integers == fitted.release_.integers


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"target": "pay", "y": [1.0]}, "not both"),
        ({"target": 3}, "target must be the name of the column"),
        ({"features": NAMES}, "target must be the name of the column"),
        ({"target": "wage"}, "no column named 'wage'"),
        ({"target": "pay", "features": ["age", "weight"]}, "no column named 'weight'|for 'weight'"),
        ({"target": "note"}, "holds text"),
        ({"target": "pay", "features": ["note"]}, "holds text|for 'note'"),
    ],
)
def test_what_cannot_be_a_fit_is_refused(arguments, says, ledger):
    with pytest.raises(kng.KngError, match=says):
        model("linear", bounds_X=BOUNDS, ledger=ledger).fit(frame(), **arguments)
    assert ledger.spent == 0


def test_an_array_has_no_target():
    with pytest.raises(kng.KngError, match="X has no column names"):
        model("linear").fit(frame()[NAMES].to_numpy(), target="pay")


def test_texts_are_no_classes_of_numbers(tmp_path, ledger):
    frame().to_parquet(tmp_path / "t.parquet")
    for data in (frame(), tmp_path / "t.parquet", pa.table(frame())):
        with pytest.raises(kng.KngError, match="holds numbers, and the classes are texts"):
            kng.LogisticRegression(
                epsilon=1, bounds_X=BOUNDS, classes=("0", "1"), ledger=ledger
            ).fit(data, target="pay", features=NAMES)
    assert ledger.spent == 0
