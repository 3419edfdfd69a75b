"""Files that cannot be used: one sentence, code 4, nothing charged, under either relation."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import kng
from kng.data.csv import CsvEngine
from kng.data.text import text_files
from kng.data.text.csv_files import CsvFiles

AGE = ("--column", "age", "--bounds", "0:120", "--epsilon", "1")
TABLE = pa.table(
    {
        "age": np.arange(1000.0) % 90,
        "name": ["x"] * 1000,
        "born": pa.array([0] * 1000, pa.date32()),
        "all": [[1, 2]] * 1000,
    }
)
# Longer than what is read for the first line.
TEXT = b"age,name\n" + b"31,x\n57,y\n" * 200_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good and bad files."""
    folder = tmp_path_factory.mktemp("bad")

    def put(name: str, content: bytes) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)

    pa.parquet.write_table(TABLE, folder / "good.parquet")
    with pa.ipc.new_file(str(folder / "good.arrow"), TABLE.schema) as file:
        file.write_table(TABLE)
    with pa.ipc.new_stream(str(folder / "stream.arrow"), TABLE.schema) as file:
        file.write_table(TABLE)
    packed = gzip.compress(TEXT, 1)
    put("good.csv.gz", packed)
    for name in ("good.parquet", "good.arrow", "good.csv.gz"):
        whole = (folder / name).read_bytes()
        put(name.replace("good", "cut"), whole[: len(whole) // 2])
        put(name.replace("good", "nearly"), whole[:-4])
        put(name.replace("good", "empty"), b"")
    put("plain.csv.gz", TEXT)
    put("noise.csv.zst", b"no frame")
    put("empty.csv", b"")
    put("blank.csv", b"\n31\n")
    put("semicolons.csv", b"age;name\n31;x\n")
    put("tabs.csv", b"age\tname\n31\tx\n")
    put("mixed/a.csv", TEXT)
    shutil.copy(folder / "good.parquet", folder / "mixed" / "b.parquet")
    put("notes/readme.md", b"nothing here")
    (folder / "void").mkdir()
    for name, part in (("a", TABLE), ("b", TABLE.select(["age"]))):
        (folder / "columns").mkdir(exist_ok=True)
        pa.parquet.write_table(part, folder / "columns" / f"{name}.parquet")
    for name, cells in (("a", [1.5]), ("b", [1])):
        (folder / "types").mkdir(exist_ok=True)
        pa.parquet.write_table(pa.table({"age": cells}), folder / "types" / f"{name}.parquet")
    put("headers/a.csv", b"age,name\n31,x\n")
    put("headers/b.csv", b"name,age\nx,31\n")
    return folder


CUT = "it is cut, broken or not compressed as its name says. Check the file."
FILES = {
    "nowhere.parquet": "nowhere.parquet': No such file or directory. Check the path.",
    "nowhere.arrow": "nowhere.arrow': No such file or directory. Check the path.",
    "nowhere.csv": "nowhere.csv': No such file or directory. Check the path.",
    "nowhere/*.parquet": "no file matches",
    "nowhere/*": "no file matches",
    "empty.parquet": "cannot read empty.parquet as Parquet. Check that every file is complete.",
    "cut.parquet": "cannot read cut.parquet as Parquet.",
    "nearly.parquet": "cannot read nearly.parquet as Parquet.",
    "empty.arrow": "cannot read empty.arrow as an Arrow file. Check that it is one and is",
    "cut.arrow": "cannot read cut.arrow as an Arrow file.",
    "nearly.arrow": "cannot read nearly.arrow as an Arrow file.",
    "stream.arrow": "cannot read stream.arrow as an Arrow file.",
    "empty.csv": "the first line of empty.csv is empty. Put the column names there",
    "blank.csv": "the first line of blank.csv is empty.",
    "empty.csv.gz": "the first line of empty.csv.gz is empty.",
    "cut.csv.gz": CUT,
    "nearly.csv.gz": CUT,
    "plain.csv.gz": CUT,
    "noise.csv.zst": CUT,
    "semicolons.csv": "If its columns are separated by semicolons, say --separator ';'.",
    "tabs.csv": "If its columns are separated by tabs, say --separator '\\t'.",
    "mixed": "directory 'mixed' holds 2 kinds of data files. Give files of one kind",
    "mixed/*": "mixed/*' names 2 kinds of data files. Give files of one kind",
    "notes": "directory 'notes' holds no data file.",
    "void": "directory 'void' holds no data file.",
    "columns": "a.parquet and b.parquet have different columns or types ('name' is in one of them)",
    "columns/*.parquet": "a.parquet and b.parquet have different columns or types",
    "types/*.parquet": "have different columns or types. Give files of one schema",
    "headers/*.csv": "b.csv has other columns (name, age) than a.csv (age, name).",
    "x\0.csv": "not a path. Check the path.",
    f"{'a/' * 3000}x.csv": "File name too long. Check the path.",
}


def refused(outcome, message, ledger):
    assert message in outcome.err
    assert (outcome.code, outcome.out) == (4, "")
    assert outcome.err.startswith("Error: ")
    assert outcome.err.count("\n") == 1
    assert ledger.history() == []


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", FILES, ids=lambda name: name[:20].replace("\0", "0"))
def test_files(run, folder, ledger, name, relation):
    words = ("--neighbours", relation, "--ledger", ledger.path)
    refused(run("median", f"{folder}/{name}", *AGE, *words), FILES[name], ledger)


@pytest.mark.parametrize("data", ["", "  "])
def test_an_empty_path(run, ledger, data):
    outcome = run("median", data, *AGE, "--ledger", ledger.path)
    refused(outcome, "the path is empty. Name a file, a pattern or a directory.", ledger)


@pytest.mark.parametrize("file", ["good.parquet", "good.arrow"])
@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("height", "has no column named 'height'; it has 'age', 'name', 'born', 'all'."),
        ("name", "holds text ("),
        ("born", "Give its bounds as dates"),
        ("all", "Choose a column of numbers."),
    ],
)
def test_columns(run, folder, ledger, file, column, message):
    words = ("--column", column, *AGE[2:], "--ledger", ledger.path)
    refused(run("median", folder / file, *words), message, ledger)


