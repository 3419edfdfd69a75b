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
from kng.data.engine import Block
from kng.data.ingest import numbers

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


def some(found):
    return found.fetchmany(1000)


def read(take=some, cells=numbers, texts=bytes, more="", names=lambda names: names):
    """The blocks of the page, with a fault in what is taken or in how cells are read."""

    def blocks(self, asked):
        self._database.text_factory = texts
        wanted = ", ".join(names([f'"{self._columns[at].name}"' for at in asked.numbers]))
        found = self._database.execute(f"SELECT {wanted} FROM people{more}")
        while rows := take(found):
            yield Block([cells(list(c)).reshape(-1, 1) for c in zip(*rows, strict=True)])

    return blocks


def full(found):
    rows = found.fetchmany(100)
    return rows if len(rows) == 100 else []


def known_only(found):
    return [row for row in some(found) if None not in row]


def plain_floats(column):
    return np.array([float(cell or 0) for cell in column])


def in_two(self, asked, task):
    """Two shares, each of all records."""
    return [task(self.blocks(asked)) for _ in range(2)]


FAULTS = {
    "no fault": ("blocks", read(), None),
    "an order of its own": ("blocks", read(more=" ORDER BY a"), None),
    "one long block": ("blocks", read(lambda found: found.fetchall()), None),
    "text that must be UTF-8": ("blocks", read(texts=str), sqlite3.OperationalError),
    "a last block forgotten": ("blocks", read(full), AssertionError),
    "rows with gaps dropped": ("blocks", read(known_only), AssertionError),
    "cells that raise": ("blocks", read(cells=plain_floats), ValueError),
    "equal rows once": ("blocks", read(more=" GROUP BY a, b"), AssertionError),
    "columns in another order": ("blocks", read(names=lambda n: n[::-1]), AssertionError),
    "a wrong count": ("count", lambda self: 500, AssertionError),
    "records in two shares": ("run", in_two, AssertionError),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checks_of_the_page_catch_wrong_engines(stranger, monkeypatch, fault):
    run(stranger, BLOCKS[0], BLOCKS[1])
    name, wrong, error = FAULTS[fault]
    monkeypatch.setattr(stranger.SqliteEngine, name, wrong)
    with nullcontext() if error is None else pytest.raises(error):
        run(stranger, BLOCKS[2])


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
    make = stranger.SqliteEngine
    for table, says in (("seen", "no table 'seen'"), ("none", "no table 'none'")):
        with pytest.raises(SchemaError, match=says):
            make(path, table)
    with pytest.raises(SchemaError, match="no column named 'b'; it has 'a', 'secret'"):
        open_source(make(path, "people"), RULE)
    with pytest.raises(SchemaError, match="cannot read"):
        make(tmp_path / "no.db", "people")
    (tmp_path / "text.db").write_text("a,b\n1,2\n" * 1000)
    with pytest.raises(SchemaError, match="cannot read"):
        make(tmp_path / "text.db", "people")


def test_labels_are_read_as_text(stranger, tmp_path):
    run(stranger, BLOCKS[0])
    path, labels = tmp_path / "a.db", [" yes", "no", None, "other", 3.0] * 40
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE people (age, ill)")
        database.executemany("INSERT INTO people VALUES (?, ?)", list(enumerate(labels)))
        database.commit()
    model = kng.LogisticRegression(
        epsilon=1, classes=("no", "yes"), bounds_X={"age": (0, 200)}, random_state=1
    )
    first = model.fit(stranger.SqliteEngine(path, "people"), target="ill").release_.integers
    in_memory = {"age": list(range(200)), "ill": labels}
    assert model.fit(in_memory, target="ill").release_.integers == first


def test_every_pass_sees_the_records_of_the_first(stranger, tmp_path):
    run(stranger, BLOCKS[0])
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE people (a, b)")
        database.commit()
        source = open_source(stranger.SqliteEngine(path, "people"), RULE)
        database.execute("INSERT INTO people VALUES (1, 2)")
        database.commit()
        assert source.count() == source.sums()[0] == 0
        source.close()
        assert open_source(stranger.SqliteEngine(path, "people"), RULE).sums()[0] == 1


def test_a_table_that_vanishes_after_the_charge_says_nothing(stranger, tmp_path):
    run(stranger, *BLOCKS)
    table = stranger.SqliteEngine(tmp_path / "ages.db", "visits")
    ledger = kng.Ledger(tmp_path / "gone.ledger", cap=1)
    blocks = table.blocks

    def gone(*asked):
        table.close()
        return blocks(*asked)

    table.blocks = gone
    with pytest.raises(kng.KngError, match="failed after it was charged") as failure:
        kng.median(table, bounds={"age": (0, 120)}, epsilon=1, ledger=ledger)
    assert "ages" not in str(failure.value)
    assert ledger.spent == 1
