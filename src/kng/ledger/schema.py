"""The tables of a ledger file, and the rules that SQLite itself keeps.

``entry`` is the history: it can only be appended to, in order. The other tables are what the
history adds up to: of an account or an analyst's share only totals may change, and only upwards; a
relation that is not fixed yet may become fixed, and an account may be closed. The triggers stop
slips and bugs. Whoever drops them and edits a row is found out by the hash chain.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

from kng.ledger import rows, schema_of_2
from kng.ledger.accepting import RELATIONS
from kng.ledger.account import Currency
from kng.ledger.hash_chain import GENESIS

APPLICATION_ID = int.from_bytes(b"kng$", "big")
VERSION = 3
# 1: kng 0.1, in WAL mode, with a head file that may be behind. 2: the same tables, with a rollback
# journal and a head file that is exact.
READABLE = (1, 2, VERSION)

_RELATIONS = ", ".join(f"'{name}'" for name in RELATIONS)
_CURRENCIES = ", ".join(f"'{each.value}'" for each in Currency)

TABLES = (
    f"""CREATE TABLE account (
    name TEXT NOT NULL PRIMARY KEY,
    currency TEXT NOT NULL CHECK (currency IN ({_CURRENCIES})),
    cap TEXT NOT NULL,
    spent TEXT NOT NULL,
    cap_units INTEGER NOT NULL,
    spent_units INTEGER NOT NULL,
    epsilon TEXT,
    rho TEXT NOT NULL,
    neighbours TEXT CHECK (neighbours IN ({_RELATIONS})),
    records_per_person INTEGER CHECK (records_per_person >= 1),
    closed INTEGER NOT NULL CHECK (closed IN (0, 1)),
    CHECK (0 <= spent_units AND spent_units <= cap_units)
) STRICT""",
    """CREATE TABLE entry (
    sequence INTEGER NOT NULL PRIMARY KEY CHECK (sequence >= 1),
    kind TEXT NOT NULL CHECK (kind IN ('account', 'charge', 'release', 'share', 'loss', 'close')),
    account TEXT NOT NULL REFERENCES account (name),
    charge INTEGER UNIQUE REFERENCES entry (sequence),
    body TEXT NOT NULL,
    previous TEXT NOT NULL CHECK (length(previous) = 64),
    hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
    CHECK ((kind = 'release') = (charge IS NOT NULL))
) STRICT""",
    """CREATE TABLE share (
    account TEXT NOT NULL REFERENCES account (name),
    analyst TEXT NOT NULL,
    cap TEXT NOT NULL,
    spent TEXT NOT NULL,
    cap_units INTEGER NOT NULL,
    spent_units INTEGER NOT NULL,
    PRIMARY KEY (account, analyst),
    CHECK (0 <= spent_units AND spent_units <= cap_units)
) STRICT""",
    """CREATE TABLE dataset (
    fingerprint TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (name)
) STRICT""",
    """CREATE TABLE request (
    account TEXT NOT NULL REFERENCES account (name),
    key TEXT NOT NULL,
    charge INTEGER NOT NULL UNIQUE REFERENCES entry (sequence),
    PRIMARY KEY (account, key)
) STRICT""",
    "CREATE INDEX entry_by_account ON entry (account, kind, sequence)",
)


def _fixed(table: str) -> tuple[str, ...]:
    """Return the rules of a table whose rows never change."""
    return (
        f"CREATE TRIGGER {table}_is_kept BEFORE DELETE ON {table}\n"
        f"BEGIN SELECT RAISE (ABORT, 'a {table} is never removed'); END",
        f"CREATE TRIGGER {table}_is_final BEFORE UPDATE ON {table}\n"
        f"BEGIN SELECT RAISE (ABORT, 'a {table} is never changed'); END",
    )


RULES = (
    # The EXISTS clauses are for INSERT OR REPLACE, which deletes rows without asking a trigger.
    f"""CREATE TRIGGER entry_is_appended BEFORE INSERT ON entry
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entry)
    OR NEW.previous IS NOT
        coalesce((SELECT hash FROM entry ORDER BY sequence DESC LIMIT 1), '{GENESIS}')
    OR EXISTS (SELECT 1 FROM entry WHERE charge = NEW.charge OR hash = NEW.hash)
BEGIN SELECT RAISE (ABORT, 'an entry is appended to the end of the chain'); END""",
    """CREATE TRIGGER release_has_a_charge BEFORE INSERT ON entry
WHEN NEW.kind = 'release' AND NOT EXISTS (
    SELECT 1 FROM entry
    WHERE sequence = NEW.charge AND kind = 'charge' AND account = NEW.account)
