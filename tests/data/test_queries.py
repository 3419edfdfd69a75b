"""Queries: what they may hold, that no row can make them fail, and what one record weighs."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kng
from kng.core.bounds import bounds_of
from kng.core.encoding import encoding_of
from kng.core.errors import SchemaError, SpecError
from kng.data import open_source, open_table
from kng.data.engine import Asked
from kng.data.sql.reading import select_of

RULE = encoding_of(bounds_of({"x": (0, 100)}), granularity=["1/4"], missing=50, bits=20)
ASK = {"bounds": {"x": (0, 100)}, "epsilon": 1, "random_state": 1}


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A file that queries call people.parquet, some of whose cells are traps."""
    monkeypatch.chdir(tmp_path)
    text = ["7", "x", None, "", "1e3", "9" * 30, "-4", "0"] * 25
    table = pa.table(
        {
            "id": pa.array(range(200), pa.int64()),
            "x": np.linspace(0, 100, 200),
            "s": pa.array(text),
            "big": pa.array([2**62, -(2**62), 0, None] * 50, pa.int64()),
            "day": pa.array([None, 0, 20_000, -800_000] * 50, pa.date32()),
        }
    )
    pq.write_table(table, "people.parquet")
    return table


def values(query, **stated):
    """Return what the query gives, as the whole numbers that are read."""
    source = open_source(kng.Table(query=query, **stated), RULE)
    return source.collect(Everything())[:, 0].tolist()


class Everything:
    def select(self, batch):
        return batch


KEPT = {
    "x": "SELECT x FROM 'people.parquet'",
    "x by a function": "SELECT x FROM read_parquet('people.parquet')",
    "x by a list": "SELECT x FROM read_parquet(['people.parquet'])",
    "nested": "SELECT y AS x FROM (SELECT x AS y FROM 'people.parquet') t",
    "capitals": "select X from 'people.parquet'",
    "star": "SELECT * FROM 'people.parquet'",
    "times one": "SELECT x * 1 AS x FROM 'people.parquet'",
    "case": "SELECT CASE WHEN x > 50 THEN x ELSE x END AS x FROM 'people.parquet'",
    "coalesce": "SELECT COALESCE(NULL, x) AS x FROM 'people.parquet'",
}


@pytest.mark.parametrize("query", KEPT)
def test_a_projection_keeps_every_record(query, people):
    expected = open_source(people, RULE)
    table = kng.Table(query=KEPT[query])
    assert open_table(table).rows_per_record is None
    source = open_source(table, RULE)
    assert source.count() == 200
    assert source.sums() == expected.sums()
    assert kng.median(table, **ASK).integers == kng.median(people, **ASK).integers


