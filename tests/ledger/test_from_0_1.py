"""Ledgers of kng 0.1, in WAL mode, become ledgers of this version at their first charge."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from ledger.test_names import share

from kng.core.errors import BudgetError, LedgerError
from kng.ledger import Ledger, database
from kng.ledger.headfile import Head, HeadFile
from kng.ledger.schema import APPLICATION_ID

CHARGES = {"clean": 2, "crashed": 4}


@pytest.fixture(params=CHARGES)
def name(request) -> str:
    return request.param


@pytest.fixture
def old(tmp_path, name) -> Path:
    with zipfile.ZipFile(Path(__file__).with_name("ledgers_of_0_1.zip")) as kept:
        kept.extractall(tmp_path)
    return tmp_path / f"{name}.ledger"


def marks(path: Path) -> tuple[str, int]:
    """Return the journal mode and the format of a file."""
    raw = path.read_bytes()
    mode = {b"\1\1": "delete", b"\2\2": "wal"}[raw[18:20]]
    assert int.from_bytes(raw[68:72], "big") == APPLICATION_ID
    return mode, int.from_bytes(raw[60:64], "big")


def beside(path: Path) -> set[str]:
    return {file.name.removeprefix(path.name) for file in path.parent.glob(path.name + "*")}


def test_the_ledgers_are_those_of_0_1(old, name) -> None:
    assert marks(old) == ("wal", 1)
    assert ("-wal" in beside(old)) == (name == "crashed")


def test_looking_finds_every_charge_and_changes_no_format(old, name) -> None:
    ledger = Ledger(old)
    assert len(ledger.history()) == CHARGES[name]
    assert (ledger.cap, ledger.spent) == (1, Fraction(CHARGES[name], 10))
    assert ledger.release_of(2) == "answer 2"
    ledger.verify()
    assert marks(old) == ("wal", 1)


def test_the_first_charge_migrates(old, name, event) -> None:
    ledger = Ledger(old)
    head = ledger.head
    ledger.settle(ledger.reserve(event(), parameters="{}"), "new")
    assert marks(old) == ("delete", 3)
    assert beside(old) == {"", ".head"}
    assert HeadFile(old).read() == Head(CHARGES[name] + 4, ledger.head)
    assert [entry.parameters for entry in ledger.history()][-1] == "{}"
    ledger.verify(head)
    for _ in range(9 - CHARGES[name]):
        ledger.reserve(event(), parameters="{}")
    with pytest.raises(BudgetError):
        ledger.reserve(event(), parameters="{}")
    ledger.verify(head)


def test_a_new_account_migrates(old, name) -> None:
    Ledger(old, cap=3, account="other")
    assert marks(old) == ("delete", 3)
    assert Ledger(old).spent == Fraction(CHARGES[name], 10)


def test_a_refused_charge_does_not_migrate_by_halves(old, name, event) -> None:
    with pytest.raises(BudgetError):
        Ledger(old).reserve(event("2"), parameters="{}")
    assert marks(old)[1] == 1  # whoever comes next, 0.1 or this version, finds its own
    assert len(Ledger(old).history()) == CHARGES[name]
    Ledger(old).reserve(event(), parameters="{}")
    assert marks(old) == ("delete", 3)


@pytest.mark.parametrize("moment", ["charging", "_publish"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_while_it_migrates(old, name, event, moment: str) -> None:
    """Before the commit and after it, with the log already brought in."""

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    ledger, kept = Ledger(old), CHARGES[name]
    if (child := os.fork()) == 0:
        if moment == "charging":
            HeadFile.announce = die
        else:
            database._publish = die
        ledger.reserve(event(), parameters="{}")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert len(ledger.history()) == kept + (moment == "_publish")
    ledger.reserve(event(), parameters="{}")
    assert marks(old) == ("delete", 3)
    ledger.verify()


def test_several_processes_make_the_first_charge(old, name) -> None:
    """To leave WAL mode one must be alone, so they have to make way for each other."""
    rest = 10 - CHARGES[name]
    booked, refusals = share(*[([], old)] * 4, attempts=5, cap="1", epsilon="1/10")
    assert (booked, refusals) == (rest, set())
    Ledger(old).verify()
    assert marks(old) == ("delete", 3)


@pytest.mark.skipif(not hasattr(os, "link"), reason="needs hard links")
def test_with_a_second_name_it_stays_as_it_is(old, event) -> None:
    """The log may lie under either name, so none is brought in."""
    ledger = Ledger(old)
    os.link(old, old.with_name("other"))
    with pytest.raises(LedgerError, match="has 2 names"):
        ledger.reserve(event(), parameters="{}")
    assert marks(old) == ("wal", 1)


def test_it_waits_for_those_who_look_in_the_old_way(old, event, monkeypatch) -> None:
    monkeypatch.setattr("kng.ledger.faults.BUSY_SECONDS", 0.2)
    with closing(sqlite3.connect(old)) as db:
        db.execute("BEGIN")
        db.execute("SELECT * FROM entry").fetchall()
        with pytest.raises(LedgerError, match="Another program has held"):
            Ledger(old).reserve(event(), parameters="{}")
    Ledger(old).reserve(event(), parameters="{}")


def test_somebody_turned_it_back_to_wal(path, event, sql) -> None:
    ledger = Ledger(path, cap=1)
    assert sql("PRAGMA journal_mode = WAL") == [("wal",)]
    ledger.reserve(event(), parameters="{}")
    assert marks(path) == ("delete", 3)
    assert ledger.spent == event().epsilon


def without(path: Path, *ends: str) -> Callable[[], None]:
    """Move a ledger to another directory, and leave some of its files behind."""
    place = path.parent / "elsewhere"
    place.mkdir()
    for end in {"", ".head", "-wal", "-shm"} - {*ends}:
        if path.with_name(path.name + end).exists():
            shutil.move(path.with_name(path.name + end), place)
    return lambda: Ledger(place / path.name)


@pytest.mark.parametrize("name", ["crashed"])
def test_without_its_log_it_is_an_older_copy(old) -> None:
    with pytest.raises(LedgerError, match="older copy"):
        without(old, "-wal", "-shm")()


def test_without_its_head_it_is_refused(old) -> None:
    with pytest.raises(LedgerError, match=r"head is missing"):
        without(old, ".head")()
