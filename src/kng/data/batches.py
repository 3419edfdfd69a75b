"""What every engine that yields batches can do with a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from kng.core.protocols import Integers, Kernel, Selection, State

Batches = Iterator[Integers]


class BatchSource(Protocol):
    """Records as a repeatable stream of integer batches.

    Kernels are exact and order-free, so how records are cut into batches changes no bit of a
    result. One thread: two of them, handing the interpreter's lock back and forth after every
    array operation, measured slower than one.
    """

    def batches(self) -> Batches:
        """Yield every record once; a batch lives until the next one."""
        ...

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over all records."""
        state = kernel.zero()
        for batch in self.batches():
            state = kernel.merge(state, kernel.partial(batch))
        return state

    def collect(self, selection: Selection, limit: int) -> Integers:
        """Bring home the selected rows, at most ``limit`` of them."""
        parts: list[Integers] = []
        for batch in self.batches():
            # A selection may return a view of the batch, which the next batch overwrites.
            parts.append(selection.select(batch)[:limit].copy())
            limit -= len(parts[-1])
        return np.concatenate(parts) if parts else np.empty((0, 1))
