"""Texts that are told apart by declared levels: codes from a dictionary are those of the texts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kng
from kng.data.arrow_cells import texts, words
from kng.data.labels import Labels

LEVELS = ("a", "A", "it's", 'say "so"', "\u00e4", "a\u0308", "x y", "NULL", "%", "a'); --", "☃")
CELLS = [
    *LEVELS,
    *(None, "", " ", " a", "a\t", "\n\v\f\ra \n", "\u00a0a", "a\x00", "b", "aa", "a a", "null"),
    *("it''s", "it's ", "X Y", "a\u200b"),
]


def codes(cells, levels=LEVELS):
    """Position of the level among the levels, else their number; written once more by hand."""
    stripped = [None if cell is None else cell.strip(" \t\n\v\f\r") for cell in cells]
    return [levels.index(cell) if cell in levels else len(levels) for cell in stripped]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
def test_codes_of_a_dictionary_are_those_of_its_texts(kind):
    cells = pa.array([c if c is None or kind != pa.binary() else c.encode() for c in CELLS], kind)
    labels = Labels(LEVELS)
    assert labels.codes_of_text(texts(cells)).tolist() == codes(CELLS)
    if kind == pa.string_view():
        return  # Arrow makes no dictionaries of them
    coded = pa.concat_arrays([cells, cells]).dictionary_encode().slice(3)
    assert pa.types.is_dictionary(words(coded).type)
    assert labels.codes_of_text(words(coded)).tolist() == codes([*CELLS, *CELLS][3:])


def test_a_dictionary_longer_than_its_cells_is_not_looked_through():
    long = pa.DictionaryArray.from_arrays(pa.array([1, None]), pa.array(["a", "b", "c"]))
    assert not pa.types.is_dictionary(words(long).type)
    assert Labels(("b",)).codes_of_text(words(long)).tolist() == [0, 1]


def test_dictionaries_may_hold_nulls_and_entries_that_nobody_has():
    indices, entries = pa.array([0, 1, 2, None, 0, 0]), pa.array(["a", None, "never", "b"])
    cells = pa.DictionaryArray.from_arrays(indices, entries)
    assert Labels(("a", "b")).codes_of_text(words(cells)).tolist() == [0, 2, 2, 2, 0, 0]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    names = np.array(CELLS, dtype=object)[rng.integers(0, len(CELLS), 4_000)]
    return pd.DataFrame({"pay": rng.integers(0, 100, 4_000), "name": names})


@pytest.mark.parametrize("levels", [LEVELS, ("b",), ("b", "tab\there", "zero\x00")])
def test_every_container_gives_the_same_groups(frame, tmp_path, levels):
    path, plain = tmp_path / "coded.parquet", tmp_path / "plain.parquet"
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, path)
    pq.write_table(table, plain, use_dictionary=False)
    place = table.schema.get_field_index("name")
    coded = table.set_column(place, "name", table["name"].dictionary_encode())
    asked = {"bounds": {"pay": (0, 100)}, "epsilon": 1, "random_state": 3}
    answers = [
        kng.mean(data, by={"name": list(levels)}, **asked).integers
        for data in (frame, path, plain, table, coded, pl.from_arrow(table))
    ]
    assert all(answer == answers[0] for answer in answers)


def test_classes_of_a_model_are_read_as_codes(frame, tmp_path):
    path = tmp_path / "records.parquet"
    frame.to_parquet(path)
    model = kng.LogisticRegression(
        epsilon=5, classes=("a", "b"), bounds_X={"pay": (0, 100)}, random_state=0
    )
    fits = [model.fit(data, target="name", features=["pay"]).coef_ for data in (frame, path)]
    assert fits[0].tolist() == fits[1].tolist()
