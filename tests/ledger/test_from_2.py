"""Ledgers of format 2 are read as they are, and become ledgers of this version at a change."""

from __future__ import annotations

import zipfile
from fractions import Fraction as F
from pathlib import Path

import pytest

from kng.core.errors import LedgerError
from kng.ledger import Ledger
from kng.ledger.headfile import HeadFile

HEAD = "fde40ccb144bbc4b9354e10d75467c9479861ed808885ede7347dfaa6e789325"


@pytest.fixture
def old(tmp_path) -> Path:
    with zipfile.ZipFile(Path(__file__).with_name("ledgers_of_2.zip")) as kept:
        kept.extractall(tmp_path)
    return tmp_path / "two.ledger"


def version(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[60:64], "big")


def test_looking_changes_nothing(old) -> None:
    before = old.read_bytes()
    one, two = Ledger(old), Ledger(old, account="b")
    assert (one.cap, one.spent, one.epsilon) == (1, F(13, 30), F(13, 30))
    assert one.rho == F(1, 25) / 8 + F(1, 9) / 8
    assert (one.neighbours, one.currency, one.closed) == ("add-remove", "epsilon", False)
    assert (two.spent, two.rho, two.records_per_person) == (F(1, 2), F(1, 32), 3)
    assert [entry.steps for entry in one.history()] == [1, 1]
    assert one.release_of(one.history()[0].sequence) == "answer"
    one.verify(HEAD)
    assert (old.read_bytes(), version(old), one.head) == (before, 2, HEAD)


def test_the_first_change_migrates(old, event) -> None:
    one = Ledger(old)
    one.request("k").reserve(event("0.1", neighbours="add-remove"), parameters="{}")
    assert (version(old), one.spent) == (3, F(16, 30))
    Ledger(old, account="b", analyst="ann", cap="0.5")
    Ledger(old, account="b").close_account()
    one.verify(HEAD)
    assert one.release_of(one.history()[0].sequence) == "answer"
    assert {file.name for file in old.parent.iterdir()} == {"two.ledger", "two.ledger.head"}


@pytest.mark.parametrize("change", [Ledger.adopt, Ledger.restore])
def test_adopting_and_restoring_migrate(old, change) -> None:
    HeadFile(old).path.unlink()
    with pytest.raises(LedgerError, match="head is missing"):
        Ledger(old)
    assert change(old).neighbours == "add-remove"
    assert version(old) == 3
    Ledger(old).verify(HEAD)


def test_an_edited_one_is_not_migrated_by_adoption(old) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(old, isolation_level=None)) as db:
        db.execute("DROP TRIGGER entry_is_final")
        db.execute("UPDATE entry SET body = replace(body, '1/10', '1/99') WHERE sequence = 2")
    for change in (Ledger.adopt, Ledger.restore):
        with pytest.raises(LedgerError, match="tables or triggers"):
            change(old)
    assert version(old) == 2
