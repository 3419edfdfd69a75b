"""Who pays for a release: a charge before anything is read, and the answer stored with it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Protocol, runtime_checkable

from kng.core.errors import LedgerError, PrivateZoneError, SpecError, private_zone
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


class Blocks:
    """The ``with`` blocks of ledgers: the innermost one pays for a release that names none.

    A thread or a task that was not started inside a block does not know of it, and Python starts
    threads without what their starter knows. So all open blocks are counted as well: where some
    are open, and none of them is ours, nobody can tell whether a release was meant to be paid for.

    Attributes
    ----------
    ours : ContextVar of tuple of Ledger
        Those that we are in, the innermost last.
    open : int
        How many there are in the process.
    """

    def __init__(self) -> None:
        self.ours: ContextVar[tuple[Ledger, ...]] = ContextVar("ledgers", default=())
        self.open = 0
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def enter(self, ledger: Ledger) -> None:
        """Begin a block."""
        self.ours.set((*self.ours.get(), ledger))
        with self._lock:
            self.open += 1

    def leave(self, ledger: Ledger) -> None:
        """End the last block of a ledger; those of others stay, also if they began later."""
        with self._lock:
            self.open -= 1
        ours = self.ours.get()
        last = max((at for at, each in enumerate(ours) if each is ledger), default=None)
        if last is not None:  # a generator may be closed where it was not begun
            self.ours.set(ours[:last] + ours[last + 1 :])

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Let nobody pay: for simulations on records that were made up."""
        token = self.ours.set(())
        try:
            yield
        finally:
            self.ours.reset(token)

    def require_none_elsewhere(self) -> None:
        """Refuse a release that names no ledger while a block is open that it is not in."""
        if self.open and not self.ours.get():
            raise SpecError(
                "ledger is missing: a with block of a ledger is open in another thread or task, "
                "which this release is not in. Pass ledger= here, or open a with block in this "
                "thread. Nothing was charged."
            )

    def _forked(self) -> None:
        """Forget the blocks of threads that the child of a fork does not have."""
        self._lock = threading.Lock()
        self.open = len(self.ours.get())


BLOCKS = Blocks()


def charged(ledger: Ledger, event: PrivacyEvent, parameters: str, dataset: str | None) -> Charge:
    """Charge a release, or find that the same request was answered before."""
    tell(Charging(event.epsilon))
    charge = ledger.reserve(event, parameters=parameters, dataset=dataset)
    repeated = charge.payload is not None
    tell((Repeated if repeated else Charged)(charge.epsilon, charge.sequence))
    return charge


def settle(ledger: Ledger, charge: Charge, written: Callable[[], str]) -> None:
    """Store the release; a ledger that fails now has been charged already."""
    with private_zone():
        payload = written()
    try:
        ledger.settle(charge, payload)
    except LedgerError as error:
        raise PrivateZoneError(
            f"The release was charged, but the ledger could not store it: {error.message} The "
            "charge stays."
        ) from None
