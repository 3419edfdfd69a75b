"""What a release tells while it runs: public events, for the log ``kng`` and for whoever watches.

No event depends on a record, and neither does the number of events: two datasets that are
neighbours give the same ones in the same order. How many passes are made over the data can depend
on records, so no event counts passes. How many records each block of a pass has is told to
watchers alone, which may show what part of the first pass is done and nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

# No handler is added: Python shows warnings of a log that nobody set up, and drops what is below
# them. The one warning says that something is compiled.
_LOG = logging.getLogger("kng")


@dataclass(frozen=True, slots=True)
class Counting:
    """Records are about to be counted, before the charge: their number is public."""

    def __str__(self) -> str:
        return "counting records"


@dataclass(frozen=True, slots=True)
class Planned:
    """All public facts are known and checked."""

    statistic: str
    mechanism: str
    sampler: str
    guarantee: str
    epsilon: Fraction

    def __str__(self) -> str:
        return (
            f"planned {self.statistic}: mechanism {self.mechanism}, sampler {self.sampler}, "
            f"guarantee {self.guarantee}, epsilon {_shown(self.epsilon)}"
        )


@dataclass(frozen=True, slots=True)
class Charging:
    """A ledger is about to be charged."""

    epsilon: Fraction

    def __str__(self) -> str:
        return f"charging epsilon {_shown(self.epsilon)}"


@dataclass(frozen=True, slots=True)
class Charged:
    """The charge is made, durably."""

    epsilon: Fraction
    entry: int

    def __str__(self) -> str:
        return f"charged epsilon {_shown(self.epsilon)}, ledger entry {self.entry}"


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same request was charged and answered before; its answer is returned."""

    epsilon: Fraction
    entry: int

    def __str__(self) -> str:
        return f"answered before, ledger entry {self.entry}; nothing is charged"


@dataclass(frozen=True, slots=True)
class Reading:
    """Records are about to be read, and the answer drawn; their number if it is public."""

    records: int | None

    def __str__(self) -> str:
        return "reading records" if self.records is None else f"reading {self.records} records"


@dataclass(frozen=True, slots=True)
class Settled:
    """The answer is drawn, and stored if there is a ledger."""

    def __str__(self) -> str:
        return "settled"


Event = Counting | Planned | Charging | Charged | Repeated | Reading | Settled


class Watcher(Protocol):
    """Who is told of events; must not fail."""

    def told(self, event: Event) -> None:
        """Hear of an event."""
        ...

    def passed(self, records: int) -> None:
        """Hear that a block of records was read; the number depends on them."""
        ...

    def ended(self) -> None:
        """Hear that a pass over all records has ended; how many there are depends on them."""
        ...


_WATCHERS: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())
Some = TypeVar("Some", bound=Sized)


def tell(event: Event) -> None:
    """Log an event, and hand it to those who watch."""
    _LOG.info(event)
    for watcher in _WATCHERS.get():
        watcher.told(event)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Tell a watcher of everything that happens inside."""
    before = _WATCHERS.set((*_WATCHERS.get(), watcher))
    try:
        yield
    finally:
        _WATCHERS.reset(before)


def watched(blocks: Iterator[Some]) -> Iterator[Some]:
    """Yield blocks of records, one pass over all of them, and tell those who watch."""
    watchers = _WATCHERS.get()
    return _watched(blocks, watchers) if watchers else blocks


def _watched(blocks: Iterator[Some], watchers: tuple[Watcher, ...]) -> Iterator[Some]:
    for block in blocks:
        yield block
        for watcher in watchers:
            watcher.passed(len(block))
    for watcher in watchers:
        watcher.ended()


def _shown(epsilon: Fraction) -> str:
    # Imported here: it loads NumPy, for which the command line does not wait.
    from kng.core.exact import show

    return show(epsilon)