@pytest.mark.parametrize("stdin", [SimpleNamespace(buffer=SimpleNamespace(read=bytes)), None])
def test_nothing_on_standard_input(run, ledger, stdin, monkeypatch):
    text_files._standard_input.cache_clear()
    monkeypatch.setattr("sys.stdin", stdin)
    message = "there is no standard input" if stdin is None else "standard input is empty."
    refused(run("median", "-", *AGE, "--ledger", ledger.path), message, ledger)
    text_files._standard_input.cache_clear()


OPTIONS = {
    ("--memory-limit", "5"): "--memory-limit must be at least 128MB, got '5'.",
    ("--memory-limit", "much"): "--memory-limit must be a size such as '2GB' or '500MB'",
    ("--memory-limit", "-1GB"): "--memory-limit must be a size",
    ("--memory-limit", "9" * 400): "--memory-limit must be at most 1024TB.",
    ("--threads", "0"): "--threads must be a whole number of at least 1, got 0.",
    ("--threads", "1.5"): "--threads must be a whole number of at least 1, got 1.5.",
    ("--threads", "all"): "threads must be a number, got 'all'.",
    ("--threads", "9" * 30): "--threads must be at most 1024",
    ("--separator", ";"): "--separator means nothing for Parquet files. Leave it out.",
    ("--ending", "\\r"): "--ending means nothing for Parquet files. Leave it out.",
}


@pytest.mark.parametrize("words", OPTIONS, ids=lambda words: " ".join(words)[:30])
def test_options(run, folder, ledger, words):
    outcome = run("median", folder / "good.parquet", *AGE, *words, "--ledger", ledger.path)
    assert OPTIONS[words] in outcome.err
    assert (outcome.code, outcome.out, ledger.history()) == (2, "", [])


def test_lines_that_end_in_carriage_returns(run, tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes(b"age,name\r31,x\r44,y\r")
    assert "say --ending '\\r'." in run("median", path, *AGE).err
    assert run("median", path, *AGE, "--ending", "\\r").code == 0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_changes_before_the_charge(run, ledger, tmp_path, monkeypatch, kind):
    path = tmp_path / f"data.{kind}"
    content = TEXT[:90] if kind == "csv" else None
    path.write_bytes(content) if content else pa.parquet.write_table(TABLE, path)
    count = kng.data.TableSource.count

    def changing(source):
        path.touch()
        return count(source)

    monkeypatch.setattr(kng.data.TableSource, "count", changing)
    outcome = run("median", path, *AGE, "--ledger", ledger.path)
    refused(outcome, "A file changed while it was read.", ledger)


def test_a_file_that_changes_while_it_is_counted(run, ledger, tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_bytes(TEXT[:90])
    count = CsvFiles.count

    def changing(files):
        found = count(files)
        path.touch()
        return found

    monkeypatch.setattr(CsvFiles, "count", changing)
    outcome = run("median", path, *AGE, "--ledger", ledger.path)
    refused(outcome, "A file changed while it was read.", ledger)


def test_a_file_that_changes_after_the_charge(run, ledger, tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_bytes(TEXT[:90])
    blocks = CsvEngine.blocks

    def changing(engine, asked):
        path.touch()
        return blocks(engine, asked)

    monkeypatch.setattr(CsvEngine, "blocks", changing)
    outcome = run("median", path, *AGE, "--ledger", ledger.path)
    assert outcome.code == 70
    assert "failed after it was charged; the charge stays" in outcome.err
    assert ledger.spent == 1


@pytest.fixture
def stranger(folder):
    """Files that their owner alone may read, looked at by somebody else."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    (place / "closed").mkdir()
    for name in ("good.parquet", "good.arrow", "good.csv.gz"):
        shutil.copy(folder / name, place / name)
        shutil.copy(folder / name, place / "closed" / name)
        (place / name).chmod(0)
    (place / "closed").chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield place
    if root:
        os.seteuid(0)
    (place / "closed").chmod(0o700)
    shutil.rmtree(place)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs users")
@pytest.mark.parametrize(
    "name",
    ["good.parquet", "good.arrow", "good.csv.gz", "closed", "closed/good.parquet"],
)
def test_files_that_may_not_be_read(run, stranger, name):
    outcome = run("median", stranger / name, *AGE)
    assert "Permission denied. Check the path." in outcome.err
    assert (outcome.code, outcome.out) == (4, "")
