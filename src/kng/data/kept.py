"""Whole numbers kept in memory for losses that look at all records again and again.

Decoding a file costs more than anything that is done with its numbers. The second pass keeps them,
in the smallest type that holds each column, and later ones read them from there. Nothing depends on
whether there was room for all of them but the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
from numpy.typing import NDArray

from kng.core.encoding import Encoding
from kng.core.records import Integers

# From this pass on records are likely to be read once more.
_SECOND = 2


class Kept:
    """The records of a source, as long as they fit into ``room`` bytes."""

    def __init__(self, encoding: Encoding, room: int) -> None:
        self._types = [_smallest(last) for last in encoding.last] if room else []
        self._room, self._passes, self.whole = room, count(1), False
        self._batches: list[list[NDArray[np.generic]]] = []

    def keeper(self) -> Callable[[Integers], None] | None:
        """Begin a pass; return what is to be told every batch, or None if nothing is kept."""
        keep = next(self._passes) >= _SECOND and self._room > 0
        self._batches = []
        return self._keep if keep else None

    def finish(self) -> None:
        """End a pass that has seen all records."""
        self.whole = bool(self._batches) and self._room > 0

    def batches(self) -> Iterator[Integers]:
        """Yield all records; a batch lives until the next one."""
        for columns in self._batches:
            table = np.empty((len(columns), len(columns[0])))
            for row, column in zip(table, columns, strict=True):
                row[:] = column
            yield table.T

    def _keep(self, batch: Integers) -> None:
        if self._room <= 0:
            return
        columns = [c.astype(kind) for c, kind in zip(batch.T, self._types, strict=True)]
        self._room -= sum(column.nbytes for column in columns)
        self._batches.append(columns)
        if self._room <= 0:  # they do not fit, and will not next time
            self._batches = []


def _smallest(last: int) -> np.dtype[np.generic]:
    """Return the smallest type that holds whole numbers from 0 to ``last``, at most 2**44."""
    kinds: tuple[type[np.generic], ...] = (np.uint8, np.uint16, np.uint32)
    for kind in kinds:
        if last <= np.iinfo(kind).max:  # type: ignore[type-var]
            return np.dtype(kind)
    return np.dtype(np.float64)
