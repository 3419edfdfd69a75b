"""Opening an account or an analyst's share, and finding the one that is there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from kng.core.errors import SpecError
from kng.core.naming import keyword
from kng.ledger import charging, entries, rows
from kng.ledger.account import Account, Currency
from kng.ledger.amounts import tell
from kng.ledger.backend import Backend, SqliteFile
from kng.ledger.charging import Purse


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller states of an account; None where nothing is stated."""

    cap: Fraction | None
    currency: Currency | None
    neighbours: str | None
    records_per_person: int | None


def open_purse(backend: Backend, purse: Purse, asked: Asked) -> None:
    """Open an account or a share if it is not there, and refuse one that is not what is asked."""
    known = _known(backend, purse.account)
    if purse.analyst is not None:
        _open_share(backend, purse, purse.analyst, known, asked.cap)
        asked = replace(asked, cap=None)
    elif known is None:
        _open_account(backend, purse, asked)
    with backend.reading() as db:
        _require(charging.account_in(db, purse), backend.called, asked)


def _known(backend: Backend, name: str) -> Account | None:
    """Return the account, if a ledger is there and holds it."""
    if not backend.exists():
        return None
    with backend.reading() as db:
        return rows.read_account(db, name)


def _open_account(backend: Backend, purse: Purse, asked: Asked) -> None:
    name = purse.account
    if asked.cap is None:
        other = "" if name == "default" else f", account={name!r}"
        place = backend.path.name if isinstance(backend, SqliteFile) else "postgresql://..."
        raise SpecError(
            f"{backend.called} has no account {name!r} yet. Open it first, with the largest total "
            f"epsilon of its dataset, as in kng.Ledger({place!r}{other}, cap=1)."
        )
    account = Account(
        name=name,
        cap=asked.cap,
        neighbours=asked.neighbours,
        records_per_person=asked.records_per_person,
        currency=asked.currency or Currency.EPSILON,
    )
    with backend.creating() as db:
        if rows.read_account(db, name) is None:  # or another process was faster
            rows.insert_account(db, account)
            rows.append(db, "account", name, entries.write_account(account))


def _open_share(
    backend: Backend, purse: Purse, analyst: str, known: Account | None, cap: Fraction | None
) -> None:
    if known is None:
        raise SpecError(
            f"{backend.called} has no account {purse.account!r} yet. Open it without "
            f"{keyword('analyst')} first; a share is a part of it."
        )
    if cap is not None and analyst not in known.shares:
        with backend.writing() as db:
            account = charging.account_in(db, purse)
            if analyst not in account.shares:  # or another process was faster
                share = account.shared(analyst, cap).shares[analyst]
                rows.insert_share(db, purse.account, analyst, share)
                body = entries.write_share(analyst, cap)
                rows.append(db, "share", purse.account, body)
            known = charging.account_in(db, purse)
    found = known.share(analyst)
    if cap not in (None, found.cap):
        raise SpecError(
            f"Analyst {analyst!r} of account {purse.account!r} has cap {tell(found.cap)}, not "
            f"{tell(cap or Fraction(0))}. That never changes; open it without {keyword('cap')}."
        )


def _require(stored: Account, called: str, asked: Asked) -> None:
    """Refuse an account that is not the one that was asked for."""
    for name in Asked.__slots__:
        value, kept = getattr(asked, name), getattr(stored, name)
        if value is None or value == kept:
            continue
        if kept is None:
            raise SpecError(
                f"Account {stored.name!r} has no {name} yet; its first charge will fix it. Open it "
                f"without {keyword(name)}."
            )
        old, new = (tell(x) if isinstance(x, Fraction) else x for x in (kept, value))
        raise SpecError(
            f"Account {stored.name!r} of {called} has {name} {old}, not {new}. That never changes; "
            f"open it without {keyword(name)}."
        )