# What fails on some rows; the numbers that stay, the others are missing.
TRAPS = {
    "division by zero": "1 / CAST(s AS INTEGER)",
    "remainder by zero": "10 % CAST(s AS INTEGER)",
    "a cast": "CAST(s AS INTEGER)",
    "a cast to a date": "year(CAST(s AS DATE))",
    "overflow": "big * 4",
    "overflow of a sign": "- (big + big)",
    "a root": "sqrt(big)",
    "a logarithm": "ln(big)",
    "a power": "power(big, 40)",
    "an exponential": "exp(big)",
    "a date": "year(day)",
    "days": "date_diff('day', day, CAST('2020-01-01' AS DATE))",
    "a length": "length(s)",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_what_fails_on_a_row_is_missing(trap, people):
    assert len(values(f"SELECT {TRAPS[trap]} AS x FROM 'people.parquet'")) == 200
    stated = {"rows_per_record": 1}
    where = f"SELECT x FROM 'people.parquet' WHERE {TRAPS[trap]} > 3"
    assert len(values(where, **stated)) < 200


@pytest.mark.parametrize("trap", TRAPS)
def test_what_fails_twice_is_missing_twice(trap, people):
    twice = f"SELECT {TRAPS[trap]} AS x, {TRAPS[trap]} + 1 AS y FROM 'people.parquet'"
    found = kng.mean(kng.Table(query=twice), bounds={"x": (0, 9), "y": (0, 9)}, epsilon=1)
    assert len(found.integers) == 2
    assert len(values(f"SELECT {TRAPS[trap]} IN (1, 2) AS x FROM 'people.parquet'")) == 200
    assert len(values("SELECT s IN (1, 2) AS x FROM 'people.parquet'")) == 200


def test_constants_that_fail_are_missing(people):
    query = "SELECT CAST((1 % 0) IN (x, 2) AS INTEGER) AS x FROM 'people.parquet'"
    assert len(values(query)) == 200


def rows_that_hold(query: str, folder: Path, **columns: object) -> float:
    """Return how many rows a query finds, or what their numbers add up to."""
    pq.write_table(pa.table(columns), folder / "t.parquet", use_dictionary=False)
    pq.write_table(pa.table({"k": [np.nan], "s": ["?"]}), folder / "keys.parquet")
    text = query.replace("FOLDER", str(folder))
    stated = {} if "CASE" in text else {"rows_per_record": 1}
    engine = open_table(kng.Table(query=text, **stated))
    return sum(float(block.numbers[0].sum()) for block in engine.blocks(Asked((0,))))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT one AS x FROM 'FOLDER/t.parquet' WHERE v > 5",
        "SELECT one AS x FROM 'FOLDER/t.parquet' WHERE NOT (v <= 5)",
        "SELECT one AS x FROM 'FOLDER/t.parquet' WHERE v <> 1",
        "SELECT one AS x FROM 'FOLDER/t.parquet' WHERE narrow > 5",
        "SELECT CASE WHEN v > 5 THEN 1 ELSE 0 END AS x FROM 'FOLDER/t.parquet'",
        "SELECT x FROM (SELECT one AS x, v FROM 'FOLDER/t.parquet') WHERE v > 5",
        "SELECT t.one AS x FROM 'FOLDER/t.parquet' t JOIN 'FOLDER/keys.parquet' j ON t.v = j.k",
        "SELECT one AS x FROM 'FOLDER/t.parquet' WHERE s < 'a'",
        "SELECT CASE WHEN s < 'a' THEN 1 ELSE 0 END AS x FROM 'FOLDER/t.parquet'",
        "SELECT t.one AS x FROM 'FOLDER/t.parquet' t JOIN 'FOLDER/keys.parquet' j ON t.s = j.s",
    ],
)
def test_one_record_changes_no_row_of_another(query, tmp_path):
    """Statistics of a row group leave out NaN and broken text: they may decide nothing."""

    def found(last: float, text: bytes) -> float:
        numbers = np.array([np.nan] * 5 + [1.0] * 20 + [last])
        cells = pa.array([b"\xff"] * 5 + [b"zz"] * 20 + [text], pa.binary())
        broken = pa.StringArray.from_buffers(26, *cells.buffers()[1:])
        narrow = numbers.astype(np.float32)
        columns = {"one": np.ones(26), "v": numbers, "narrow": narrow, "s": broken}
        return rows_that_hold(query, tmp_path, **columns)

    assert found(1.0, b"zz") == 5
    assert found(10.0, b"!") in (5, 6)


@pytest.mark.parametrize("value", ["s", "lower(s)", "x", "big", "CAST(day AS TIMESTAMP)", "'a'"])
def test_where_takes_conditions_only(value, people):
    with pytest.raises(SchemaError, match="not a condition"):
        open_table(
            kng.Table(query=f"SELECT x FROM 'people.parquet' WHERE {value}", rows_per_record=1)
        )


def test_values_of_rows_beside_a_trap_stay(people):
    found = values("SELECT CAST(s AS INTEGER) AS x FROM 'people.parquet'")
    # 7, -4 (clipped) and 0 are whole numbers; 1e3 is one to DuckDB; the rest is missing, so 50.
    assert sorted(set(found)) == [0, 28, 200, 400]
    assert found.count(28) == 25
    assert found.count(0) == 50


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT x FROM 'people.parquet' WHERE x > 50", 100),
        ("SELECT a.x FROM 'people.parquet' a JOIN 'people.parquet' b ON a.id = b.id", 200),
        ("SELECT a.x FROM 'people.parquet' a, 'people.parquet' b", 40_000),
        ("SELECT x FROM (SELECT x FROM 'people.parquet' WHERE x > 50) t", 100),
    ],
)
def test_what_drops_or_multiplies_rows_needs_add_remove(query, rows, people, tmp_path):
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=5)
    real = {**ASK, "random_state": None, "ledger": ledger}
    with pytest.raises(SpecError, match="rows_per_record"):
        kng.median(kng.Table(query=query), **real, neighbours="add-remove")
    table = kng.Table(query=query, rows_per_record=3)
    with pytest.raises(SpecError, match="add-remove"):
        kng.median(table, **real)
    assert ledger.spent == 0
    assert len(values(query, rows_per_record=3)) == rows
    release = kng.median(table, **real, neighbours="add-remove")
    assert "rows-per-record" in [assumption.value for assumption in release.assumptions]
    assert release.details["rows per record"] == "at most 3 (stated)"
    assert release.details["records"] == "private"
    assert ledger.spent == 1
    assert ledger.records_per_person == 1


