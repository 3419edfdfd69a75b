"""Reading a whole history again, to see that everything in it holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from kng.core.errors import KngError, LedgerError
from kng.ledger import entries, rows, schema
from kng.ledger.account import Account, accept
from kng.ledger.amounts import tell
from kng.ledger.hash_chain import GENESIS, Link


def audit(db: sqlite3.Connection) -> None:
    """Refuse a ledger whose rules, chain, sums or accounts do not hold."""
    if schema.definitions(db) != schema.expected():
        raise LedgerError(
            "The tables or triggers of this ledger are not those that kng made, so rows may have "
            "been edited. Put back the newest untouched copy."
        )
    damage = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if damage != "ok":
        raise LedgerError(f"The ledger file is damaged ({damage}). Put back the newest copy.")
    replayed = replay(rows.links(db))
    stored = {name: rows.read_account(db, name) for name in rows.account_names(db)}
    if replayed != stored:
        names = sorted(n for n in {*replayed, *stored} if replayed.get(n) != stored.get(n))
        raise LedgerError(
            f"Account {names[0]!r} is not what its history adds up to: the ledger was edited. "
            "Put back the newest untouched copy."
        )


def replay(history: Iterable[tuple[Link, str]]) -> dict[str, Account]:
    """Return the accounts that a chain of entries leads to, or refuse it."""
    accounts: dict[str, Account] = {}
    unsettled: dict[int, str] = {}  # charges without a release, and whose they are
    previous = GENESIS
    for sequence, (link, seal) in enumerate(history, start=1):
        if link.sequence != sequence:
            raise LedgerError(
                f"Entry {sequence} of the ledger is missing. Put back the newest untouched copy."
            )
        if link.previous != previous or link.hash != seal:
            raise LedgerError(
                f"Entry {sequence} of the ledger was changed after it was written, or one before "
                "it was. Put back the newest untouched copy."
            )
        try:
            _apply(link, accounts, unsettled)
        except KngError as error:
            raise LedgerError(
                f"Entry {sequence} of the ledger does not follow from those before it ({error}). "
                "Put back the newest untouched copy."
            ) from error
        previous = seal
    return accounts


def _apply(link: Link, accounts: dict[str, Account], unsettled: dict[int, str]) -> None:
    name = link.account
    if link.kind == "account":
        if name in accounts:
            raise LedgerError(f"account {name!r} is opened twice")
        accounts[name] = entries.read_account(name, link.body)
    elif link.kind == "charge":
        body = entries.ChargeBody.read(link.body)
        if accept(body.event) != body.event:
            raise LedgerError("its event is not one that kng books")
        if name not in accounts:
            raise LedgerError(f"account {name!r} is not open")
        accounts[name] = accounts[name].charged(body.event)
        if accounts[name].spent != body.spent:
            raise LedgerError(
                f"it says that {tell(body.spent)} is spent, not {tell(accounts[name].spent)}"
            )
        unsettled[link.sequence] = name
    else:
        entries.read_release(link.body)
        if link.charge is None or unsettled.pop(link.charge, None) != name:
            raise LedgerError(f"it settles entry {link.charge}, which is no open charge")
