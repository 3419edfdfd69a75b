"""How many records lie below a lattice point, read in one or two passes.

A quantile's score needs the counts #{x < t} and #{x <= t} only where they are near the wanted
rank. A first pass counts records in coarse cells, which says which cells those are; a second
brings home the records of these cells. Constant data never grow a cell beyond one lattice point,
where the count alone is enough, so memory stays small whatever the data look like.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.privacy import Neighbours, ReplaceOne
from kng.core.records import Integers, Records

Counts = NDArray[np.int64]

# Few enough cells, and chunks of records, to stay in the processor's cache and in memory that the
# allocator keeps: fresh pages for every temporary array cost more than the counting.
_CELLS = 2**12
# For more ranks than this cells are cut finer at once: a pass for each would take too long.
_FEW, _FINER = 16, 2**4
_CHUNK = 2**14
# Up to here one pass that brings everything home is cheaper than two.
_SMALL = 2**16
# Up to here records are brought home; beyond, cells are cut finer first.
_LARGE = 2**22
# Differences of two such numbers, and of records, fit 64 bits.
_WORD = 2**61


@dataclass(frozen=True, slots=True)
class CellCounts:
    """Count records in cells of ``2**shift`` lattice points, and those before and after."""

    first: int
    last: int
    shift: int

    @property
    def cells(self) -> int:
        """Number of cells between first and last."""
        return ((self.last - self.first) >> self.shift) + 1

    @property
    def _kind(self) -> type:
        """Whole numbers that hold every offset: 64 bits, or Python's for a line that is longer."""
        return np.int64 if max(-self.first, self.last) < _WORD else object

    def zero(self) -> Counts:
        """No records."""
        return np.zeros(self.cells + 2, dtype=np.int64)

    def partial(self, batch: Integers) -> Counts:
        """Count one batch; entry 0 is "before first", the last entry "after last"."""
        counts = self.zero()
        for at in range(0, len(batch), _CHUNK):
            offset: Any = batch[at : at + _CHUNK, 0].astype(np.int64).astype(self._kind)
            offset -= self.first
            cell = ((offset >> self.shift) + 1).astype(np.int64)
            cell[offset < 0] = 0
            cell[offset > self.last - self.first] = self.cells + 1
            counts += np.bincount(cell, minlength=self.cells + 2)
        return counts

    def merge(self, left: Counts, right: Counts) -> Counts:
        """Add the counts."""
        return left + right


@dataclass(frozen=True, slots=True)
class Within:
    """Select the records that lie in one of several intervals of lattice points."""

    intervals: tuple[tuple[int, int], ...]

    def select(self, batch: Integers) -> Integers:
        """Return the rows of the batch inside the intervals."""
        column = batch[:, 0]
        wanted = np.zeros(len(column), dtype=bool)
        for first, last in self.intervals:
            wanted |= (column >= first) & (column <= last)
        return batch[wanted]


