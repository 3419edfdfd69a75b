"""Reading and writing the tables, inside the caller's transaction.

The SQL is what SQLite and PostgreSQL have in common, with ``?`` for every value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Protocol

from kng.core.errors import LedgerError
from kng.ledger.account import Account, Currency, Share
from kng.ledger.amounts import tell, units
from kng.ledger.entries import ChargeBody, Entry, State, legible, read_loss, read_release
from kng.ledger.hash_chain import GENESIS, Kind, Link
from kng.ledger.headfile import Head


class Found(Protocol):
    """Rows that a statement gives."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows."""
        ...


class Connection(Protocol):
    """A transaction on a ledger's tables; ``sqlite3.Connection`` is one."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Found:
        """Run one statement."""
        ...


def last(db: Connection) -> Head | None:
    """Return the head of the chain, or None where nothing is written yet."""
    row = db.execute("SELECT sequence, hash FROM entry ORDER BY sequence DESC LIMIT 1").fetchone()
    return None if row is None else Head(*row)


def hash_at(db: Connection, sequence: int) -> str | None:
    """Return the stored hash of one entry."""
    row = db.execute("SELECT hash FROM entry WHERE sequence = ?", (sequence,)).fetchone()
    return None if row is None else str(row[0])


def has_hash(db: Connection, seal: str) -> bool:
    """Return whether an entry has this hash."""
    return db.execute("SELECT 1 FROM entry WHERE hash = ?", (seal,)).fetchone() is not None


def has_charges(db: Connection) -> bool:
    """Return whether anything was ever charged."""
    return db.execute("SELECT 1 FROM entry WHERE kind = 'charge' LIMIT 1").fetchone() is not None


def append(db: Connection, kind: Kind, account: str, body: str, charge: int | None = None) -> Head:
    """Write the next entry of the chain."""
    end = last(db) or Head(0, GENESIS)
    link = Link(end.sequence + 1, kind, account, charge, body, end.hash)
    db.execute(
        "INSERT INTO entry (sequence, kind, account, charge, body, previous, hash) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (link.sequence, kind, account, charge, body, link.previous, link.hash),
    )
    return Head(link.sequence, link.hash)


def links(db: Connection) -> Iterator[tuple[Link, str]]:
    """Yield every entry in order, each with its stored hash."""
    for row in db.execute(
        "SELECT sequence, kind, account, charge, body, previous, hash FROM entry ORDER BY sequence"
    ):
        yield Link(*row[:6]), row[6]


def account_names(db: Connection) -> list[str]:
    """Return the accounts of this ledger, in order of name."""
    return sorted(row[0] for row in db.execute("SELECT name FROM account"))


def read_account(db: Connection, name: str) -> Account | None:
    """Return an account, checked against the last entry that spent from it."""
    row = db.execute(
        "SELECT cap, spent, cap_units, spent_units, neighbours, records_per_person, currency, "
        "epsilon, rho, closed FROM account WHERE name = ?",
        (name,),
    ).fetchone()
    if row is None:
        return None
    shares = db.execute(
        "SELECT analyst, cap, spent, cap_units, spent_units FROM share WHERE account = ?", (name,)
    )
    with legible():
        account = Account(
            name=name,
            cap=Fraction(row[0]),
            spent=Fraction(row[1]),
            neighbours=row[4],
            records_per_person=row[5],
            currency=Currency(row[6]),
            epsilon=None if row[7] is None else Fraction(row[7]),
            rho=Fraction(row[8]),
            closed=bool(row[9]),
            shares=dict(_share(name, each) for each in shares),
        )
    booked = _booked(db, name)
    # A whole history is checked by verify(); this is the part that a charge builds on.
    if account.spent != booked or (units(account.cap), units(account.spent)) != (row[2], row[3]):
        raise LedgerError(
            f"Account {name!r} was edited: it says that {tell(account.spent)} is spent, its last "
            f"charge says {tell(booked)}. Put back the newest untouched copy."
        )
    return account


def _share(account: str, row: Sequence[Any]) -> tuple[str, Share]:
    analyst, cap, spent, cap_units, spent_units = row
    share = Share(Fraction(cap), Fraction(spent))
    if (units(share.cap), units(share.spent)) != (cap_units, spent_units):
        raise LedgerError(
            f"The share of analyst {analyst!r} of account {account!r} was edited. Put back the "
            "newest untouched copy."
        )
    return str(analyst), share


def _booked(db: Connection, account: str) -> Fraction:
    """Return the total that the last charge or loss of an account says."""
    found = []
    for kind in ("charge", "loss"):
        row = db.execute(
            "SELECT sequence, body FROM entry WHERE account = ? AND kind = ? "
            "ORDER BY sequence DESC LIMIT 1",
            (account, kind),
        ).fetchone()
        if row is not None:
            found.append((row[0], kind, row[1]))
    if not found:
        return Fraction(0)
    _, kind, body = max(found)
    return ChargeBody.read(body).spent if kind == "charge" else read_loss(body)[1]


def insert_account(db: Connection, account: Account) -> None:
    """Write a new account, with nothing spent."""
    db.execute(
        "INSERT INTO account (name, cap, spent, cap_units, spent_units, neighbours, "
        "records_per_person, currency, epsilon, rho, closed) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(account.name, str(account.cap), str(account.spent)),
            *(units(account.cap), units(account.spent)),
            *(account.neighbours, account.records_per_person, account.currency.value),
            *(None if account.epsilon is None else str(account.epsilon), str(account.rho)),
            int(account.closed),
        ),
    )


def insert_share(db: Connection, account: str, analyst: str, share: Share) -> None:
    """Write a new share, with nothing spent."""
    db.execute(
        "INSERT INTO share (account, analyst, cap, spent, cap_units, spent_units) "
        "VALUES (?, ?, ?, '0', ?, 0)",
        (account, analyst, str(share.cap), units(share.cap)),
    )


def spend(db: Connection, before: Account, after: Account, analyst: str | None = None) -> None:
    """Move an account from one state to the next, if it is still in the first.

    The write lock already makes this so. The conditions say it again, in the one statement
    that counts, so that no future change around it can overspend.
    """
    moved = db.execute(
        "UPDATE account SET spent = ?, spent_units = ?, neighbours = ?, records_per_person = ?, "
        "epsilon = ?, rho = ?, closed = ? WHERE name = ? AND spent = ? AND ? <= cap_units "
        "RETURNING name",
        (
            *(str(after.spent), units(after.spent), after.neighbours, after.records_per_person),
            *(None if after.epsilon is None else str(after.epsilon), str(after.rho)),
            *(int(after.closed), before.name, str(before.spent), units(after.spent)),
        ),
    ).fetchone()
    if moved is not None and analyst is not None:
        share, was = after.shares[analyst], before.shares[analyst]
        moved = db.execute(
            "UPDATE share SET spent = ?, spent_units = ? "
            "WHERE account = ? AND analyst = ? AND spent = ? AND ? <= cap_units RETURNING account",
            (
                *(str(share.spent), units(share.spent), before.name, analyst),
                *(str(was.spent), units(share.spent)),
            ),
        ).fetchone()
    if moved is None:
        raise LedgerError(
            f"Account {before.name!r} changed while it was being charged; nothing was charged. "
            "Try again."
        )


def account_of(db: Connection, dataset: str) -> str | None:
    """Return the account that a dataset is charged to."""
    row = db.execute("SELECT account FROM dataset WHERE fingerprint = ?", (dataset,)).fetchone()
    return None if row is None else str(row[0])


def bind(db: Connection, dataset: str, account: str) -> None:
    """Charge a dataset to an account from now on."""
    db.execute("INSERT INTO dataset (fingerprint, account) VALUES (?, ?)", (dataset, account))


def datasets(db: Connection) -> dict[str, str]:
    """Return the account of every dataset."""
    return dict(_pairs(db.execute("SELECT fingerprint, account FROM dataset")))


def request_at(db: Connection, account: str, key: str) -> tuple[int, ChargeBody, str] | None:
    """Return the charge of a request: its place, what it says, and its hash."""
    row = db.execute(
        "SELECT entry.sequence, entry.body, entry.hash FROM request "
        "JOIN entry ON entry.sequence = request.charge "
        "WHERE request.account = ? AND request.key = ?",
        (account, key),
    ).fetchone()
    return None if row is None else (int(row[0]), ChargeBody.read(row[1]), str(row[2]))


def insert_request(db: Connection, account: str, key: str, charge: int) -> None:
    """Write which charge a request has."""
    db.execute(
        "INSERT INTO request (account, key, charge) VALUES (?, ?, ?)", (account, key, charge)
    )


def requests(db: Connection) -> dict[tuple[str, str], int]:
    """Return the charge of every request."""
    return {(row[0], row[1]): row[2] for row in db.execute("SELECT * FROM request")}


def charge_at(db: Connection, account: str, sequence: int) -> str | None:
    """Return the hash of one charge of an account."""
    row = db.execute(
        "SELECT hash FROM entry WHERE sequence = ? AND kind = 'charge' AND account = ?",
        (sequence, account),
    ).fetchone()
    return None if row is None else str(row[0])


def release_at(db: Connection, sequence: int) -> str | None:
    """Return the payload that settled one charge."""
    row = db.execute("SELECT body FROM entry WHERE charge = ?", (sequence,)).fetchone()
    return None if row is None else read_release(row[0])


def history(db: Connection, account: str) -> list[Entry]:
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
        rho=body.event.rho,
        steps=body.steps,
        analyst=body.analyst,
        request=body.request,
    )


def _pairs(rows: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for row in rows:
        yield str(row[0]), str(row[1])
