"""Reading a whole history again, to see that everything in it holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from kng.core.errors import KngError, LedgerError
from kng.ledger import entries, rows
from kng.ledger.accepting import accept
from kng.ledger.account import Account
from kng.ledger.amounts import tell
from kng.ledger.hash_chain import GENESIS, Link


@dataclass
class Books:
    """What a history adds up to."""

    accounts: dict[str, Account] = field(default_factory=dict)
    datasets: dict[str, str] = field(default_factory=dict)
    requests: dict[tuple[str, str], int] = field(default_factory=dict)
    unsettled: dict[int, str] = field(default_factory=dict)  # charges without a release, and whose


def require_sums(db: rows.Connection) -> None:
    """Refuse a ledger whose chain, sums or accounts do not hold."""
    replayed = replay(rows.links(db))
    stored = {name: rows.read_account(db, name) for name in rows.account_names(db)}
    accounts = replayed.accounts
    if accounts != stored:
        names = sorted(n for n in {*accounts, *stored} if accounts.get(n) != stored.get(n))
        raise LedgerError(
            f"Account {names[0]!r} is not what its history adds up to: the ledger was edited. "
            "Put back the newest untouched copy."
        )
    if (replayed.datasets, replayed.requests) != (rows.datasets(db), rows.requests(db)):
        raise LedgerError(
            "The datasets or requests of this ledger are not those of its history: the ledger was "
            "edited. Put back the newest untouched copy."
        )


def replay(history: Iterable[tuple[Link, str]]) -> Books:
    """Return what a chain of entries leads to, or refuse it."""
    books = Books()
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
            _apply(link, books)
        except KngError as error:
            raise LedgerError(
                f"Entry {sequence} of the ledger does not follow from those before it "
                f"({error.message}). Put back the newest untouched copy."
            ) from error
        previous = seal
    return books


def _apply(link: Link, books: Books) -> None:
    name, accounts = link.account, books.accounts
    if link.kind == "account":
        if name in accounts:
            raise LedgerError(f"account {name!r} is opened twice")
        accounts[name] = entries.read_account(name, link.body)
        return
    if name not in accounts:
        raise LedgerError(f"account {name!r} is not open")
    if link.kind == "charge":
        accounts[name] = _charged(accounts[name], link, books)
    elif link.kind == "share":
        accounts[name] = accounts[name].shared(*entries.read_share(link.body))
    elif link.kind == "loss":
        amount, spent = entries.read_loss(link.body)
        accounts[name] = accounts[name].lost(amount)
        _require_total(accounts[name], spent)
    elif link.kind == "close":
        accounts[name] = accounts[name].shut()
    else:
        entries.read_release(link.body)
        if link.charge is None or books.unsettled.pop(link.charge, None) != name:
            raise LedgerError(f"it settles entry {link.charge}, which is not an open charge")


def _charged(account: Account, link: Link, books: Books) -> Account:
    body = entries.ChargeBody.read(link.body)
    if accept(body.event) != body.event:
        raise LedgerError("its event is not one that kng books")
    if account.counts(body.event).steps != body.steps:
        raise LedgerError(f"it counts {body.steps} times, which is not what it costs")
    after = account.charged(body.event, body.analyst)
    _require_total(after, body.spent)
    books.unsettled[link.sequence] = account.name
    if body.dataset is not None and books.datasets.setdefault(body.dataset, account.name) != (
        account.name
    ):
        raise LedgerError("its dataset is charged to another account")
    if body.request is not None:
        if (account.name, body.request) in books.requests:
            raise LedgerError(f"request {body.request!r} is charged twice")
        books.requests[account.name, body.request] = link.sequence
    return after


def _require_total(account: Account, said: Fraction) -> None:
    if account.spent != said:
        raise LedgerError(f"it says that {tell(said)} is spent, not {tell(account.spent)}")