def test_the_number_of_rows_is_not_asked_for_before_the_charge(people, monkeypatch):
    from kng.data.duck import DuckEngine

    def counted(self):
        raise AssertionError("counted")

    monkeypatch.setattr(DuckEngine, "count", counted)
    query = "SELECT x FROM 'people.parquet' WHERE x > 50"
    table = kng.Table(query=query, rows_per_record=1)
    kng.mean(table, **ASK, neighbours="add-remove")
    with pytest.raises(SpecError, match="add-remove"):
        kng.mean(table, **ASK)


def test_rows_and_records_multiply(people):
    """Three rows a record and two records a person move a score as six records do."""
    query = "SELECT x FROM 'people.parquet' WHERE x > 50"
    asked = {**ASK, "neighbours": "add-remove"}
    kept = people.filter(pa.compute.greater(people["x"], 50))
    for function in (kng.mean, kng.median):
        table = kng.Table(query=query, rows_per_record=3)
        together = function(table, **asked, records_per_person=2)
        alone = function(kept, **asked, records_per_person=6)
        assert together.integers == alone.integers
        assert together.event.records_per_person == 2
    options = {"epsilon": 1, "bounds_X": {"x": (0, 100)}, "bounds_y": (0, 200), "random_state": 1}
    options["neighbours"] = "add-remove"
    query = "SELECT x, id FROM 'people.parquet' WHERE x > 50"
    for kind in (kng.LinearRegression, kng.QuantileRegressor):
        stated = kng.Table(query=query, rows_per_record=3)
        fitted = kind(**options, records_per_person=2).fit(stated, target="id")
        alone = kind(**options, records_per_person=6).fit(kept, target="id", features=["x"])
        assert fitted.release_.integers == alone.release_.integers


