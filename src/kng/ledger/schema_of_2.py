"""The tables of ledger files in formats 1 and 2, which kng 0.1 and early 0.2 wrote.

They are read as they are, and become tables of the newest format at their first charge.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from fractions import Fraction

from kng.ledger import rows
from kng.ledger.accepting import RELATIONS
from kng.ledger.account import Account
from kng.ledger.amounts import short
from kng.ledger.entries import ChargeBody, legible
from kng.ledger.hash_chain import GENESIS

_RELATIONS = ", ".join(f"'{name}'" for name in RELATIONS)

STATEMENTS: tuple[str, ...] = (
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
)
_TRIGGERS = [
    statement.split()[2] for statement in STATEMENTS if statement.startswith("CREATE TRIGGER")
]


def accounts(db: sqlite3.Connection) -> list[Account]:
    """Return the accounts, with what their charges add up to in rho."""
    found = {}
    for name, cap, spent, neighbours, records in db.execute(
        "SELECT name, cap, spent, neighbours, records_per_person FROM main.account"
    ):
        with legible():
            total = Fraction(spent)
            found[name] = Account(name, Fraction(cap), total, neighbours, records, epsilon=total)
    for name, body in db.execute(
        "SELECT account, body FROM main.entry WHERE kind = 'charge' ORDER BY sequence"
    ):
        rho = ChargeBody.read(body).event.rho
        if name in found:
            found[name] = replace(found[name], rho=short(found[name].rho + rho))
    return list(found.values())


def step_aside(db: sqlite3.Connection) -> None:
    """Rename the tables, so that new ones can take their place, and drop their rules."""
    for trigger in _TRIGGERS:
        db.execute(f"DROP TRIGGER {trigger}")
    db.execute("DROP INDEX entry_by_account")
    for table in ("entry", "account"):
        db.execute(f"ALTER TABLE main.{table} RENAME TO old_{table}")


def hand_over(db: sqlite3.Connection, kept: list[Account]) -> None:
    """Fill the new tables and drop the old ones."""
    for account in kept:
        rows.insert_account(db, account)
    db.execute("INSERT INTO main.entry SELECT * FROM old_entry ORDER BY sequence")
    db.execute("DROP TABLE old_entry")
    db.execute("DROP TABLE old_account")
