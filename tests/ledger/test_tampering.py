"""Edits, removals and old copies are found out; crashes and races are not mistaken for them."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace

import pytest

from kng.core.errors import LedgerError, SpecError
from kng.ledger import Ledger, database, rows
from kng.ledger.hash_chain import GENESIS, Link
from kng.ledger.headfile import Head, HeadFile


@pytest.fixture
def ledger(path, event) -> Ledger:
    """One account with three charges, the first two settled: entries 1 to 6."""
    ledger = Ledger(path, cap=1)
    for _ in range(2):
        ledger.settle(ledger.reserve(event(), parameters="{}"), "x")
    ledger.reserve(event(), parameters="{}")
    return ledger


@pytest.fixture
def varied(ledger, path, event) -> Ledger:
    """The same with a share, a request and a dataset: entries 7 and 8."""
    share = Ledger(path, analyst="ann", cap="0.5")
    share.request("q").reserve(event(), parameters="{}", dataset="d")
    return ledger


def both_copied(path, place):
    place.mkdir()
    return [shutil.copy2(file, place) for file in path.parent.glob("budget.db*")]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET body = '{}' WHERE sequence = 2",
        "UPDATE entry SET hash = previous WHERE sequence = 2",
        "DELETE FROM entry WHERE sequence = 6",
        "INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE sequence = 6",
        "INSERT OR REPLACE INTO entry SELECT 7, kind, account, charge, body, hash, hash FROM entry "
        "WHERE sequence = 6",
        "INSERT INTO entry SELECT 9, kind, account, charge, body, hash, previous FROM entry "
        "WHERE sequence = 6",
        "INSERT INTO entry SELECT 7, 'release', account, 1, body, hash, replace(hash, '0', '1') "
        "FROM entry WHERE sequence = 6",
        "INSERT OR REPLACE INTO entry SELECT 7, 'release', account, 2, body, hash, "
        "replace(hash, '0', '1') FROM entry WHERE sequence = 6",
        "UPDATE account SET spent = '0', spent_units = 0",
        "UPDATE account SET cap = '2', cap_units = 2 * cap_units",
        "UPDATE account SET neighbours = 'add-remove'",
        "UPDATE account SET neighbours = NULL",
        "UPDATE account SET records_per_person = 2",
        "UPDATE account SET spent_units = cap_units + 1",
        "DELETE FROM account",
        "UPDATE account SET currency = 'rho'",
        "INSERT OR REPLACE INTO account SELECT name, currency, cap, '0', cap_units, 0, '0', '0', "
        "NULL, NULL, 0 FROM account",
        "INSERT INTO account VALUES ('b', 'rho', '1', '0', 'many', 0, '0', '0', NULL, NULL, 0)",
        "INSERT INTO account VALUES ('b', 'rho', '1', '0', 5, 0, '0', '0', 'both', NULL, 0)",
        "INSERT INTO account VALUES ('b', 'euro', '1', '0', 5, 0, '0', '0', NULL, NULL, 0)",
        "UPDATE share SET spent = '0', spent_units = 0",
        "UPDATE share SET cap = '1', cap_units = 2 * cap_units",
        "DELETE FROM share",
        "UPDATE request SET charge = 2",
        "DELETE FROM request",
        "UPDATE dataset SET account = 'b'",
        "DELETE FROM dataset",
    ],
)
def test_sqlite_refuses_what_a_ledger_never_does(varied, sql, statement) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        sql(statement)
    varied.verify()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE entry SET body = replace(body, '1/10', '1/99') WHERE sequence = 2", "Entry 2"),
        ("UPDATE entry SET body = '{' WHERE sequence = 5", "Entry 5"),
        ('UPDATE entry SET body = \'{"payload":"y"}\' WHERE sequence = 3', "Entry 3"),
        ("UPDATE entry SET account = 'b' WHERE sequence = 2", "Entry 2"),
        ("UPDATE entry SET charge = 6 WHERE sequence = 5", "Entry 5"),
        ("UPDATE entry SET hash = 'x' || substr(hash, 2) WHERE sequence = 3", "Entry 3"),
        ("DELETE FROM entry WHERE sequence = 5", "Entry 5 of the ledger is missing"),
        ("DELETE FROM entry WHERE sequence = 1", "Entry 1 of the ledger is missing"),
        ("UPDATE account SET spent = '1/10'", "edited"),
        ("UPDATE account SET spent = 'x'", "edited"),
        ("UPDATE account SET spent_units = 0", "edited"),
        ("UPDATE account SET cap = '2'", "edited"),
        ("UPDATE account SET cap = '2', cap_units = 2 * cap_units", "not what its history"),
        ("UPDATE account SET neighbours = NULL", "not what its history"),
        (
            "INSERT INTO account VALUES "
            "('b', 'epsilon', '9', '0', 9895604649984, 0, '0', '0', NULL, NULL, 0)",
            "'b'",
        ),
        ("UPDATE account SET rho = '0'", "not what its history"),
        ("UPDATE account SET epsilon = '0'", "not what its history"),
        ("UPDATE share SET spent = '0', spent_units = 0", "not what its history"),
        ("DELETE FROM share", "not what its history"),
        ("DELETE FROM request", "not those of its history"),
        ("DELETE FROM dataset", "not those of its history"),
        ("DROP INDEX entry_by_account", "tables or triggers"),
        ("CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END", "triggers"),
    ],
)
def test_an_edit_without_triggers_is_found(varied, unguarded, statement, says) -> None:
    varied.verify()
    unguarded(statement)
    with pytest.raises(LedgerError, match=says):
        varied.verify()


def test_missing_triggers_are_found(ledger, sql) -> None:
    sql("DROP TRIGGER entry_is_final")
    with pytest.raises(LedgerError, match="tables or triggers"):
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE account SET spent = '0', spent_units = 0",
        "UPDATE entry SET body = '{}' WHERE sequence = 6",
    ],
)
def test_a_charge_does_not_build_on_an_edited_total(ledger, event, unguarded, statement) -> None:
    unguarded(statement)
    with pytest.raises(LedgerError, match="edited"):
        ledger.reserve(event(), parameters="{}")


def test_a_removed_last_entry_is_found_when_opening(ledger, path, event, unguarded) -> None:
    unguarded(
        "DELETE FROM entry WHERE sequence = 6",
        "UPDATE account SET spent = '1/5', spent_units = 219902325555",
    )
    with pytest.raises(LedgerError, match="does not contain entry 6"):
        Ledger(path)
    with pytest.raises(LedgerError, match="does not contain entry 6"):
        ledger.reserve(event(), parameters="{}")


def test_a_chain_forged_from_the_start_is_found(ledger, path, unguarded) -> None:
    """All hashes hold, and all sums: only the remembered head can tell."""
    with database.reading(path) as db:
        kept = [link for link, _ in rows.links(db)]
    previous, statements = GENESIS, []
    for link in kept:
        body = link.body.replace('"kng"', '"gnk"')
        forged = replace(link, body=body, previous=previous)
        previous = forged.hash
        statements.append(
            f"UPDATE entry SET body = '{body}', previous = '{forged.previous}', "
            f"hash = '{forged.hash}' WHERE sequence = {link.sequence}"
        )
    head = ledger.head
    unguarded(*statements)
    with pytest.raises(LedgerError, match="does not contain entry 6"):
        Ledger(path)
    HeadFile(path).path.unlink()
    forged_ledger = Ledger.adopt(path)
    with pytest.raises(LedgerError, match="does not contain the head"):
        forged_ledger.verify(head)


def test_an_entry_sealed_anew_does_not_fit_the_next(ledger, path, unguarded) -> None:
    with database.reading(path) as db:
        link = next(link for link, _ in rows.links(db) if link.sequence == 3)
    forged = replace(link, body='{"payload":"y"}')
    unguarded(f"UPDATE entry SET body = '{forged.body}', hash = '{forged.hash}' WHERE sequence = 3")
    with pytest.raises(LedgerError, match="Entry 4"):
        ledger.verify()


def forge(path, sql, link: Link) -> None:
    """Append an entry whose hash holds and whose content does not."""
    charge = "NULL" if link.charge is None else link.charge
    sql(
        f"INSERT INTO entry VALUES ({link.sequence}, '{link.kind}', '{link.account}', {charge}, "
        f"'{link.body}', '{link.previous}', '{link.hash}')"
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"spent": "1/10"}, "says that 0.1 is spent, not 0.4"),
        ({"epsilon": "2", "width": "2", "spent": "23/10"}, "asks for epsilon 2"),
        ({"guarantee": "simulation", "spent": "2/5"}, "seeded"),
        ({"neighbours": "add-remove", "spent": "2/5"}, "counts 1 times"),
        ({"epsilon": "0", "spent": "3/10"}, "greater than 0"),
        ({"time": "noon"}, "cannot be read"),
    ],
)
def test_a_well_hashed_entry_must_also_add_up(ledger, path, sql, change, says) -> None:
    with database.reading(path) as db:
        *_, (end, _) = rows.links(db)
    body = json.dumps(json.loads(end.body) | change)
    forge(path, sql, replace(end, sequence=7, body=body, previous=end.hash))
    with pytest.raises(LedgerError, match=says):
        ledger.verify()


def test_an_old_copy_is_refused(ledger, path, event, tmp_path) -> None:
    shutil.copy2(path, tmp_path / "backup")
    old = ledger.head
    ledger.reserve(event(), parameters="{}")
    new = ledger.head
    ledger.verify(old)
    shutil.copy2(tmp_path / "backup", path)
    with pytest.raises(LedgerError, match="older copy"):
        Ledger(path)
    with pytest.raises(LedgerError, match="older copy"):
        Ledger(path, cap=5, account="other")
    for use in (
        lambda: ledger.spent,
        ledger.history,
        ledger.verify,
        lambda: ledger.reserve(event(), parameters="{}"),
    ):
        with pytest.raises(LedgerError, match="older copy"):
            use()
    with pytest.raises(LedgerError, match="older copy"):  # adopting is not a way around the head
        Ledger.adopt(path)
    HeadFile(path).path.unlink()
    adopted = Ledger.adopt(path)
    adopted.verify(old)
    with pytest.raises(LedgerError, match="does not contain the head"):
        adopted.verify(new)


def test_a_ledger_that_is_gone_is_not_started_again(ledger, path) -> None:
    path.unlink()
    for cap in (None, 1):
        with pytest.raises(LedgerError, match="Put the ledger back"):
            Ledger(path, cap=cap)
    path.touch()
    with pytest.raises(LedgerError, match="Put the ledger back"):
        Ledger(path, cap=1)
    with pytest.raises(LedgerError, match="is gone"):
        _ = ledger.spent


def test_without_its_head_a_ledger_with_charges_must_be_adopted(ledger, path, event) -> None:
    HeadFile(path).path.unlink()
    for use in (lambda: Ledger(path), lambda: ledger.reserve(event(), parameters="{}")):
        with pytest.raises(LedgerError, match=r"head is missing.*Ledger.adopt"):
            use()
    assert Ledger.adopt(path) == ledger
    assert HeadFile(path).read() == Head(6, ledger.head)
    ledger.reserve(event(), parameters="{}")


def test_adoption_verifies_first(ledger, path, unguarded) -> None:
    HeadFile(path).path.unlink()
    unguarded("DELETE FROM entry WHERE sequence = 6")
    with pytest.raises(LedgerError, match="edited"):
        Ledger.adopt(path)
    assert not HeadFile(path).path.exists()


def test_there_must_be_something_to_adopt(path) -> None:
    with pytest.raises(LedgerError, match="nothing to adopt"):
        Ledger.adopt(path)
    assert not path.exists()


@pytest.mark.parametrize("text", [b"", b"6\n", b"0 " + b"0" * 64 + b"\n", b"\xff" * 80])
def test_a_head_file_that_is_none_is_refused(ledger, path, text) -> None:
    HeadFile(path).path.write_bytes(text)
    with pytest.raises(LedgerError, match="is not the head of a ledger"):
        Ledger(path)


def test_both_files_may_move_together(ledger, path, tmp_path, event) -> None:
    both_copied(path, tmp_path / "new")
    moved = Ledger(tmp_path / "new" / "budget.db")
    moved.reserve(event(), parameters="{}")
    moved.verify(ledger.head)


class PowerCut(BaseException):
    """Stands for a process that ends between the commit and the head file."""


@pytest.fixture
def powerless(monkeypatch):
    """Return a function that runs another one and cuts it off after its commit."""

    def run(action) -> None:
        def cut(*_):
            raise PowerCut

        with monkeypatch.context() as patch:
            patch.setattr(database, "_publish", cut)
            with pytest.raises(PowerCut):
                action()

    return run


def test_a_crash_before_the_head_is_written_is_no_alarm(ledger, path, event, powerless) -> None:
    powerless(lambda: ledger.reserve(event(), parameters="{}"))
    assert HeadFile(path).read().sequence == 6
    assert len(Ledger(path).history()) == 4  # the charge is there, and stays
    ledger.reserve(event(), parameters="{}")
    assert HeadFile(path).read() == Head(8, ledger.head)
    ledger.verify()


def test_crashes_from_the_very_beginning_are_no_alarm(path, event, powerless) -> None:
    powerless(lambda: Ledger(path, cap=1))
    assert HeadFile(path).read() is None
    ledger = Ledger(path)
    powerless(lambda: ledger.reserve(event(), parameters="{}"))
    assert HeadFile(path).read().sequence == 1
    assert Ledger(path, cap=1).spent == ledger.spent == event().epsilon
    ledger.verify()


def test_the_head_is_read_before_the_ledger(ledger, path, event, monkeypatch) -> None:
    """A charge by somebody else, in between, must not look like a lost entry."""
    read, others = HeadFile.read, [ledger]

    def slow(self):
        known = read(self)
        if others:
            others.pop().reserve(event(), parameters="{}")
        return known

    monkeypatch.setattr(HeadFile, "read", slow)
    assert len(ledger.history()) == 4


def test_a_charge_waits_for_who_is_looking(ledger, event, monkeypatch) -> None:
    """So the head, read before the database, is never looked up in an older moment of it."""
    monkeypatch.setattr("kng.ledger.faults.BUSY_SECONDS", 0.1)
    require, others = database._require_ledger, [ledger]

    def slow(*arguments):
        require(*arguments)
        if others:
            with pytest.raises(LedgerError, match="Another program has held"):
                others.pop().reserve(event(), parameters="{}")

    monkeypatch.setattr(database, "_require_ledger", slow)
    assert len(ledger.history()) == 3
    ledger.reserve(event(), parameters="{}")
    assert len(ledger.history()) == 4
    ledger.verify()


def test_the_first_head_may_come_while_somebody_looks(path, event, monkeypatch, powerless) -> None:
    powerless(lambda: Ledger(path, cap=1))
    ledger = Ledger(path)
    read, others = HeadFile.read, [ledger]

    def slow(self):
        known = read(self)
        if others:
            others.pop().reserve(event(), parameters="{}")
        return known

    monkeypatch.setattr(HeadFile, "read", slow)
    assert len(ledger.history()) == 1


def test_the_head_file_never_goes_back(ledger, path, event, monkeypatch) -> None:
    """Who commits first and writes the head last writes the newest one."""
    publish, others = database._publish, [ledger]

    def late(*arguments):
        if others:
            others.pop().reserve(event(), parameters="{}")
        publish(*arguments)

    monkeypatch.setattr(database, "_publish", late)
    ledger.reserve(event(), parameters="{}")
    assert HeadFile(path).read() == Head(8, ledger.head)


def test_an_unwritable_head_is_found_before_the_charge(ledger, path, event) -> None:
    path.with_name("budget.db.head.new").mkdir()
    with pytest.raises(LedgerError, match="nothing was written"):
        ledger.reserve(event(), parameters="{}")
    path.with_name("budget.db.head.new").rmdir()
    assert len(ledger.history()) == 3


def test_a_head_that_cannot_be_published_stops_the_next_charge(
    ledger, path, event, monkeypatch
) -> None:
    """A charge that is committed does not fail for it."""

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", refuse)
        ledger.reserve(event(), parameters="{}")
        with pytest.raises(LedgerError, match="nothing was charged"):
            ledger.reserve(event(), parameters="{}")
    assert len(ledger.history()) == 4
    ledger.reserve(event(), parameters="{}")
    assert HeadFile(path).read() == Head(8, ledger.head)


def test_traces_of_a_crash_have_the_whole_history_read_again(
    ledger, path, event, unguarded
) -> None:
    """An edit far back is left to verify(), but not after a crash."""
    unguarded("UPDATE entry SET body = replace(body, '1/10', '1/99') WHERE sequence = 2")
    ledger.reserve(event(), parameters="{}")
    HeadFile(path).announce(Head(8, "0" * 64))  # and then it was killed
    with pytest.raises(LedgerError, match="Entry 2"):
        ledger.reserve(event(), parameters="{}")


def test_a_second_account_is_part_of_the_chain(ledger, path, unguarded) -> None:
    Ledger(path, cap="1/2", account="other")
    ledger.verify()
    with pytest.raises(SpecError, match=r"has cap 0\.5"):
        Ledger(path, cap=1, account="other")
    unguarded("UPDATE entry SET body = replace(body, '1/2', '9/2') WHERE sequence = 7")
    with pytest.raises(LedgerError, match="Entry 7"):
        ledger.verify()
