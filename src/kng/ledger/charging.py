"""What happens inside the transactions of a ledger: a charge, its release, and the end."""

from __future__ import annotations

from dataclasses import dataclass

from kng.core.errors import LedgerError, SpecError
from kng.core.naming import argument
from kng.core.privacy import PrivacyEvent
from kng.ledger import entries, requests, rows
from kng.ledger.account import Account
from kng.ledger.entries import Booking


@dataclass(frozen=True, slots=True)
class Purse:
    """Who pays: an account, perhaps an analyst's share of it, perhaps for one request."""

    account: str
    analyst: str | None = None
    request: str | None = None

    def __str__(self) -> str:
        stated = {"account": self.account, "analyst": self.analyst, "request": self.request}
        return ", ".join(f"{name}={text!r}" for name, text in stated.items() if text is not None)


def account_in(db: rows.Connection, purse: Purse) -> Account:
    """Return the account, which must be there."""
    found = rows.read_account(db, purse.account)
    if found is None:
        raise LedgerError(
            f"This ledger has no account {purse.account!r}; it holds "
            f"{', '.join(map(repr, rows.account_names(db))) or 'none'}. Put back the one that was "
            "opened."
        )
    return found


def charge(
    db: rows.Connection, purse: Purse, event: PrivacyEvent, parameters: str, dataset: str | None
) -> Booking:
    """Book an event, or find the answer of a request that was made before."""
    before = account_in(db, purse)
    if purse.request is not None:
        stored = requests.answered(
            db,
            purse.account,
            purse.request,
            event=event,
            parameters=parameters,
            dataset=dataset,
        )
        if stored is not None:
            return stored
    owner = None if dataset is None else rows.account_of(db, dataset)
    if owner not in (None, purse.account):
        raise SpecError(
            f"This dataset is charged to account {owner!r}. Two accounts for the same records "
            f"would add their caps up: use {argument('account', owner)}. Nothing was charged."
        )
    steps = before.counts(event).steps
    after = before.charged(event, purse.analyst)
    rows.spend(db, before, after, purse.analyst)
    body = entries.ChargeBody(
        event=event,
        parameters=parameters,
        spent=after.spent,
        time=entries.now(),
        steps=steps,
        analyst=purse.analyst,
        request=purse.request,
        dataset=dataset,
    )
    place = rows.append(db, "charge", purse.account, body.write())
    if dataset is not None and owner is None:
        rows.bind(db, dataset, purse.account)
    if purse.request is not None:
        rows.insert_request(db, purse.account, purse.request, place.sequence)
    return Booking(place.sequence, purse.account, steps * event.epsilon, place.hash)


def settle(db: rows.Connection, purse: Purse, charge: Booking, payload: str) -> None:
    """Store the release of a charge."""
    if rows.charge_at(db, purse.account, charge.sequence) != charge.hash:
        raise SpecError(
            f"Charge {charge.sequence} was not booked in account {purse.account!r} of this ledger. "
            "Settle it in the ledger that booked it."
        )
    if rows.release_at(db, charge.sequence) is not None:
        raise SpecError(
            f"Charge {charge.sequence} is settled already. A charge pays for one release; reserve "
            "another."
        )
    rows.append(db, "release", purse.account, entries.write_release(payload), charge.sequence)


def close(db: rows.Connection, purse: Purse) -> None:
    """Close the account."""
    before = account_in(db, purse)
    rows.spend(db, before, before.shut())
    rows.append(db, "close", purse.account, entries.write_closing())