@dataclass(frozen=True, slots=True)
class Ranks:
    """Exact counts at every lattice point of a window ``first .. last``.

    ``values`` are the distinct records in the window and ``upto[i]`` counts all records, those
    before the window included, with x <= values[i].
    """

    total: int
    before: int
    first: int
    last: int
    values: Sequence[int]
    upto: Sequence[int]

    def counts(self, theta: int) -> tuple[int, int]:
        """Return #{x < theta} and #{x <= theta} for theta in the window."""
        i = bisect_left(self.values, theta)
        below = self.upto[i - 1] if i else self.before
        tied = i < len(self.values) and self.values[i] == theta
        return below, (self.upto[i] if tied else below)

    def first_reaching(self, rank: int) -> int:
        """Return the least theta in the window with #{x <= theta} >= rank, or its last."""
        return self.each_reaching((rank,))[0]

    def each_reaching(self, ranks: Iterable[int]) -> list[int]:
        """Return the least theta with #{x <= theta} >= rank, for each rank.

        It is also the largest theta with #{x < theta} < rank.
        """
        before, first, last = self.before, self.first, self.last
        upto, values, size = self.upto, self.values, len(self.values)
        return [
            (values[i] if (i := bisect_left(upto, rank)) < size else last)
            if rank > before
            else first
            for rank in ranks
        ]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which counts are needed: those within ``reach`` records of the rank ``level * n``."""

    level: Fraction
    reach: Fraction


def read_ranks(
    source: Records, neighbours: Neighbours, first: int, last: int, wanted: Sequence[Wanted]
) -> list[Ranks]:
    """Read, for each wanted rank, the counts of a window of ``first .. last`` around it."""
    if isinstance(neighbours, ReplaceOne) and neighbours.n <= _SMALL:
        records = _column(source.collect(Within(((-1, 2**62),))))
        # Of a public number of records some may be absent.
        everything = _window(records, len(records), int((records < first).sum()), first, last)
        return [everything] * len(wanted)
    return _read_cells(source, first, last, wanted)


def _read_cells(source: Records, first: int, last: int, wanted: Sequence[Wanted]) -> list[Ranks]:
    most = _CELLS if len(wanted) <= _FEW else _FINER * _CELLS
    shift = max(0, (last - first + 1).bit_length() - most.bit_length() + 1)
    kernel = CellCounts(first, last, shift)
    counts = source.reduce(kernel)
    total, ends = int(counts.sum()), np.cumsum(counts)
    if shift == 0:
        return [_counted(first, counts, total, 0)] * len(wanted)
    windows = [_narrow(kernel, ends, total, item) for item in wanted]
    # Windows that overlap are one: a hundred quantiles may want nearly the same ranks.
    intervals = _joined(windows)
    cells = [((a - first) >> shift, ((b - first) >> shift) + 1) for a, b in intervals]
    before = [int(ends[c0]) for c0, _ in cells]
    inside = sum(int(ends[c1] - ends[c0]) for c0, c1 in cells)
    if inside > _LARGE and all(2 * (b - a) < last - first for a, b in windows):
        # Still many records, but in few lattice points: cut those finer, one window at a time.
        return [
            _read_cells(source, a, b, [item])[0]
            for (a, b), item in zip(windows, wanted, strict=True)
        ]
    records = _column(source.collect(Within(intervals)))
    read = [
        _window(records, total, below, a, b)
        for (a, b), below in zip(intervals, before, strict=True)
    ]
    starts = [a for a, _ in intervals]
    return [read[bisect_right(starts, a) - 1] for a, _ in windows]


def _narrow(kernel: CellCounts, ends: Counts, total: int, item: Wanted) -> tuple[int, int]:
    """Return the lattice window whose cells hold all ranks within reach."""
    before, upto = int(ends[0]), int(ends[-2])
    target = min(max(item.level * total, Fraction(before)), Fraction(upto))
    low = max(target - item.reach, Fraction(-1))
    high = min(target + item.reach, Fraction(total + 1))
    # ends[c] counts the records up to the end of cell c (1-based; 0 is "before first").
    cells = ends[1:-1]
    c0 = min(int(np.searchsorted(cells, _ceil(low), side="left")), kernel.cells - 1)
    c1 = min(int(np.searchsorted(cells, _floor(high), side="right")), kernel.cells - 1)
    a = kernel.first + (c0 << kernel.shift)
    b = min(kernel.first + ((c1 + 1) << kernel.shift) - 1, kernel.last)
    return a, b


def _window(records: Counts, total: int, before: int, first: int, last: int) -> Ranks:
    inside = records[(records >= first) & (records <= last)]
    values, counts = np.unique(inside, return_counts=True)
    upto = before + np.cumsum(counts)
    return Ranks(total, before, first, last, _sequence(values), _sequence(upto))


def _counted(first: int, counts: Counts, total: int, before: int) -> Ranks:
    """Make ranks from a count at every lattice point; entry 0 counts what lies before."""
    before += int(counts[0])
    filled = np.flatnonzero(counts[1:-1])
    upto = before + np.cumsum(counts[1:-1][filled])
    last = first + len(counts) - 3
    return Ranks(total, before, first, last, _sequence(filled + first), _sequence(upto))


def _sequence(values: Any) -> Sequence[int]:
    result: list[int] = values.tolist()
    return result


def _column(rows: Integers) -> Counts:
    return rows[:, 0].astype(np.int64)


def _joined(intervals: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Merge overlapping intervals, so that no record is brought home twice."""
    ordered = sorted(intervals)
    joined = [ordered[0]]
    for _, (a, b) in pairwise(ordered):
        if a <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], b))
        else:
            joined.append((a, b))
    return tuple(joined)


def _ceil(number: Fraction) -> int:
    return -((-number.numerator) // number.denominator)


def _floor(number: Fraction) -> int:
    return number.numerator // number.denominator
