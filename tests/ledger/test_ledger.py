"""Opening, charging, settling and reading."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from kng.core.errors import (
    BudgetError,
    KngError,
    LedgerError,
    SpecError,
    SpecTypeError,
)
from kng.core.payment import Ledger as LedgerProtocol
from kng.core.privacy import Guarantee
from kng.ledger import Ledger, State


def test_a_new_account_has_all_of_its_cap(path) -> None:
    ledger: LedgerProtocol = Ledger(path, cap="1/3")
    assert (ledger.cap, ledger.spent, ledger.remaining) == (Fraction(1, 3), 0, Fraction(1, 3))
    assert isinstance(ledger.spent, Fraction)
    assert (ledger.path, ledger.account) == (path, "default")
    assert ledger.history() == []
    ledger.verify()


@pytest.mark.parametrize("cap", [10, 0.1, "1/3", Fraction(2, 7), 2**22])
def test_a_cap_is_read_as_written_and_kept(path, cap) -> None:
    Ledger(path, cap=cap)
    assert Ledger(path, cap=cap).cap == Fraction(str(cap))
    assert Ledger(path).cap == Fraction(str(cap))


def test_a_cap_never_changes(path) -> None:
    Ledger(path, cap=10)
    with pytest.raises(
        SpecError, match=r"has cap 10, not 20\. That never changes; open it without"
    ):
        Ledger(path, cap=20)
    assert Ledger(path).cap == 10


def test_a_ledger_that_does_not_exist_needs_a_cap(path) -> None:
    with pytest.raises(SpecError, match=r"kng\.Ledger\(.*, cap=1\)"):
        Ledger(path)
    assert not path.exists()


def test_an_account_that_does_not_exist_needs_a_cap(path) -> None:
    Ledger(path, cap=1)
    with pytest.raises(SpecError, match=r"no account 'other' yet.*account='other', cap=1\)"):
        Ledger(path, account="other")


@pytest.mark.parametrize("cap", [0, -1, "x", 2**22 + 1, float("nan"), True, [1]])
def test_a_bad_cap_makes_no_file(path, cap) -> None:
    with pytest.raises(KngError, match="cap"):
        Ledger(path, cap=cap)
    assert not path.exists()


def test_ten_tenths_fit_a_cap_of_one(path, event) -> None:
    ledger = Ledger(path, cap=1)
    for _ in range(10):
        ledger.reserve(event(0.1), parameters="{}")
    assert (ledger.spent, ledger.remaining) == (1, 0)
    with pytest.raises(BudgetError, match="is spent"):
        ledger.reserve(event("1e-18"), parameters="{}")
    ledger.verify()


def test_a_refused_charge_writes_nothing(path, event, sql) -> None:
    ledger = Ledger(path, cap=1)
    ledger.reserve(event("0.7"), parameters="{}")
    before = sql("SELECT * FROM account", "SELECT * FROM entry")
    with pytest.raises(
        BudgetError, match=r"asks for epsilon 0.4, .* has 0.3 left .* cap of 1"
    ) as e:
        ledger.reserve(event("0.4"), parameters="{}")
    assert (e.value.requested, e.value.remaining) == (Fraction(2, 5), Fraction(3, 10))
    assert sql("SELECT * FROM account", "SELECT * FROM entry") == before
    ledger.reserve(event("0.3"), parameters="{}")


@pytest.mark.parametrize("epsilon", [Fraction(10) ** 299, Fraction(10**5300 + 1, 10**5001)])
def test_an_absurd_epsilon_is_refused_like_any_other(path, event, epsilon) -> None:
    with pytest.raises(BudgetError, match=r"asks for epsilon about 1e\+299"):
        Ledger(path, cap=1).reserve(event(epsilon), parameters="{}")


def test_an_epsilon_of_endless_digits_is_rounded_up(path, event) -> None:
    ledger = Ledger(path, cap=1)
    ledger.reserve(event("1e-200"), parameters="{}")
    assert ledger.spent == Fraction(1, 10**30)
    ledger.reserve(event(Fraction(10**5000 + 1, 2 * 10**5000)), parameters="{}")
    assert ledger.spent == Fraction(1, 2) + Fraction(2, 10**30)
    ledger.verify()


@pytest.mark.parametrize(
    ("guarantee", "says"),
    [(Guarantee.SIMULATION, "random_state=None"), (Guarantee.APPROXIMATE, "no certificate")],
)
def test_what_is_not_certified_is_refused(path, event, guarantee, says) -> None:
    ledger = Ledger(path, cap=1)
    with pytest.raises(SpecError, match=says):
        ledger.reserve(event(guarantee=guarantee), parameters="{}")
    assert ledger.history() == []


def test_what_is_certified_is_booked(path, event) -> None:
    ledger = Ledger(path, cap=1)
    for guarantee in (Guarantee.EXACT, Guarantee.IDEAL):
        ledger.reserve(event(guarantee=guarantee), parameters="{}")
    assert [entry.guarantee for entry in ledger.history()] == [Guarantee.EXACT, Guarantee.IDEAL]


def test_the_history_tells_each_charge(path, event) -> None:
    ledger = Ledger(path, cap=1)
    start = datetime.now(UTC).replace(microsecond=0)
    first = ledger.reserve(event("1/3", width=Fraction(2, 3)), parameters='{"q": "½"}')
    second = ledger.reserve(event("0.1", mechanism="knorm"), parameters="")
    ledger.settle(second, "the answer \u2028 \ud800 \x00")
    one, two = ledger.history()
    assert (one.sequence, one.hash) == (first.sequence, first.hash)
    assert (one.epsilon, one.width) == (Fraction(1, 3), Fraction(2, 3))
    assert (one.parameters, two.mechanism) == ('{"q": "½"}', "knorm")
    assert [one.state, two.state] == ["charged", State.RELEASED]
    assert start <= one.time <= two.time <= datetime.now(UTC)
    with pytest.raises(FrozenInstanceError):
        one.epsilon = Fraction(0)
    assert ledger.release_of(one.sequence) is None
    assert ledger.release_of(two.sequence) == "the answer \u2028 \ud800 \x00"
    ledger.verify()


def test_a_charge_is_settled_once(path, event) -> None:
    ledger = Ledger(path, cap=1)
    charge = ledger.reserve(event(), parameters="{}")
    ledger.settle(charge, "a")
    with pytest.raises(SpecError, match="settled already"):
        ledger.settle(charge, "b")
    assert ledger.release_of(charge.sequence) == "a"
    ledger.verify()


def test_a_charge_is_settled_where_it_was_booked(path, event, tmp_path) -> None:
    ledger, twin = Ledger(path, cap=1), Ledger(tmp_path / "twin.db", cap=1)
    neighbour = Ledger(path, cap=1, account="other")
    twin.reserve(event(), parameters="{}")
    assert twin.reserve(event(), parameters="{}").sequence == 3
    charge = ledger.reserve(event(), parameters="{}")
    assert charge.sequence == 3
    for elsewhere in (twin, neighbour):
        with pytest.raises(SpecError, match="was not booked"):
            elsewhere.settle(charge, "a")
    with pytest.raises(SpecError, match="was not booked"):
        ledger.settle(replace(charge, sequence=10**6), "a")
    with pytest.raises(SpecTypeError, match="what reserve"):
        ledger.settle(object(), "a")


def test_the_release_of_what_is_no_charge_is_refused(path, event) -> None:
    ledger = Ledger(path, cap=1)
    for sequence in (1, 2, 10**30):  # entry 1 opened the account
        with pytest.raises(SpecError, match="is not a charge"):
            ledger.release_of(sequence)


def test_the_first_charge_fixes_the_relation(path, event) -> None:
    ledger = Ledger(path, cap=1)
    assert (ledger.neighbours, ledger.records_per_person) == (None, None)
    ledger.reserve(event(records_per_person=3), parameters="{}")
    assert (ledger.neighbours, ledger.records_per_person) == ("replace-one", 3)
    Ledger(path, neighbours="replace-one", records_per_person=3)
    with pytest.raises(SpecError, match="has neighbours replace-one, not add-remove"):
        Ledger(path, neighbours="add-remove")
    ledger.verify()


def test_opening_may_fix_the_relation(path, event) -> None:
    ledger = Ledger(path, cap=1, neighbours="add-remove")
    with pytest.raises(SpecError, match="Release with neighbours='add-remove'"):
        ledger.reserve(event(), parameters="{}")
    ledger.reserve(event(neighbours="add-remove", records_per_person=2), parameters="{}")
    assert ledger.records_per_person == 2
    ledger.verify()


def test_a_relation_is_not_fixed_in_passing(path) -> None:
    Ledger(path, cap=1)
    with pytest.raises(SpecError, match="no neighbours yet"):
        Ledger(path, neighbours="add-remove")


def test_accounts_of_one_file_are_apart(path, event) -> None:
    one = Ledger(path, cap=1, account="one")
    two = Ledger(path, cap=2, account="zwei 二")
    one.reserve(event("1"), parameters="{}")
    two.reserve(event("0.5", neighbours="add-remove"), parameters="{}")
    assert (one.remaining, two.remaining) == (0, Fraction(3, 2))
    assert len(one.history()) == len(two.history()) == 1
    assert one.head == two.head
    one.verify()


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x00b", "\ud800", "x" * 201])
def test_a_bad_account_name_is_refused(path, name) -> None:
    with pytest.raises(SpecError, match="account must be a name"):
        Ledger(path, cap=1, account=name)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"account": 3}, SpecTypeError),
        ({"neighbours": "both"}, SpecError),
        ({"neighbours": ["replace-one"]}, SpecError),
        ({"records_per_person": 0}, SpecError),
        ({"records_per_person": 1.5}, SpecError),
        ({"records_per_person": 10**30}, SpecError),
    ],
)
def test_bad_arguments_make_no_file(path, arguments, error) -> None:
    with pytest.raises(error):
        Ledger(path, cap=1, **arguments)
    assert not path.exists()


@pytest.mark.parametrize("bad", [None, 3, b"x", "a\x00b"])
def test_a_path_that_is_none_is_refused(bad) -> None:
    with pytest.raises(KngError, match="path must name a file"):
        Ledger(bad, cap=1)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"neighbours": "both"}, SpecError),
        ({"guarantee": "certain"}, SpecError),
        ({"width": Fraction(1, 4)}, SpecError),
        ({"mechanism": 3}, SpecTypeError),
        ({"records_per_person": 0}, SpecError),
    ],
)
def test_a_malformed_event_is_refused(path, event, change, error) -> None:
    ledger = Ledger(path, cap=1)
    with pytest.raises(error):
        ledger.reserve(event(**change), parameters="{}")
    assert ledger.spent == 0


def test_what_is_no_event_or_no_text_is_refused(path, event) -> None:
    ledger = Ledger(path, cap=1)
    with pytest.raises(SpecTypeError, match="PrivacyEvent"):
        ledger.reserve(0.1, parameters="{}")
    with pytest.raises(SpecTypeError, match="parameters must be a string"):
        ledger.reserve(event(), parameters={"q": 1})
    charge = ledger.reserve(event(), parameters="{}")
    with pytest.raises(SpecTypeError, match="payload must be a string"):
        ledger.settle(charge, 3.5)


def test_the_file_is_durable_and_marked(path, sql) -> None:
    Ledger(path, cap=1)
    assert sql("PRAGMA journal_mode") == [("delete",)]
    assert sql("PRAGMA application_id") == [(int.from_bytes(b"kng$", "big"),)]
    assert sql("PRAGMA user_version") == [(3,)]


def test_nothing_but_the_ledger_and_its_head_is_left(path, event) -> None:
    ledger = Ledger(path, cap=1)
    ledger.settle(ledger.reserve(event(), parameters="{}"), "x")
    assert {file.name for file in path.parent.iterdir()} == {"budget.db", "budget.db.head"}


def test_an_empty_file_becomes_a_ledger(path) -> None:
    path.touch()
    with pytest.raises(SpecError, match=r"kng\.Ledger\(.*, cap=1\)"):
        Ledger(path)
    assert Ledger(path, cap=1).remaining == 1


def test_odd_file_names_work(tmp_path, event) -> None:
    for name in ("a b?c#d%20&mode=ro.db", ":memory:", "\udcff.db"):
        ledger = Ledger(tmp_path / name, cap=1)
        ledger.reserve(event(), parameters="{}")
        assert (tmp_path / name).exists()
        ledger.verify()


def test_text_is_not_a_ledger_and_stays_as_it_is(path) -> None:
    path.write_text("name,age\nAnn,31\n" * 100)
    before = path.read_bytes()
    for cap in (None, 1):
        with pytest.raises(LedgerError, match="is not a kng ledger"):
            Ledger(path, cap=cap)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["budget.db"]


@pytest.mark.parametrize("setup", ["CREATE TABLE t (x)", "PRAGMA application_id = 7"])
def test_a_foreign_database_stays_as_it_is(path, sql, setup) -> None:
    sql(setup)
    before = path.read_bytes()
    for cap in (None, 1):
        with pytest.raises(LedgerError, match="but not a kng ledger"):
            Ledger(path, cap=cap)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["budget.db"]


def test_a_newer_format_is_refused(path, sql) -> None:
    ledger = Ledger(path, cap=1)
    sql("PRAGMA user_version = 4")
    with pytest.raises(LedgerError, match="another version of kng"):
        Ledger(path)
    with pytest.raises(LedgerError, match="another version of kng"):
        _ = ledger.spent


def test_a_directory_is_not_a_ledger(tmp_path) -> None:
    with pytest.raises(LedgerError, match="is a directory"):
        Ledger(tmp_path, cap=1)


def test_a_missing_directory_is_told(tmp_path) -> None:
    with pytest.raises(LedgerError, match="Check that its directory exists"):
        Ledger(tmp_path / "none" / "budget.db", cap=1)


def test_a_file_in_place_of_a_directory_is_told(tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match="Not a directory"):
        Ledger(tmp_path / "file" / "budget.db", cap=1)


def test_a_damaged_file_is_told(path, event) -> None:
    ledger = Ledger(path, cap=1)
    for _ in range(5):
        ledger.reserve(event(), parameters="x" * 2000)
    raw = bytearray(path.read_bytes())
    raw[4096:] = bytes(len(raw) - 4096)
    path.write_bytes(raw)
    with pytest.raises(LedgerError):
        Ledger(path)
    with pytest.raises(LedgerError):
        ledger.verify()


def test_a_locked_ledger_is_told_after_a_while(path, event, monkeypatch) -> None:
    ledger = Ledger(path, cap=1)
    monkeypatch.setattr("kng.ledger.faults.BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="Another program has held"):
            ledger.reserve(event(), parameters="{}")
        assert ledger.spent == 0  # reading does not wait
    ledger.reserve(event(), parameters="{}")


def test_an_old_sqlite_is_told(path, monkeypatch) -> None:
    monkeypatch.setattr("kng.ledger.database._OLDEST_SQLITE", (99, 0))
    with pytest.raises(LedgerError, match="needs SQLite"):
        Ledger(path, cap=1)
