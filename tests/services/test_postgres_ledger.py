"""The suite of all ledgers on a PostgreSQL server, and what is special about one."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from ledger.conftest import make_event as event
from ledger.suite import *  # noqa: F403
from ledger.test_processes import hammer, hunt, lines, start
from services.conftest import PASSWORD

from kng.cli.main import main
from kng.core.errors import LedgerError, SpecError
from kng.ledger import Ledger, State


@pytest.fixture(scope="module")
def database(postgres):
    postgres.run("CREATE DATABASE budgets", base="postgres")
    return "budgets"


@pytest.fixture
def base(postgres, database):
    """The name of a database without a ledger."""
    postgres.run("DROP SCHEMA IF EXISTS kng_ledger CASCADE", base=database)
    return database


@pytest.fixture
def place(postgres, base):
    return postgres.address(base=base)


@pytest.fixture
def sql(postgres, base):
    return lambda *statements: postgres.run(*statements, base=base)


@pytest.fixture
def ledger(place) -> Ledger:
    """Entries 1 to 5: an account, a charge and its release, a share and a keyed charge of it."""
    ledger = Ledger(place, cap=1)
    ledger.settle(ledger.reserve(event(), parameters="{}", dataset="d"), "x")
    Ledger(place, analyst="ann", cap="0.5").request("k").reserve(event(), parameters="{}")
    return ledger


def test_eight_processes_charge_exactly_what_fits(place, thorough) -> None:
    hammer(place, 10_000 if thorough else 80)


def test_kill_nine_at_random_moments(place, tmp_path, thorough) -> None:
    rng, journal = random.Random(5), tmp_path / "journal"
    epsilon, packs = Fraction(1, 1000), 40 if thorough else 3
    with start("pack", 5, 1000, epsilon) as pack:
        assert pack.stdout.readline() == "ready\n"
        kills = sum(hunt(pack, place, journal, 4 * (k % 4 > 0), rng) for k in range(packs))
        assert kills == 5 * packs
        pack.stdin.close()
    ledger = Ledger(place)
    ledger.verify()
    history = ledger.history()
    published = lines(journal)
    released = {entry.sequence for entry in history if entry.state is State.RELEASED}
    assert released <= published <= {entry.sequence for entry in history}
    assert ledger.spent == epsilon * len(history)
    assert len(history) > 5


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE kng_ledger.entry SET body = '{}' WHERE sequence = 2",
        "DELETE FROM kng_ledger.entry WHERE sequence = 5",
        "TRUNCATE kng_ledger.entry CASCADE",
        "TRUNCATE kng_ledger.request",
        "INSERT INTO kng_ledger.entry SELECT 9, kind, account, charge, body, hash, previous "
        "FROM kng_ledger.entry WHERE sequence = 5",
        "INSERT INTO kng_ledger.entry SELECT 6, 'release', account, 1, body, hash, "
        "replace(hash, '0', '1') FROM kng_ledger.entry WHERE sequence = 5",
        "UPDATE kng_ledger.account SET spent = '0', spent_units = 0",
        "UPDATE kng_ledger.account SET cap = '2', cap_units = 2 * cap_units",
        "UPDATE kng_ledger.account SET neighbours = 'add-remove'",
        "UPDATE kng_ledger.account SET neighbours = NULL",
        "UPDATE kng_ledger.account SET currency = 'rho'",
        "UPDATE kng_ledger.account SET spent_units = cap_units + 1",
        "UPDATE kng_ledger.share SET spent_units = 0",
        "UPDATE kng_ledger.dataset SET account = 'b'",
        "DELETE FROM kng_ledger.request",
        "DELETE FROM kng_ledger.ledger",
    ],
)
def test_the_server_refuses_what_a_ledger_never_does(ledger, sql, statement) -> None:
    with pytest.raises(Exception, match=r"INTEGRITY|violates|only grows|spends|appended"):
        sql(statement)
    ledger.verify()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE kng_ledger.entry SET body = '{}' WHERE sequence = 2", "Entry 2"),
        ("DELETE FROM kng_ledger.entry WHERE sequence = 3", "Entry 3 of the ledger is missing"),
        ("UPDATE kng_ledger.account SET spent = '0', spent_units = 0", "edited"),
        ("UPDATE kng_ledger.account SET rho = '0'", "not what its history"),
        ("UPDATE kng_ledger.share SET spent = '0', spent_units = 0", "not what its history"),
        ("DELETE FROM kng_ledger.dataset", "not those of its history"),
    ],
)
def test_an_edit_without_triggers_is_found(ledger, sql, statement, says) -> None:
    sql("BEGIN", "SET LOCAL session_replication_role = replica", statement, "COMMIT")
    with pytest.raises(LedgerError, match=says):
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER account_only_spends ON kng_ledger.account",
        "ALTER TABLE kng_ledger.entry DISABLE TRIGGER entry_is_kept_by_row",
        "CREATE OR REPLACE FUNCTION kng_ledger.never() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RETURN NULL; END$$",
        "CREATE RULE quiet AS ON INSERT TO kng_ledger.request DO INSTEAD NOTHING",
    ],
)
def test_other_triggers_are_found(ledger, sql, statement) -> None:
    sql(statement)
    with pytest.raises(LedgerError, match="triggers"):
        ledger.verify()


def test_a_copy_is_refused_until_it_is_adopted_or_restored(postgres, base, ledger) -> None:
    for name in ("adopted", "restored"):
        postgres.run(f"CREATE DATABASE {base}_{name} TEMPLATE {base}", base="postgres")
    ledger.reserve(event("0.3"), parameters="{}")
    adopted, restored = (postgres.address(base=f"{base}_{n}") for n in ("adopted", "restored"))
    for place in (adopted, restored):
        with pytest.raises(LedgerError, match="is a copy"):
            Ledger(place)
        with pytest.raises(LedgerError, match="is a copy"):
            Ledger(place, cap=1, account="new")
    with pytest.raises(LedgerError, match="does not contain the head"):
        Ledger.adopt(adopted).verify(ledger.head)
    assert Ledger(adopted).remaining == Fraction(4, 5)
    assert Ledger.restore(restored).remaining == 0
    Ledger(restored).verify()
    assert ledger.remaining == Fraction(1, 2)


def test_whoever_may_only_read_can_look_and_not_charge(postgres, base, sql, ledger, capsys) -> None:
    sql(
        f"CREATE ROLE {base}_reader LOGIN PASSWORD 'look'",
        f"GRANT USAGE ON SCHEMA kng_ledger TO {base}_reader",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA kng_ledger TO {base}_reader",
    )
    place = postgres.address(user=f"{base}_reader", password="look", base=base)
    for words in ("show", "history", "verify"):
        assert main(["budget", words, place]) == 0
    assert "look" not in capsys.readouterr().out
    with pytest.raises(LedgerError, match="may not do that"):
        Ledger(place).reserve(event(), parameters="{}")
    with pytest.raises(LedgerError, match="may not do that"):
        Ledger(place).close_account()
    assert len(ledger.history()) == 2


def test_whoever_may_charge_need_not_own_it(postgres, base, sql, ledger) -> None:
    """The rights that docs/ledger.md lists are enough, and do not reach the history."""
    role = f"{base}_writer"
    sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'pay'",
        f"GRANT USAGE ON SCHEMA kng_ledger TO {role}",
        f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA kng_ledger TO {role}",
        f"GRANT UPDATE ON kng_ledger.account, kng_ledger.share, kng_ledger.ledger TO {role}",
    )
    writer = Ledger(postgres.address(user=role, password="pay", base=base))
    writer.settle(writer.reserve(event(), parameters="{}"), "x")
    Ledger(postgres.address(user=role, password="pay", base=base), cap=1, account="b")
    ledger.verify()


def test_a_locked_ledger_is_told_after_a_while(postgres, base, ledger, monkeypatch) -> None:
    from adbc_driver_postgresql import dbapi

    monkeypatch.setattr("kng.ledger.faults.BUSY_SECONDS", 0.2)
    with dbapi.connect(postgres.address(base=base)) as other, other.cursor() as cursor:
        cursor.execute("SELECT * FROM kng_ledger.ledger FOR UPDATE")
        cursor.fetchall()
        with pytest.raises(LedgerError, match="Another program has held"):
            ledger.reserve(event(), parameters="{}")
        assert len(ledger.history()) == 2  # looking does not wait
        other.rollback()
    ledger.reserve(event(), parameters="{}")


def test_no_password_is_shown(postgres, base, ledger) -> None:
    assert PASSWORD not in repr(ledger) + ledger.called
    assert base in ledger.called
    with pytest.raises(SpecError, match="has no path"):
        _ = ledger.path
    for place in (
        postgres.address(base="nowhere"),
        postgres.address(password="wrong-4711", base=base),
        postgres.address(base=base).replace(str(postgres.port), "1"),
    ):
        with pytest.raises(LedgerError, match="cannot connect to the server") as e:
            Ledger(place, cap=1)
        assert "4711" not in str(e.value)


def test_an_empty_database_holds_no_ledger(place, sql) -> None:
    with pytest.raises(SpecError, match=r"kng\.Ledger\('postgresql://\.\.\.', cap=1\)"):
        Ledger(place)
    assert sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'kng_ledger'") == [(0,)]
    with pytest.raises(LedgerError, match="nothing to adopt"):
        Ledger.adopt(place)


def test_another_format_is_refused(ledger, place, sql) -> None:
    sql("UPDATE kng_ledger.ledger SET version = 2")
    with pytest.raises(LedgerError, match="another version of kng"):
        Ledger(place)
    with pytest.raises(LedgerError, match="another version of kng"):
        ledger.reserve(event(), parameters="{}")


def test_at_the_shell(place, tmp_path, capsys) -> None:
    ages = tmp_path / "ages.csv"
    ages.write_text("age\n" + "\n".join(map(str, range(20, 80))))
    assert main(["budget", "create", place, "--epsilon", "1"]) == 0
    assert main(["budget", "create", place, "--epsilon", "1"]) == 2
    words = ["median", str(ages), "--column", "age", "--bounds", "0:120", "--epsilon", "0.25"]
    words += ["--ledger", place, "--request-key", "first"]
    assert main(words) == main(words) == 0
    out = capsys.readouterr()
    assert "answered before as entry 2: nothing was charged" in out.out
    assert PASSWORD not in out.out + out.err
    assert Ledger(place).spent == Fraction(1, 4)
