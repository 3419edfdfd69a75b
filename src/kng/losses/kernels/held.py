"""Records that were brought home, for losses that look at them many times."""

from __future__ import annotations

from dataclasses import dataclass

from kng.core.records import Integers, Kernel, Rows, Selection, State


@dataclass(frozen=True, slots=True)
class Everything:
    """Select all records."""

    def select(self, batch: Integers) -> Rows:
        """Return the batch."""
        return batch


@dataclass(frozen=True, slots=True)
class Held:
    """Records in memory, as whole numbers."""

    rows: Integers

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over all of them."""
        return kernel.merge(kernel.zero(), kernel.partial(self.rows))

    def collect(self, selection: Selection) -> Rows:
        """Return the selected rows."""
        return selection.select(self.rows)
