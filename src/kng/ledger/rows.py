"""Reading and writing the two tables, inside the caller's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from fractions import Fraction

from kng.core.errors import LedgerError
from kng.ledger.account import Account
from kng.ledger.amounts import tell, units
from kng.ledger.entries import ChargeBody, Entry, State, legible, read_release
from kng.ledger.hash_chain import GENESIS, Kind, Link
from kng.ledger.headfile import Head


def last(db: sqlite3.Connection) -> Head | None:
    """Return the head of the chain, or None where nothing is written yet."""
    row = db.execute("SELECT sequence, hash FROM entry ORDER BY sequence DESC LIMIT 1").fetchone()
    return None if row is None else Head(*row)


def hash_at(db: sqlite3.Connection, sequence: int) -> str | None:
    """Return the stored hash of one entry."""
    row = db.execute("SELECT hash FROM entry WHERE sequence = ?", (sequence,)).fetchone()
    return None if row is None else str(row[0])


def has_charges(db: sqlite3.Connection) -> bool:
    """Return whether anything was ever charged."""
    return db.execute("SELECT 1 FROM entry WHERE kind = 'charge' LIMIT 1").fetchone() is not None


def append(
    db: sqlite3.Connection, kind: Kind, account: str, body: str, charge: int | None = None
) -> Head:
    """Write the next entry of the chain."""
    end = last(db) or Head(0, GENESIS)
    link = Link(end.sequence + 1, kind, account, charge, body, end.hash)
    db.execute(
        "INSERT INTO entry (sequence, kind, account, charge, body, previous, hash) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (link.sequence, kind, account, charge, body, link.previous, link.hash),
    )
    return Head(link.sequence, link.hash)


def links(db: sqlite3.Connection) -> Iterator[tuple[Link, str]]:
    """Yield every entry in order, each with its stored hash."""
    for row in db.execute(
        "SELECT sequence, kind, account, charge, body, previous, hash FROM entry ORDER BY sequence"
    ):
        yield Link(*row[:6]), row[6]


def account_names(db: sqlite3.Connection) -> list[str]:
    """Return the accounts of this ledger, in order of name."""
    return [row[0] for row in db.execute("SELECT name FROM account ORDER BY name")]


def read_account(db: sqlite3.Connection, name: str) -> Account | None:
    """Return an account, checked against its last charge."""
    row = db.execute(
        "SELECT cap, spent, cap_units, spent_units, neighbours, records_per_person "
        "FROM account WHERE name = ?",
        (name,),
    ).fetchone()
    if row is None:
        return None
    with legible():
        cap, spent = Fraction(row[0]), Fraction(row[1])
    body = db.execute(
        "SELECT body FROM entry WHERE account = ? AND kind = 'charge' "
        "ORDER BY sequence DESC LIMIT 1",
        (name,),
    ).fetchone()
    booked = Fraction(0) if body is None else ChargeBody.read(body[0]).spent
    # A whole history is checked by verify(); this is the part that a charge builds on.
    if spent != booked or (units(cap), units(spent)) != (row[2], row[3]):
        raise LedgerError(
            f"Account {name!r} was edited: it says that {tell(spent)} is spent, its last charge "
            f"says {tell(booked)}. Put back the newest untouched copy."
        )
    return Account(name, cap, spent, row[4], row[5])


def insert_account(db: sqlite3.Connection, account: Account) -> None:
    """Write a new account, with nothing spent."""
    db.execute(
        "INSERT INTO account (name, cap, spent, cap_units, spent_units, neighbours, "
        "records_per_person) VALUES (?, ?, '0', ?, 0, ?, ?)",
        (
            account.name,
            str(account.cap),
            units(account.cap),
            account.neighbours,
            account.records_per_person,
        ),
    )


def spend(db: sqlite3.Connection, before: Account, after: Account) -> None:
    """Move an account from one state to the next, if it is still in the first.

    The write lock already makes this so. The conditions say it again, in the one statement
    that counts, so that no future change around it can overspend.
    """
    moved = db.execute(
        "UPDATE account SET spent = :spent, spent_units = :units, neighbours = :neighbours, "
        "records_per_person = :records "
        "WHERE name = :name AND spent = :seen AND :units <= cap_units",
        {
            "spent": str(after.spent),
            "units": units(after.spent),
            "neighbours": after.neighbours,
            "records": after.records_per_person,
            "name": before.name,
            "seen": str(before.spent),
        },
    )
    if moved.rowcount != 1:
        raise LedgerError(
            f"Account {before.name!r} changed while it was being charged; nothing was charged. "
            "Try again."
        )


def charge_at(db: sqlite3.Connection, account: str, sequence: int) -> str | None:
    """Return the hash of one charge of an account."""
    row = db.execute(
        "SELECT hash FROM entry WHERE sequence = ? AND kind = 'charge' AND account = ?",
        (sequence, account),
    ).fetchone()
    return None if row is None else str(row[0])


def release_at(db: sqlite3.Connection, sequence: int) -> str | None:
    """Return the payload that settled one charge."""
    row = db.execute("SELECT body FROM entry WHERE charge = ?", (sequence,)).fetchone()
    return None if row is None else read_release(row[0])


def history(db: sqlite3.Connection, account: str) -> list[Entry]:
    """Return the charges of an account, oldest first."""
    return [
        _entry(*row)
        for row in db.execute(
            "SELECT charge.sequence, charge.body, charge.hash, release.sequence FROM entry charge "
            "LEFT JOIN entry release ON release.charge = charge.sequence "
            "WHERE charge.account = ? AND charge.kind = 'charge' ORDER BY charge.sequence",
            (account,),
        )
    ]


def _entry(sequence: int, text: str, seal: str, release: int | None) -> Entry:
    body = ChargeBody.read(text)
    return Entry(
        sequence=sequence,
        time=body.time,
        epsilon=body.event.epsilon,
        width=body.event.width,
        mechanism=body.event.mechanism,
        guarantee=body.event.guarantee,
        state=State.CHARGED if release is None else State.RELEASED,
        parameters=body.parameters,
        hash=seal,
    )
