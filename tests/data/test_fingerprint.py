"""The fingerprint of a dataset: where it is, what its columns are, and nothing of its records."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

import kng
from kng.data.engine import Column, Kind
from kng.data.fingerprint import fingerprint
from kng.data.table import Table

COLUMNS = (Column("age", Kind.NUMBER), Column("pay", Kind.NUMBER))


def mark(*arguments, columns=COLUMNS, **stated):
    return fingerprint(Table(*arguments, **stated), columns)


def test_contents_size_and_time_change_nothing(tmp_path) -> None:
    file, ledger = tmp_path / "a.csv", kng.Ledger(tmp_path / "a.ledger", cap=10)
    for text in ("age\n1\n", "age\n5\n6\n7\n"):
        file.write_text(text)
        os.utime(file, (1, 1))
        kng.median(file, bounds={"age": (0, 9)}, epsilon="0.5", ledger=ledger)
    other = kng.Ledger(tmp_path / "a.ledger", cap=10, account="other")
    with pytest.raises(kng.KngError, match="charged to account 'default'"):
        kng.median(file, bounds={"age": (0, 9)}, epsilon="0.5", ledger=other)
    file.write_text("age,pay\n1,2\n")  # other columns: another dataset
    kng.median(file, bounds={"age": (0, 9)}, epsilon="0.5", ledger=other)
    ledger.verify()


def test_data_in_memory_have_no_place(tmp_path) -> None:
    one = kng.Ledger(tmp_path / "a.ledger", cap=10)
    two = kng.Ledger(tmp_path / "a.ledger", cap=10, account="two")
    for data in (np.arange(5.0), pd.DataFrame({"age": [1, 2]})):
        for ledger in (one, two):
            kng.median(data, bounds=(0, 9), epsilon="0.5", ledger=ledger)
    assert one.spent == two.spent == 1


def test_the_same_place_has_one_mark(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    marks = {mark(tmp_path / "a.csv"), mark("a.csv"), mark("./a.csv"), mark("link.csv")}
    assert len(marks) == 1
    assert mark("b.csv") not in marks
    assert mark("a.csv", columns=COLUMNS[:1]) not in marks
    assert mark("a.csv", columns=(Column("age", Kind.TEXT), COLUMNS[1])) not in marks
    assert mark("-") is None
    assert mark(np.zeros(3)) is None


def test_an_address_counts_without_who_reads_it() -> None:
    server = "postgresql://{}host/base{}"
    same = [server.format(who, "") for who in ("", "ann@", "bob:secret@")]
    same += ["postgresql://host:5432/base", server.format("", "?sslmode=require&user=ann")]
    assert len({mark(address, table="t") for address in same}) == 1
    assert mark(same[0], table="u") != mark(same[0], table="t")
    assert mark("postgresql://host/other", table="t") != mark(same[0], table="t")
    # A password with a / in it would be taken for a part of the address.
    assert mark("postgresql://bob:se/cret@host/base", table="t") is None
    assert mark(None, query="SELECT 1") != mark(None, query="SELECT 2")
