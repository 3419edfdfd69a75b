"""The tables of a ledger file, and the rules that SQLite itself keeps.

``entry`` is the history: it can only be appended to, in order. ``account`` is what the history
adds up to; of an account only the spent total may change, and only upwards, and a relation that
is not fixed yet may become fixed. The triggers stop slips and bugs. Whoever drops them and edits
a row is found out by the hash chain.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

from kng.ledger.account import RELATIONS
from kng.ledger.hash_chain import GENESIS

APPLICATION_ID = int.from_bytes(b"kng$", "big")
VERSION = 2
# 1: kng 0.1, in WAL mode, with a head file that may be behind. The tables are the same; the number
# keeps 0.1, which would turn the file back to WAL, from writing to it.
READABLE = (1, VERSION)

_RELATIONS = ", ".join(f"'{name}'" for name in RELATIONS)

STATEMENTS = (
    f"""CREATE TABLE account (
    name TEXT NOT NULL PRIMARY KEY,
    cap TEXT NOT NULL,
    spent TEXT NOT NULL,
    cap_units INTEGER NOT NULL,
    spent_units INTEGER NOT NULL,
    neighbours TEXT CHECK (neighbours IN ({_RELATIONS})),
    records_per_person INTEGER CHECK (records_per_person >= 1),
    CHECK (0 <= spent_units AND spent_units <= cap_units)
) STRICT""",
    """CREATE TABLE entry (
    sequence INTEGER NOT NULL PRIMARY KEY CHECK (sequence >= 1),
    kind TEXT NOT NULL CHECK (kind IN ('account', 'charge', 'release')),
    account TEXT NOT NULL REFERENCES account (name),
    charge INTEGER UNIQUE REFERENCES entry (sequence),
    body TEXT NOT NULL,
    previous TEXT NOT NULL CHECK (length(previous) = 64),
    hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
    CHECK ((kind = 'release') = (charge IS NOT NULL))
) STRICT""",
    "CREATE INDEX entry_by_account ON entry (account, kind, sequence)",
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
    """CREATE TRIGGER entry_is_kept BEFORE DELETE ON entry
BEGIN SELECT RAISE (ABORT, 'an entry is never removed'); END""",
    """CREATE TRIGGER entry_is_final BEFORE UPDATE ON entry
BEGIN SELECT RAISE (ABORT, 'an entry is never changed'); END""",
    """CREATE TRIGGER account_starts_unspent BEFORE INSERT ON account
WHEN NEW.spent <> '0' OR NEW.spent_units <> 0
    OR EXISTS (SELECT 1 FROM account WHERE name = NEW.name)
BEGIN SELECT RAISE (ABORT, 'an account is opened once, with nothing spent'); END""",
    """CREATE TRIGGER account_is_kept BEFORE DELETE ON account
BEGIN SELECT RAISE (ABORT, 'an account is never removed'); END""",
    """CREATE TRIGGER account_only_spends BEFORE UPDATE ON account
WHEN NEW.name IS NOT OLD.name OR NEW.cap IS NOT OLD.cap OR NEW.cap_units IS NOT OLD.cap_units
    OR NEW.spent_units < OLD.spent_units
    OR (OLD.neighbours IS NOT NULL AND NEW.neighbours IS NOT OLD.neighbours)
    OR (OLD.records_per_person IS NOT NULL
        AND NEW.records_per_person IS NOT OLD.records_per_person)
BEGIN SELECT RAISE (ABORT, 'an account only spends: nothing else of it changes'); END""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)

Definitions = frozenset[tuple[str, str, str | None]]


def create(db: sqlite3.Connection) -> None:
    """Make an empty database a ledger, inside the caller's transaction."""
    for statement in STATEMENTS:
        db.execute(statement)


def is_outdated(db: sqlite3.Connection) -> bool:
    """Return whether a ledger was last written by an older kng."""
    return bool(db.execute("PRAGMA user_version").fetchone()[0] != VERSION)


def upgrade(db: sqlite3.Connection) -> None:
    """Make a ledger of an older kng one of this one, inside the caller's transaction."""
    if is_outdated(db):
        db.execute(f"PRAGMA user_version = {VERSION}")


def definitions(db: sqlite3.Connection) -> Definitions:
    """Return the tables, indexes and triggers that a database has."""
    return frozenset(db.execute("SELECT type, name, sql FROM sqlite_schema"))


@cache
def expected() -> Definitions:
    """Return the tables, indexes and triggers that a ledger has."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create(db)
        return definitions(db)
