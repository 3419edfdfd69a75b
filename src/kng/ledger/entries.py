"""What is written down: the bodies of the entries, and how they are shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

from kng.core.bits import SystemBits
from kng.core.errors import LedgerError
from kng.core.privacy import Guarantee, PrivacyEvent, rho_of
from kng.ledger.account import Account, Currency
from kng.ledger.amounts import short


class State(StrEnum):
    """What became of a charge."""

    CHARGED = "charged"  # paid; the release is under way, or was lost in a crash
    RELEASED = "released"  # paid, and the release is stored


@dataclass(frozen=True, slots=True)
class Booking:
    """A charge that has been booked; settle it with the release it paid for.

    ``epsilon`` is what it cost, after conversion to the relation of the account. ``payload`` is
    the stored release where the same request was answered before: nothing was charged for it now.
    """

    sequence: int
    account: str
    epsilon: Fraction
    hash: str
    payload: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge in the history of an account.

    ``epsilon``, ``width`` and ``rho`` are those of the release. It counts ``steps`` times in
    epsilon, and ``steps**2`` times in rho, where the account protects another relation.
    """

    sequence: int
    time: datetime
    epsilon: Fraction
    width: Fraction
    mechanism: str
    guarantee: Guarantee
    state: State
    parameters: str
    hash: str
    rho: Fraction
    steps: int
    analyst: str | None
    request: str | None


@dataclass(frozen=True, slots=True)
class ChargeBody:
    """What a charge entry says: the event, what it paid for, and the total after it."""

    event: PrivacyEvent
    parameters: str
    spent: Fraction
    time: datetime
    steps: int = 1
    analyst: str | None = None
    request: str | None = None
    dataset: str | None = None

    def write(self) -> str:
        """Return the text that is stored and hashed."""
        further = {"analyst": self.analyst, "request": self.request, "dataset": self.dataset}
        return _json(
            epsilon=str(self.event.epsilon),
            width=str(self.event.width),
            rho=str(self.event.rho),
            mechanism=self.event.mechanism,
            neighbours=self.event.neighbours,
            records_per_person=self.event.records_per_person,
            guarantee=str(self.event.guarantee),
            parameters=self.parameters,
            spent=str(self.spent),
            steps=self.steps,
            time=self.time.isoformat(),
            **{name: text for name, text in further.items() if text is not None},
        )

    @classmethod
    def read(cls, text: str) -> ChargeBody:
        """Return what a stored text says; those of older versions say less."""
        with legible():
            body = json.loads(text)
            width = Fraction(body["width"])
            event = PrivacyEvent(
                epsilon=Fraction(body["epsilon"]),
                width=width,
                mechanism=body["mechanism"],
                neighbours=body["neighbours"],
                records_per_person=body["records_per_person"],
                guarantee=Guarantee(body["guarantee"]),
                rho=Fraction(body["rho"]) if "rho" in body else short(rho_of(width)),
            )
            return cls(
                event=event,
                parameters=body["parameters"],
                spent=Fraction(body["spent"]),
                time=datetime.fromisoformat(body["time"]),
                steps=int(body.get("steps", 1)),
                analyst=body.get("analyst"),
                request=body.get("request"),
                dataset=body.get("dataset"),
            )


def write_account(account: Account) -> str:
    """Return the body that opens an account."""
    return _json(
        cap=str(account.cap),
        currency=account.currency.value,
        neighbours=account.neighbours,
        records_per_person=account.records_per_person,
        time=now().isoformat(),
        # Two ledgers opened alike in the same second still have different chains.
        nonce=f"{SystemBits().take(128):032x}",
    )


def read_account(name: str, text: str) -> Account:
    """Return the account as it was opened."""
    with legible():
        body = json.loads(text)
        return Account(
            name=name,
            cap=Fraction(body["cap"]),
            neighbours=body["neighbours"],
            records_per_person=body["records_per_person"],
            currency=Currency(body.get("currency", "epsilon")),
        )


def write_share(analyst: str, cap: Fraction) -> str:
    """Return the body that gives an analyst a share."""
    return _json(analyst=analyst, cap=str(cap), time=now().isoformat())


def read_share(text: str) -> tuple[str, Fraction]:
    """Return the analyst and the cap of a share."""
    with legible():
        body = json.loads(text)
        return str(body["analyst"]), Fraction(body["cap"])


def write_loss(amount: Fraction, spent: Fraction) -> str:
    """Return the body that books what was charged after the copy that was put back."""
    return _json(amount=str(amount), spent=str(spent), time=now().isoformat())


def read_loss(text: str) -> tuple[Fraction, Fraction]:
    """Return the amount that was lost, and the total after it."""
    with legible():
        body = json.loads(text)
        return Fraction(body["amount"]), Fraction(body["spent"])


def write_closing() -> str:
    """Return the body that closes an account."""
    return _json(time=now().isoformat())


def write_release(payload: str) -> str:
    """Return the body of a release.

    It holds no time: how long a draw took may depend on the records.
    """
    return _json(payload=payload)


def read_release(text: str) -> str:
    """Return the payload of a release."""
    with legible():
        return str(json.loads(text)["payload"])


@contextmanager
def legible() -> Iterator[None]:
    """Say that a ledger was edited where its text cannot be read."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise LedgerError(
            f"The ledger was edited: an entry cannot be read ({error}). Put back the newest "
            "untouched copy."
        ) from error


def now() -> datetime:
    """Return the time of day, in UTC and whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


def _json(**fields: Any) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))
