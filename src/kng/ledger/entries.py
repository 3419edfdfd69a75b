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
from kng.core.privacy import Guarantee, PrivacyEvent
from kng.ledger.account import Account


class State(StrEnum):
    """What became of a charge."""

    CHARGED = "charged"  # paid; the release is under way, or was lost in a crash
    RELEASED = "released"  # paid, and the release is stored


@dataclass(frozen=True, slots=True)
class Booking:
    """A charge that has been booked; settle it with the release it paid for."""

    sequence: int
    account: str
    epsilon: Fraction
    hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge in the history of an account."""

    sequence: int
    time: datetime
    epsilon: Fraction
    width: Fraction
    mechanism: str
    guarantee: Guarantee
    state: State
    parameters: str
    hash: str


@dataclass(frozen=True, slots=True)
class ChargeBody:
    """What a charge entry says: the event, what it paid for, and the total after it."""

    event: PrivacyEvent
    parameters: str
    spent: Fraction
    time: datetime

    def write(self) -> str:
        """Return the text that is stored and hashed."""
        return _json(
            epsilon=str(self.event.epsilon),
            width=str(self.event.width),
            mechanism=self.event.mechanism,
            neighbours=self.event.neighbours,
            records_per_person=self.event.records_per_person,
            guarantee=str(self.event.guarantee),
            parameters=self.parameters,
            spent=str(self.spent),
            time=self.time.isoformat(),
        )

    @classmethod
    def read(cls, text: str) -> ChargeBody:
        """Return what a stored text says."""
        with legible():
            body = json.loads(text)
            event = PrivacyEvent(
                epsilon=Fraction(body["epsilon"]),
                width=Fraction(body["width"]),
                mechanism=body["mechanism"],
                neighbours=body["neighbours"],
                records_per_person=body["records_per_person"],
                guarantee=Guarantee(body["guarantee"]),
            )
            time = datetime.fromisoformat(body["time"])
            return cls(event, body["parameters"], Fraction(body["spent"]), time)


def write_account(account: Account) -> str:
    """Return the body that opens an account."""
    return _json(
        cap=str(account.cap),
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
            spent=Fraction(0),
            neighbours=body["neighbours"],
            records_per_person=body["records_per_person"],
        )


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
