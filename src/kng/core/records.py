"""Records behind a public encoding, and what may be computed from them."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kng.core.privacy import Assumption
from kng.core.promise import Promise

State = TypeVar("State")

# Rows of records as whole numbers. They are carried as float64, which holds integers up to 2**53
# exactly and lets sums and products run at full speed; Encoding keeps them at 2**44 or less.
Integers = NDArray[np.float64]
# The same, in whatever type holds them.
Rows = NDArray[Any]

# Bytes that what is made of records may take, where nobody states another limit.
USUAL_MEMORY = 2**30


class Kernel(Protocol[State]):
    """A mergeable computation on records: picklable, so that it can travel to them."""

    def zero(self) -> State:
        """State of no records."""
        ...

    def partial(self, batch: Integers) -> State:
        """State of one batch."""
        ...

    def merge(self, left: State, right: State) -> State:
        """State of both together; associative and commutative."""
        ...


class Selection(Protocol):
    """Which records to bring home, and in which form; picklable."""

    def select(self, batch: Integers) -> Rows:
        """Return the rows of the batch that are wanted, each made from its own record."""
        ...


class Records(Protocol):
    """Records that can be summed up and selected. Every method may be called again."""

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over all records."""
        ...

    def collect(self, selection: Selection) -> Rows:
        """Bring home the selected rows, in an order that depends on them alone."""
        ...


class Opened(Protocol):
    """What is public of an open table; ``memory`` is what its caller allows, in bytes."""

    memory: int

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the caller has stated of the data, and nobody checks; printed on the receipt."""
        ...

    @property
    def rows_per_record(self) -> int | None:
        """How many rows one record of a query's tables adds or removes; None if rows are records.

        With a number, how many rows there are depends on what records hold: it is private.
        """
        ...

    @property
    def promise(self) -> Promise | None:
        """What the table's holder has declared for every release from it."""
        ...

    @property
    def presence(self) -> Literal["always", "optional"]:
        """Whether a record may be absent, and then has the score 0."""
        ...

    @property
    def dataset(self) -> str | None:
        """A fingerprint of where the records are and what their columns are called; None if made.

        It depends on no record, and neither on their number nor on the time.
        """
        ...

    @property
    def declared(self) -> str | None:
        """What the caller has called the data, without a password; None for data in memory."""
        ...

    def count(self) -> int:
        """Return the number of records; forbidden before the charge under add-remove."""
        ...

    def prepare_sums(self, records: int) -> None:
        """Load what sums of so many records are worth; above the charge, from a public number."""
        ...

    def close(self) -> None:
        """Let go of the table; nothing is asked of it after that."""
        ...


class Source(Opened, Records, Protocol):
    """Records behind a public encoding."""

    def sums(self) -> tuple[int, tuple[int, ...]]:
        """Return the number of records and the exact sum of each column."""
        ...


class GroupedSource(Opened, Protocol):
    """Records in declared groups, read together; a record is in one of them or in none."""

    def group(self, at: int) -> Source:
        """Return the records of one group."""
        ...
