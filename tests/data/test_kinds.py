"""How declared columns become numbers, cell by cell, whatever holds them."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kng
from kng.columns import Boolean, Category, Date, Number
from kng.core.bounds import bounds_of
from kng.core.dates import seconds_of, shown_day, stated_seconds
from kng.core.privacy import Assumption
from kng.data.column_kinds import stated_column, stated_recipe
from kng.data.engine import Column, Kind
from kng.data.kinds import Declared
from kng.data.registry import open_table
from kng.data.stated_columns import StatedColumns

DAYS = ["2020-02-29", "1969-12-31", "2024-12-31", None, "30 March", "2021-02-29", "", "1e3"]
READ = [18321.0, -1.0, 20088.0, *[np.nan] * 5]


def cells_of(declared: Declared, source: Any, name: str) -> list[float]:
    """Read one declared column of a source through its engine."""
    engine = open_table(kng.Table(source, columns={name: declared}))
    assert engine is not None
    at = [column.name for column in engine.columns()].index(name)
    recipe = StatedColumns((stated_column(engine, at, False),))
    recipe = pickle.loads(pickle.dumps(recipe))  # it travels to the records
    engine.prepare(recipe.asked)
    shares = engine.run(recipe.asked, lambda blocks: [recipe.tables(b)[0] for b in blocks])
    return [float(cell) for share in shares for block in share for cell in block[:, 0]]


def everywhere(cells: list[Any], folder: Path) -> list[Any]:
    """Return sources of one column of text, in files and in memory."""
    table = pa.table({"c": pa.array(cells, pa.string()), "k": range(len(cells))})
    pq.write_table(table, folder / "t.parquet")
    rows = [f'"{cell}",{k}' for k, cell in enumerate(cell or "" for cell in cells)]
    (folder / "t.csv").write_text("c,k\n" + "\n".join(rows) + "\n")
    frame = pd.DataFrame({"c": pd.Series(cells, dtype=object), "k": range(len(cells))})
    files = [str(folder / "t.csv"), str(folder / "t.parquet")]
    return [*files, table, frame, {"c": cells}, pl.DataFrame(table)]


def test_dates_in_text_are_days_or_seconds(tmp_path: Path) -> None:
    for source in everywhere(DAYS, tmp_path):
        assert np.array_equal(cells_of(Date(), source, "c"), READ, equal_nan=True)
        seconds = cells_of(Date(unit="seconds"), source, "c")
        assert np.array_equal(seconds, np.array(READ) * 86400, equal_nan=True)


def test_types_of_dates_are_the_same_days_on_every_engine(tmp_path: Path) -> None:
    moments = [datetime(2020, 2, 29, 23, 59, 59, 500000), datetime(1969, 12, 31, 0, 0, 1), None]
    columns = {
        "day": pa.array([m and m.date() for m in moments], pa.date32()),
        "ms": pa.array([m and m.date() for m in moments], pa.date64()),
        **{unit: pa.array(moments, pa.timestamp(unit)) for unit in ("us", "ns")},
        "s": pa.array([m and m.replace(microsecond=0) for m in moments], pa.timestamp("s")),
        "zone": pa.array(moments, pa.timestamp("us", tz="Europe/Berlin")),
    }
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "t.parquet")
    frame = table.to_pandas()
    sources = [table, str(tmp_path / "t.parquet"), frame, pl.DataFrame(table)]
    sources.append({name: frame[name].to_numpy() for name in ("us", "ns", "s")})
    for source in sources:
        for name in source if isinstance(source, dict) else columns:
            assert np.array_equal(cells_of(Date(), source, name), [18321, -1, np.nan], True), name
    exact = cells_of(Date(unit="seconds"), table, "us")
    assert exact[:2] == [18321 * 86400 + 86399.5, -86399.0]


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.integers(-14, 14))
def test_iso_text_is_read_as_python_reads_it(moment: datetime, ahead: int) -> None:
    start = datetime(1970, 1, 1)
    assert seconds_of(moment.isoformat()) * 10**6 == (moment - start) // timedelta(microseconds=1)
    zoned = f"{moment.isoformat(sep=' ')}{ahead:+03d}:00"
    assert seconds_of(zoned) == seconds_of(moment.isoformat()) - ahead * 3600
    assert shown_day(moment.toordinal() - start.toordinal()) == moment.date().isoformat()


def test_public_dates_are_bounds() -> None:
    pairs = [("2020-01-01", "2020-12-31"), (date(2020, 1, 1), datetime(2020, 12, 31, 5))]
    pairs.append((np.datetime64("2020-01-01"), np.datetime64("2020-12-31T05")))
    for pair in pairs:
        assert bounds_of({"day": pair}) == bounds_of({"day": ("2020-01-01", "2020-12-31")})
        assert Date(bounds=pair).bounds == (18262, 18627)
    assert bounds_of(("2020-01-01", "2020-12-31")).dates == (0,)
    assert bounds_of({"a": (0, 1), "day": pairs[0]}).dates == (1,)
    assert stated_seconds(datetime(2020, 1, 1, 1, tzinfo=UTC)) == 18262 * 86400 + 3600
    assert stated_seconds("1/3") is stated_seconds(np.datetime64("NaT", "D")) is None
    with pytest.raises(kng.KngError, match="low < high"):
        bounds_of({"day": ("2021-01-01", "2020-12-31")})
    with pytest.raises(kng.KngError, match="is not a date"):
        Date(bounds=("2020-02-30", "2020-12-31"))


BOOLEANS = ["True", "false", "1", "0", "1.0", "yes", "", None, "2", " TRUE ", "nan"]


def test_booleans_in_text(tmp_path: Path) -> None:
    usual = [1, 0, 1, 0, 1, np.nan, np.nan, np.nan, np.nan, 1, np.nan]
    words = [np.nan, 0, *[np.nan] * 3, 1, *[np.nan] * 5]
    for source in everywhere(BOOLEANS, tmp_path):
        assert np.array_equal(cells_of(Boolean(), source, "c"), usual, equal_nan=True)
        stated = Boolean(yes=["yes", "y"], no="false")
        assert np.array_equal(cells_of(stated, source, "c"), words, equal_nan=True)


def test_booleans_of_objects_and_types() -> None:
    cells = [True, False, 1, 0.0, None, "true", 7, np.nan, [1], object()]
    frame = pd.DataFrame({"c": pd.Series(cells, dtype=object)})
    found = [1, 0, 1, 0, np.nan, 1, np.nan, np.nan, 1, np.nan]
    assert np.array_equal(cells_of(Boolean(), frame, "c"), found, equal_nan=True)
    typed = pd.DataFrame({"c": pd.array([True, None, False], dtype="boolean")})
    assert np.array_equal(cells_of(Boolean(), typed, "c"), [1, np.nan, 0], equal_nan=True)
    coded = {"c": np.array([1, 2, 3])}
    assert np.array_equal(cells_of(Boolean(yes=1, no=2), coded, "c"), [1, 0, np.nan], True)


LEVELS = ["Male", "Female", " Male", "male", "", None, "Diverse", "Fe\u0301male", "7"]


def test_levels_in_text(tmp_path: Path) -> None:
    for source in everywhere(LEVELS, tmp_path):
        plain = Category(["Female", "Male"])
        codes = cells_of(plain, source, "c")
        assert np.array_equal(codes, [1, 0, 1, *[np.nan] * 6], equal_nan=True)
        other = Category(["Female", "Male"], reference="Male", other="else")
        codes = cells_of(other, source, "c")
        assert np.array_equal(codes, [1, 0, 1, 2, np.nan, np.nan, 2, 2, 2], equal_nan=True)
        assert [other.names[k] for k in other.indicators] == ["Female", "else"]
        male = other.indicator(np.array(codes), 1)
        assert np.array_equal(male, [1, 0, 1, 0, np.nan, np.nan, 0, 0, 0], equal_nan=True)


def test_levels_of_numbers() -> None:
    source = {"c": np.array([1.0, 2.0, 3.0, np.nan, np.inf])}
    assert np.array_equal(cells_of(Category([2, 1]), source, "c"), [1, 0, *[np.nan] * 3], True)
    other = Category([2, 1], other=1)
    assert np.array_equal(cells_of(other, source, "c"), [1, 0, 1, np.nan, 1], equal_nan=True)
    assert Category([0.5, 2], reference=2).names == ("0.5", "2")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Category(["a", "b", "a "]), "'a' twice"),
        (lambda: Category(["a"]), "two or more"),
        (lambda: Category([]), "all be text or all be numbers"),
        (lambda: Category("ab"), "must be a list"),
        (lambda: Category(["a", 1]), "all be text or all be numbers"),
        (lambda: Category([True, False]), "is a Boolean"),
        (lambda: Category(["a", ""]), "missing cell"),
        (lambda: Category(["a", "\ud800"]), "surrogate"),
        (lambda: Category(["a", "b"], reference="c"), "not among the levels"),
        (lambda: Boolean(yes="J"), "both yes and no"),
        (lambda: Boolean(yes="J", no=["N", "J"]), "yes and for no"),
        (lambda: Boolean(yes=None, no=[]), "both yes and no"),
        (lambda: Boolean(yes=[], no="N"), "names nothing"),
        (lambda: Date(unit="weeks"), "'days' or 'seconds'"),
        (lambda: Number(bounds=(0, 1), step=2), "larger than the range"),
        (lambda: Number(bounds={"a": (0, 1)}), "one pair"),
    ],
)
def test_a_bad_declaration_is_refused(make: Any, words: str) -> None:
    with pytest.raises(kng.KngError, match=words):
        make()


@pytest.mark.parametrize(
    ("declared", "kind", "words"),
    [
        (Number(), Kind.TEXT, "category"),
        (Number(), Kind.DATE, "as a date"),
        (Date(), Kind.NUMBER, "as a number"),
        (Date(), Kind.BOOLEAN, "another"),
        (Boolean(yes="J", no="N"), Kind.NUMBER, "as numbers"),
        (Boolean(), Kind.DATE, "another"),
        (Category(["a", "b"]), Kind.NUMBER, "levels as numbers"),
        (Category([1, 2]), Kind.TEXT, "levels as text"),
        (Category([1, 2]), Kind.OTHER, "another"),
    ],
)
def test_a_type_that_contradicts_is_refused(declared: Declared, kind: Kind, words: str) -> None:
    with pytest.raises(kng.KngError, match=words):
        declared.asks(Column("c", kind), "t.csv")


def test_statistics_of_declared_columns(tmp_path: Path) -> None:
    n = 2000
    first = date(2020, 1, 1)
    days = [first + timedelta(days=i % 101) for i in range(n)]
    frame = pd.DataFrame({"day": pd.to_datetime(days), "smoker": [i % 10 > 0 for i in range(n)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    bounds = {"day": ("2019-01-01", "2021-12-31")}
    options: dict[str, Any] = {"epsilon": 50, "random_state": 1}
    for source in (frame, str(tmp_path / "t.csv"), str(tmp_path / "t.parquet")):
        found = kng.median(source, bounds=bounds, **options).value
        assert shown_day(int(found)) == "2020-02-20"
        table = kng.Table(source, columns={"smoker": Boolean()})
        assert abs(kng.mean(table, bounds={"smoker": (0, 1)}, **options).value - 0.9) < 0.01
    typed = kng.mean(frame["smoker"], bounds=(0, 1), **options)
    assert abs(typed.value - 0.9) < 0.01
    assert Assumption.PUBLIC_SCHEMA in typed.assumptions


def test_kinds_that_do_not_fit_are_refused_before_anything_is_read() -> None:
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01"]), "x": [1.0], "sex": ["F"]})
    table = kng.Table(frame, columns={"sex": Category(["F", "M"]), "x": Number()})
    for data, bounds, words in [
        (frame, {"day": (0, 100)}, "bounds as dates"),
        (frame, {"x": ("2020-01-01", "2020-12-31")}, "its type is number"),
        (frame, {"sex": (0, 1)}, "holds text"),
        (table, {"sex": (0, 1)}, "a category, and a number is needed"),
        (table, {"x": ("2020-01-01", "2020-12-31")}, "declared as a number"),
    ]:
        with pytest.raises(kng.KngError, match=words):
            kng.median(data, bounds=bounds, epsilon=1)


def test_plain_numbers_keep_the_quick_way() -> None:
    engine = open_table(kng.Table({"x": np.ones(3)}, columns={"x": Number()}))
    assert engine is not None
    assert type(stated_recipe(engine, (0,), ())).__name__ == "Plain"
