"""Who pays for a release: a charge before anything is read, and the answer stored with it."""

from __future__ import annotations

from contextvars import ContextVar
from fractions import Fraction
from typing import Protocol, runtime_checkable

from kng.core.errors import LedgerError, PrivateZoneError
from kng.core.events import Charged, Charging, Repeated, tell
from kng.core.privacy import PrivacyEvent


class Charge(Protocol):
    """A booked charge, to be settled with the release it paid for."""

    @property
    def sequence(self) -> int:
        """Position in the ledger's chain."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """What it cost, in the relation of the account."""
        ...

    @property
    def payload(self) -> str | None:
        """The stored release of a request that was answered before; None for a new charge."""
        ...


@runtime_checkable
class Ledger(Protocol):
    """Who pays; `kng.Ledger` is one, and so is any object with these two methods."""

    def reserve(
        self, event: PrivacyEvent, *, parameters: str, dataset: str | None = None
    ) -> Charge:
        """Book the event durably, or refuse with BudgetError; ``dataset`` is a fingerprint."""
        ...

    def settle(self, charge: Charge, payload: str) -> None:
        """Store the release that the charge paid for."""
        ...


# Ledgers of the ``with`` blocks that we are in, the innermost last: it pays where none is named.
LEDGERS: ContextVar[tuple[Ledger, ...]] = ContextVar("ledgers", default=())


def charged(ledger: Ledger, event: PrivacyEvent, parameters: str, dataset: str | None) -> Charge:
    """Charge a release, or find that the same request was answered before."""
    tell(Charging(event.epsilon))
    charge = ledger.reserve(event, parameters=parameters, dataset=dataset)
    repeated = charge.payload is not None
    tell((Repeated if repeated else Charged)(charge.epsilon, charge.sequence))
    return charge


def settle(ledger: Ledger, charge: Charge, payload: str) -> None:
    """Store the release; a ledger that fails now has been charged already."""
    try:
        ledger.settle(charge, payload)
    except LedgerError as error:
        raise PrivateZoneError(
            f"The release was charged, but the ledger could not store it: {error.message} The "
            "charge stays."
        ) from None