REFUSED = {
    "SELECT avg(x) AS x FROM 'people.parquet'": "function avg",
    "SELECT count(*) AS x FROM 'people.parquet'": "function count_star",
    "SELECT x FROM 'people.parquet' GROUP BY x": "GROUP BY",
    "SELECT DISTINCT x FROM 'people.parquet'": "DISTINCT",
    "SELECT x FROM 'people.parquet' LIMIT 5": "LIMIT",
    "SELECT x FROM 'people.parquet' ORDER BY x": "ORDER BY",
    "SELECT x FROM 'people.parquet' OFFSET 5": "OFFSET",
    "SELECT x FROM 'people.parquet' QUALIFY x > 1": "QUALIFY",
    "SELECT rank() OVER (ORDER BY x) AS x FROM 'people.parquet'": "a window",
    "SELECT lag(x) OVER () AS x FROM 'people.parquet'": "a window",
    "SELECT x FROM 'people.parquet' USING SAMPLE 3": "a sample",
    "SELECT x FROM 'people.parquet' TABLESAMPLE 3%": "a sample",
    "SELECT x FROM 'people.parquet' UNION ALL SELECT x FROM 'people.parquet'": "set operation",
    "SELECT x FROM 'people.parquet' EXCEPT SELECT x FROM 'people.parquet'": "set operation",
    "WITH t AS (SELECT x FROM 'people.parquet') SELECT x FROM t": "WITH",
    "SELECT (SELECT max(x) FROM 'people.parquet') AS x FROM 'people.parquet'": "a subquery",
    "SELECT x FROM 'people.parquet' WHERE x IN (SELECT x FROM 'people.parquet')": "a subquery",
    "SELECT x FROM 'people.parquet' WHERE EXISTS (SELECT 1)": "a subquery",
    "SELECT a.x FROM 'people.parquet' a LEFT JOIN 'people.parquet' b ON a.id = b.id": "inner",
    "SELECT a.x FROM 'people.parquet' a SEMI JOIN 'people.parquet' b ON a.id = b.id": "inner",
    "SELECT a.x FROM 'people.parquet' a POSITIONAL JOIN 'people.parquet' b": "inner",
    "SELECT a.x FROM 'people.parquet' a JOIN 'people.parquet' b USING (id)": "USING",
    "SELECT a.x FROM 'people.parquet' a JOIN 'people.parquet' b ON a.id < b.id": "equal columns",
    "SELECT a.x FROM 'people.parquet' a JOIN 'people.parquet' b ON a.id = b.s": "one type",
    "SELECT x FROM 'people.parquet' a JOIN 'people.parquet' b ON a.id = b.id": "more than one",
    "SELECT random() AS x FROM 'people.parquet'": "function random",
    "SELECT now() AS x FROM 'people.parquet'": "function now",
    "SELECT unnest([1, 2]) AS x FROM 'people.parquet'": "function unnest",
    "SELECT nextval('s') AS x FROM 'people.parquet'": "function nextval",
    "SELECT main.abs(x) AS x FROM 'people.parquet'": "does not know",
    "SELECT file_row_number AS x FROM 'people.parquet'": "no column 'file_row_number'",
    "SELECT rowid AS x FROM 'people.parquet'": "no column 'rowid'",
    "SELECT filename AS x FROM 'people.parquet'": "no column 'filename'",
    "SELECT t AS x FROM 'people.parquet' t": "no column 't'",
    "SELECT x + 1 FROM 'people.parquet'": "without a name",
    "SELECT x, id AS X FROM 'people.parquet'": "two columns",
    "SELECT y FROM 'people.parquet'": "no column 'y'",
    "SELECT COLUMNS('x') FROM 'people.parquet'": "does not know",
    "SELECT * EXCLUDE (s) FROM 'people.parquet'": "does not know",
    "SELECT x FROM people": "no database is given",
    "SELECT x FROM 'people.csv'": "guess types from cells",
    "SELECT x FROM 'people.json'": "guess types from cells",
    "SELECT x FROM read_csv('people.csv')": "guess types from cells",
    "SELECT x FROM read_csv_auto('people.csv')": "guess types from cells",
    "SELECT x FROM read_json('people.json')": "guess types from cells",
    "SELECT x FROM sniff_csv('people.csv')": "guess types from cells",
    "SELECT x FROM read_parquet('people.parquet', filename = true)": "nothing else",
    "SELECT x FROM range(5) t(x)": "table function range|does not know",
    "SELECT x FROM (VALUES (1)) t(x)": "does not know",
    "SELECT x FROM missing.parquet": "no database is given",
    "SELECT x FROM 'missing.parquet'": "No such file",
    "SELECT x FROM": "cannot be parsed",
    "SELECT x FROM 'people.parquet'; SELECT 1": "2 statements",
    "DROP TABLE people": "cannot be parsed",
    "COPY (SELECT 1) TO 'x.csv'": "cannot be parsed",
    "SELECT x FROM 'people.parquet' WHERE x > ?": "parameter",
    "SELECT CAST(x AS BLOB) AS x FROM 'people.parquet'": "casts to blob",
    "SELECT x + s AS x FROM 'people.parquet'": "DuckDB refuses the query",
    "SELECT 1 AS x": "no table",
    "": "must be a text",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_a_query_may_not_hold(query, people, tmp_path):
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=1)
    stated = 1 if " WHERE " in query or " JOIN " in query else None
    table = kng.Table(query=query, rows_per_record=stated)
    asked = {**ASK, "random_state": None, "neighbours": "add-remove", "ledger": ledger}
    with pytest.raises(SchemaError, match=REFUSED[query]):
        kng.median(table, **asked)
    assert ledger.spent == 0


def test_rows_per_record_of_a_projection_is_refused(people):
    table = kng.Table(query="SELECT x FROM 'people.parquet'", rows_per_record=2)
    with pytest.raises(SpecError, match="each record is one row"):
        kng.median(table, **ASK, neighbours="add-remove")


def test_an_expression_is_written_as_it_was_meant(people):
    """Precedence survives: the tree is written with parentheses."""
    for text in ("x - (x - 3) * 2", "- x + 50", "CASE WHEN NOT (x > 1 OR x < -1) THEN 5 END"):
        query = f"SELECT {text} AS x FROM 'people.parquet'"
        relation = duckdb.sql(query)
        assert values(query) == open_source(relation, RULE).collect(Everything())[:, 0].tolist()


def test_the_tree_of_a_query():
    plain = select_of("SELECT a FROM t")
    assert plain.keeps_rows
    assert not select_of("SELECT a FROM t WHERE a").keeps_rows
    assert not select_of("SELECT a FROM t, u").keeps_rows
    assert not select_of("SELECT a FROM (SELECT a FROM t WHERE a) u").keeps_rows
    assert select_of("SELECT a FROM (SELECT a FROM t) u").keeps_rows
