"""docs/adding-a-source.md is a program: its blocks run one after the other."""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing, nullcontext
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conformance.source_checks import RULE, conforms

import kng
from kng.core.errors import SchemaError
from kng.data import open_source
from kng.data.ingest import Ingest, numbers

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-source.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def stranger(monkeypatch, tmp_path) -> ModuleType:
    module = ModuleType("stranger")
    monkeypatch.setitem(sys.modules, "stranger", module)
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    return module


def run(module: ModuleType, *blocks: str) -> None:
    for block in blocks:
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), vars(module))


def test_the_page_runs(stranger):
    assert len(BLOCKS) == 3
    run(stranger, *BLOCKS)


def read(self, take, cells=numbers, texts=bytes):
    """The batches of the page, with a fault in what is taken or in how cells are read."""
    ingest = Ingest(self._encoding)
    with self._open() as database:
        database.text_factory = texts
        found = database.execute(self._query)
        while rows := take(found):
            yield ingest(np.column_stack([cells(list(c)) for c in zip(*rows, strict=True)]))


def some(found):
    return found.fetchmany(1000)


def as_text(self):
    """It reads texts as UTF-8, and one that is not raises."""
    return read(self, some, texts=str)


def short(self):
    """It forgets a last batch that is not full."""

    def take(found):
        rows = found.fetchmany(100)
        return rows if len(rows) == 100 else []

    return read(self, take)


def known_only(self):
    """It drops rows with a missing cell, and a record decides how many there are."""
    return read(self, lambda found: [row for row in some(found) if None not in row])


def in_one_piece(self):
    return read(self, lambda found: found.fetchall())


def plain_floats(self):
    return read(self, some, lambda column: np.array([float(cell or 0) for cell in column]))


def by_content(self):
    return closing_of(self, " ORDER BY 1")


def distinct(self):
    return closing_of(self, " GROUP BY 1, 2")


def closing_of(self, more):
    ingest = Ingest(self._encoding)
    with self._open() as database:
        rows = database.execute(self._query + more).fetchall()
    if rows:
        yield ingest(np.column_stack([numbers(list(c)) for c in zip(*rows, strict=True)]))


FAULTS = {
    "no fault": ("batches", lambda self: read(self, some), None),
    "text that must be UTF-8": ("batches", as_text, sqlite3.OperationalError),
    "a last batch forgotten": ("batches", short, AssertionError),
    "rows with gaps dropped": ("batches", known_only, AssertionError),
    "batches without an end": ("batches", in_one_piece, AssertionError),
    "cells that raise": ("batches", plain_floats, ValueError),
    "an order of its own": ("batches", by_content, AssertionError),
    "equal rows once": ("batches", distinct, AssertionError),
    "a wrong count": ("count", lambda self: 500, AssertionError),
    "sums of nothing": ("sums", lambda self: (0, (0, 0)), AssertionError),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checks_of_the_page_catch_wrong_sources(stranger, monkeypatch, fault):
    run(stranger, BLOCKS[0])
    name, wrong, error = FAULTS[fault]
    monkeypatch.setattr(stranger.SqliteSource, name, wrong)
    with nullcontext() if error is None else pytest.raises(error):
        run(stranger, BLOCKS[1])


def test_sources_of_the_package_pass_the_same_checks():
    conforms(lambda rows, rule: open_source([list(row) for row in rows], _nameless(rule)))
    conforms(
        lambda rows, rule: open_source(
            {"note": rows, "b": [r[1] for r in rows], "a": [r[0] for r in rows]}, rule
        )
    )


def _nameless(rule):
    from dataclasses import replace

    return replace(rule, bounds=replace(rule.bounds, columns=None))


def test_opening_reads_no_record_and_names_what_is_wrong(stranger, tmp_path):
    run(stranger, BLOCKS[0])
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE people (a, secret, b AS (a + 1))")
        database.execute(
            "CREATE VIEW seen AS SELECT a, json_extract(secret, '$.x') AS b FROM people"
        )
        database.execute("INSERT INTO people (a, secret) VALUES (1, 'no json')")
        database.commit()
    make = stranger.SqliteSource
    for table, says in (("seen", "no table 'seen'"), ("none", "no table 'none'")):
        with pytest.raises(SchemaError, match=says):
            make(path, table, RULE)
    with pytest.raises(SchemaError, match="no column named 'b'; it has 'a', 'secret'"):
        make(path, "people", RULE)
    with pytest.raises(SchemaError, match="cannot read"):
        make(tmp_path / "no.db", "people", RULE)
    (tmp_path / "text.db").write_text("a,b\n1,2\n" * 1000)
    with pytest.raises(SchemaError, match="cannot read"):
        make(tmp_path / "text.db", "people", RULE)


def test_a_table_that_vanishes_after_the_charge_says_nothing(stranger, tmp_path):
    run(stranger, *BLOCKS)
    path = tmp_path / "ages.db"
    table = stranger.SqliteSource(path, "visits", stranger.records)
    ledger = kng.Ledger(tmp_path / "gone.ledger", cap=1)
    reduce = table.collect

    def gone(*asked):
        path.unlink(missing_ok=True)
        return reduce(*asked)

    table.collect = gone
    with pytest.raises(kng.KngError, match="failed after it was charged") as failure:
        stranger.median_of(table, ledger=ledger)
    assert "ages" not in str(failure.value)
    assert ledger.spent == 1