BEGIN SELECT RAISE (ABORT, 'a release settles a charge of its account'); END""",
    *_fixed("entry"),
    *_fixed("dataset"),
    *_fixed("request"),
    """CREATE TRIGGER account_starts_unspent BEFORE INSERT ON account
WHEN NEW.spent <> '0' OR NEW.spent_units <> 0
    OR EXISTS (SELECT 1 FROM account WHERE name = NEW.name)
BEGIN SELECT RAISE (ABORT, 'an account is opened once, with nothing spent'); END""",
    """CREATE TRIGGER account_is_kept BEFORE DELETE ON account
BEGIN SELECT RAISE (ABORT, 'an account is never removed'); END""",
    """CREATE TRIGGER account_only_spends BEFORE UPDATE ON account
WHEN NEW.name IS NOT OLD.name OR NEW.cap IS NOT OLD.cap OR NEW.cap_units IS NOT OLD.cap_units
    OR NEW.currency IS NOT OLD.currency OR NEW.spent_units < OLD.spent_units
    OR NEW.closed < OLD.closed
    OR (OLD.neighbours IS NOT NULL AND NEW.neighbours IS NOT OLD.neighbours)
    OR (OLD.records_per_person IS NOT NULL
        AND NEW.records_per_person IS NOT OLD.records_per_person)
BEGIN SELECT RAISE (ABORT, 'an account only spends: nothing else of it changes'); END""",
    """CREATE TRIGGER share_starts_unspent BEFORE INSERT ON share
WHEN NEW.spent <> '0' OR NEW.spent_units <> 0
    OR EXISTS (SELECT 1 FROM share WHERE account = NEW.account AND analyst = NEW.analyst)
BEGIN SELECT RAISE (ABORT, 'a share is given once, with nothing spent'); END""",
    """CREATE TRIGGER share_is_kept BEFORE DELETE ON share
BEGIN SELECT RAISE (ABORT, 'a share is never removed'); END""",
    """CREATE TRIGGER share_only_spends BEFORE UPDATE ON share
WHEN NEW.account IS NOT OLD.account OR NEW.analyst IS NOT OLD.analyst OR NEW.cap IS NOT OLD.cap
    OR NEW.cap_units IS NOT OLD.cap_units OR NEW.spent_units < OLD.spent_units
BEGIN SELECT RAISE (ABORT, 'a share only spends: nothing else of it changes'); END""",
)
_MARKS = (f"PRAGMA application_id = {APPLICATION_ID}", f"PRAGMA user_version = {VERSION}")

Definitions = frozenset[tuple[str, str, str | None]]


def create(db: sqlite3.Connection) -> None:
    """Make an empty database a ledger, inside the caller's transaction."""
    for statement in (*TABLES, *RULES, *_MARKS):
        db.execute(statement)


def is_outdated(db: sqlite3.Connection) -> bool:
    """Return whether a ledger was last written by an older kng."""
    return _version(db) != VERSION


def had_exact_heads(db: sqlite3.Connection) -> bool:
    """Return whether whoever wrote last announced every entry; kng 0.1 did not."""
    return _version(db) != 1


def show_as_new(db: sqlite3.Connection) -> None:
    """Put tables of the newest format in front of those of an older kng, in memory."""
    if is_outdated(db) and not _is_shown(db):
        for statement in TABLES:
            if statement.startswith("CREATE TABLE") and "TABLE entry" not in statement:
                db.execute(statement.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
        for account in schema_of_2.accounts(db):
            rows.insert_account(db, account)


def upgrade(db: sqlite3.Connection) -> None:
    """Make a ledger of an older kng one of this one, inside the caller's transaction."""
    if not is_outdated(db):
        return
    if _is_shown(db):
        for table in ("request", "dataset", "share", "account"):
            db.execute(f"DROP TABLE temp.{table}")
    kept = schema_of_2.accounts(db)
    schema_of_2.step_aside(db)
    for statement in TABLES:
        db.execute(statement)
    schema_of_2.hand_over(db, kept)
    for statement in (*RULES, *_MARKS):
        db.execute(statement)


def definitions(db: sqlite3.Connection) -> Definitions:
    """Return the tables, indexes and triggers that a database has."""
    return frozenset(db.execute("SELECT type, name, sql FROM main.sqlite_schema"))


@cache
def expected(outdated: bool) -> Definitions:
    """Return the tables, indexes and triggers that a ledger has."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for statement in schema_of_2.STATEMENTS if outdated else (*TABLES, *RULES):
            db.execute(statement)
        return definitions(db)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _is_shown(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT count(*) FROM sqlite_temp_schema").fetchone()[0])
