"""What a source of records can do, and how whatever the caller has is opened as one."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kng.core.encoding import Encoding
from kng.core.errors import SchemaError
from kng.core.parts import Point
from kng.core.records import Integers, Kernel, Rows, Selection, Source, State
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
        parts = [selection.select(np.empty((0, len(self._encoding.step))))]
        for batch in self.batches():
            rows = selection.select(batch)[:limit]
            # A view of the batch would be overwritten by the next one.
            parts.append(rows.copy() if np.may_share_memory(rows, batch) else rows)
            limit -= len(rows)
        return np.concatenate(parts)


def open_source(data: Any, encoding: Encoding) -> Source:
    """Return a source over the data; checks its columns and reads no record.

    Parameters
    ----------
    data : array, sequence, series, data frame, mapping of columns, or path of a CSV file
    encoding : Encoding
        How a record becomes integers.
    """
    from kng.data.csv import CsvSource
    from kng.data.memory import MemorySource

    path = file_of(data)
    return MemorySource.of(data, encoding) if path is None else CsvSource(path, encoding)


def open_regression(X: Any, y: Any, encoding: Encoding) -> Source:
    """Return a source over covariates and a response; checks shapes and reads no record."""
    from kng.data.memory import MemorySource

    return MemorySource.regression(X, y, encoding)


def open_response(y: Any, encoding: Encoding) -> Source:
    """Return a source over a response alone; checks its shape and reads no record."""
    from kng.data.memory import MemorySource

    return MemorySource.of(y, encoding)


def open_columns(path: str | Path, columns: Sequence[str], encoding: Encoding) -> Source:
    """Return a source over named columns of a CSV file, in the order of the encoding.

    For a regression these are the covariates and, last, the response. Reads the header only.
    """
    from kng.data.csv import CsvSource

    return CsvSource(_csv(path), encoding, columns)


def file_of(data: Any) -> Path | None:
    """Return the path of a CSV file, or None for data in memory; opens nothing."""
    if data is None:
        raise SchemaError("data are missing; give an array, a data frame or a path.")
    if not isinstance(data, str | Path):
        return None
    return _csv(data)


def _csv(data: str | Path) -> Path:
    path = Path(data)
    if path.suffix.lower() not in {".csv", ".txt"}:
        raise SchemaError(
            f"cannot tell what {path.name!r} is; files must end in .csv. Load other formats "
            "yourself and give the data frame."
        )
    return path
