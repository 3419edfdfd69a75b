"""What every engine that yields batches can do with a kernel."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Protocol

import numpy as np

from kng.core.encoding import Encoding
from kng.core.parts import Point
from kng.core.records import Integers, Kernel, Rows, Selection, State
from kng.data.sums import Sums

Batches = Iterator[Integers]


class BatchSource(Protocol):
    """Records as a repeatable stream of integer batches.

    Kernels are exact and order-free, so how records are cut into batches changes no bit of a
    result; how many streams there are depends on the table's public shape alone, so neither do
    sums in real arithmetic change from machine to machine.
    """

    _encoding: Encoding

    def batches(self) -> Batches:
        """Yield every record once; a batch lives until the next one."""
        ...

    def streams(self) -> Sequence[Batches]:
        """Return streams that share the records among them, for one thread each."""
        return (self.batches(),)

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over all records."""

        def state_of(stream: Batches) -> State:
            state = kernel.zero()
            for batch in stream:
                state = kernel.merge(state, kernel.partial(batch))
            return state

        streams = self.streams()
        if len(streams) == 1:
            return state_of(streams[0])
        # Threads do not inherit the context, and with it the silence about floating-point faults.
        contexts = [copy_context() for _ in streams]
        with ThreadPoolExecutor(len(streams)) as threads:
            futures = [
                threads.submit(context.run, state_of, stream)
                for context, stream in zip(contexts, streams, strict=True)
            ]
        return functools.reduce(kernel.merge, [future.result() for future in futures])

    def prepare_sums(self, records: int) -> None:  # noqa: ARG002
        """Load nothing: batches are summed by NumPy."""
        return

    def sums(self) -> tuple[int, Point]:
        """Return the number of records and the exact sum of each column."""
        return self.reduce(Sums(self._encoding.last))

    def collect(self, selection: Selection, limit: int) -> Rows:
        """Bring home the selected rows, at most ``limit`` of them, in the order they stand in."""
        parts = [selection.select(np.empty((0, len(self._encoding))))]
        for batch in self.batches():
            rows = selection.select(batch)[:limit]
            # A view of the batch would be overwritten by the next one.
            parts.append(rows.copy() if np.may_share_memory(rows, batch) else rows)
            limit -= len(rows)
        return np.concatenate(parts)
