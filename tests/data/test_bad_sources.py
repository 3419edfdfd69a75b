"""Data that cannot be read are refused in a sentence, before the charge, by public facts."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import kng
from kng.cli.main import main

TABLE = pa.table({"x": [1.0, 2.0, 3.0] * 100, "s": ["a", "b", "c"] * 100})


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])
    return path


def parquet(path, table=TABLE):
    pq.write_table(table, path)
    return path


def written(path, text=""):
    path.write_text(text)
    return path


def mixed(folder, other):
    parquet(folder / "a.parquet")
    parquet(folder / "b.parquet", other)
    return str(folder / "*.parquet")


def database(folder):
    path = folder / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("held", TABLE)
        connection.execute("CREATE TABLE t AS FROM held; CREATE VIEW v AS SELECT x / 0 AS x FROM t")
        connection.execute("CREATE TABLE g (s VARCHAR, x INT AS (CAST(s AS INT)))")
    return path


def arrow_file(folder):
    with pa.ipc.new_file(folder / "a.arrow", TABLE.schema) as file:
        file.write_table(TABLE)
    return folder / "a.arrow"


BAD = {
    "no file": (lambda f: f / "no.parquet", "cannot read .*No such file"),
    "no file of a pattern": (lambda f: str(f / "*.parquet"), "no file matches"),
    "an empty folder": (lambda f: f, "holds no data file"),
    "an empty file": (lambda f: written(f / "a.parquet"), "as Parquet. Check that every file is"),
    "a cut file": (lambda f: cut(parquet(f / "a.parquet")), "as Parquet. Check that every file is"),
    "text": (lambda f: written(f / "a.parquet", "x\n1\n" * 99), "cannot read a.parquet as Parquet"),
    "a cut Arrow file": (lambda f: cut(arrow_file(f)), "as an Arrow file"),
    "an unknown file": (lambda f: written(f / "a.xls"), "cannot tell what 'a.xls' is"),
    "a column more": (
        lambda f: mixed(f, TABLE.append_column("y", [[0] * 300])),
        "a.parquet and b.parquet have different columns or types .'y' is in one",
    ),
    "another type": (
        lambda f: mixed(f, TABLE.set_column(0, "x", [list(range(300))])),
        "a.parquet and b.parquet have different columns or types",
    ),
    "another order": (lambda f: mixed(f, TABLE.select(["s", "x"])), "have different columns"),
    "no column": (
        lambda f: parquet(f / "a.parquet", TABLE.rename_columns(["y", "s"])),
        "a.parquet has no column named 'x'; it has 'y', 's'",
    ),
    "a column of text": (
        lambda f: parquet(f / "a.parquet", TABLE.rename_columns(["y", "x"])),
        "column 'x' of a.parquet holds text .VARCHAR.",
    ),
    "no table": (lambda f: kng.Table(database(f), table="u"), "no table 'u'; it has 'g', 't'"),
    "a view": (lambda f: kng.Table(database(f), table="v"), "it is a view. Give its query"),
    "a computed column": (lambda f: kng.Table(database(f), table="g"), "computed when it is read"),
    "no database": (
        lambda f: kng.Table(written(f / "d.duckdb", "text" * 9000), table="t"),
        "cannot open d.duckdb as a DuckDB database",
    ),
    "a mixed query": (
        lambda f: kng.Table(query=f"SELECT x FROM '{mixed(f, TABLE.rename_columns(['y', 's']))}'"),
        "have different columns",
    ),
    "another address": (lambda f: "mysql://u:hush@host/base", "cannot read mysql:// addresses"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_is_refused_before_the_charge(case, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    make, says = BAD[case]
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=1)
    data = make(folder)
    for neighbours in ("replace-one", "add-remove"):
        with pytest.raises(kng.core.errors.SchemaError, match=says) as failure:
            kng.median(data, bounds={"x": (0, 9)}, epsilon=1, ledger=ledger, neighbours=neighbours)
        assert "hush" not in str(failure.value)
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--query", "SELECT x FROM 'a.parquet' WHERE x > 1"], 2, "State --rows-per-record"),
        (
            ["--query", "SELECT x FROM 'a.parquet' WHERE x > 1", "--rows-per-record", "1"],
            2,
            "Use --neighbours add-remove",
        ),
        (["--query", "SELECT x FROM 'a.parquet' LIMIT 3"], 4, "LIMIT"),
        (["--query", "SELECT x FROM"], 4, "cannot be parsed"),
        (["--query", "SELECT x FROM 'b.parquet'"], 4, "No such file"),
        (["d.duckdb"], 2, "--table name"),
        (["d.duckdb", "--table", "u"], 4, "no table 'u'"),
        (["a.parquet", "--table", "u"], 2, "means nothing for Parquet files"),
        (["--table", "u"], 2, "DATA"),
    ],
)
def test_the_shell_says_so_and_charges_nothing(words, code, says, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    parquet(tmp_path / "a.parquet")
    database(tmp_path)
    kng.Ledger(tmp_path / "a.ledger", cap=1)
    ask = ["--column", "x", "--bounds", "0:9", "--epsilon", "1", "--ledger", "a.ledger"]
    assert main(["median", *words, *ask]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert says in err
    assert "Traceback" not in err
    assert kng.Ledger(tmp_path / "a.ledger").spent == 0


def test_the_shell_takes_queries_and_databases(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    parquet(tmp_path / "a.parquet")
    database(tmp_path)
    ask = ["--column", "x", "--bounds", "0:9", "--epsilon", "1"]
    where = ["--query", "SELECT x FROM 'a.parquet' WHERE x > 1", "--rows-per-record", "1"]
    for words, shown in (
        (["--query", "SELECT x FROM 'a.parquet'"], "300 (public)"),
        (["d.duckdb", "--table", "t"], "300 (public)"),
        ([*where, "--neighbours", "add-remove"], "rows per record"),
    ):
        assert main(["median", *words, *ask]) == 0
        out, _ = capfd.readouterr()
        assert shown in out
