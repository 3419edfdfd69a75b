"""Exact sums of columns: a kernel for any batches, and one quick pass over a long array.

A batch holds at most 2**17 records of at most 2**44 steps, so its sum fits an int64; batches are
added as Python integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kng.core.encoding import BATCH_RECORDS, Encoding
from kng.core.parts import Point
from kng.core.records import Integers
from kng.data.ingest import inverses

# From here on it is worth loading a compiler to sum one column in one pass; below, NumPy's five
# passes take a few milliseconds.
MANY = 2**23


@dataclass(frozen=True, slots=True)
class Sums:
    """Number of records and exact column sums; ``last`` bounds the records of each column."""

    last: Point

    def zero(self) -> tuple[int, Point]:
        """No records."""
        return 0, (0,) * len(self.last)

    def partial(self, batch: Integers) -> tuple[int, Point]:
        """Sum one batch: in float64 where that is exact (53 bits), else in int64 (62 bits)."""
        fits = len(batch) * max(self.last) < 2**53
        exact = batch if fits else batch.astype(np.int64)
        return len(batch), tuple(int(np.add.reduce(column)) for column in exact.T)

    def merge(self, left: tuple[int, Point], right: tuple[int, Point]) -> tuple[int, Point]:
        """Add as Python integers, which cannot overflow."""
        return left[0] + right[0], tuple(a + b for a, b in zip(left[1], right[1], strict=True))


class ColumnSum:
    """The number of records in one array, and their exact sum: clipped, rounded and added at once.

    Made before the charge, which loads the loop for the array's kind; float32 has one of its own.
    """

    __slots__ = ("_drops", "_dtype", "_loop", "_numbers")

    def __init__(self, encoding: Encoding, dtype: np.dtype[Any]) -> None:
        # Imported here: the compiler takes longer to load than a short column takes to sum.
        from kng.core.compiled import load
        from kng.data.summing import divide_sum, scale_narrow_sum, scale_sum

        low, step, last = (
            float(values[0]) for values in (encoding.bounds.low, encoding.step, encoding.last)
        )
        # What is absent adds nothing.
        default = float(encoding.missing[0] or 0)
        self._drops = bool(encoding.complete)
        inverse = float(inverses(np.array([step]))[0])
        narrow = inverse and dtype == np.float32
        self._dtype = np.dtype(np.float32 if narrow else np.float64)
        self._loop = scale_narrow_sum if narrow else scale_sum if inverse else divide_sum
        self._numbers = low, inverse or step, last, default
        load(self._loop)

    def __call__(self, cells: np.ndarray[Any, Any]) -> tuple[int, Point]:
        """Return how many cells count, and the sum of the integers that they become."""
        total, absent = 0, 0
        for at in range(0, len(cells), BATCH_RECORDS):
            part = np.ascontiguousarray(cells[at : at + BATCH_RECORDS], dtype=self._dtype)
            total += int(self._loop(part, *self._numbers))
            if self._drops:
                absent += int(np.count_nonzero(np.isnan(part)))
        return len(cells) - absent, (total,)
