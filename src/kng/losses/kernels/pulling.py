"""Records pulled into a ball, one by one, in whole numbers; then their exact sum.

    x  ->  x                                  inside
    x  ->  x / ||x||, truncated towards 0     outside, then shrunk until it is inside

z counts steps from the centre of the ball. Lengths are float64 and decide how far a record is
pulled; that it ends up inside is decided by whole numbers alone. Each operation acts on one record
and is correctly rounded, so a record becomes the same numbers in every batch, in every position.

Privacy  docs/proofs/losses/ball.md.
Cost     One pass; some ten operations a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kng.core.parts import Array, Mask, Point
from kng.core.records import Integers

Whole = NDArray[np.int64]
# A record whose length comes out above this lies outside, whatever was rounded.
_OUTSIDE = 1.25
# By how much a record is shrunk again that truncation has left outside, first and at most.
_LESS, _LEAST = 2.0**-20, 0.5
# What sums of whole numbers may reach.
MOST = 2**62


class Gauge(Protocol):
    """A ball around 0 in whole steps; columns of z are rows of the arrays."""

    def lengths(self, z: Array) -> Array:
        """Return the norm of each record, as a share of the radius, up to a few roundings."""
        ...

    def inside(self, z: Whole) -> Mask:
        """Tell exactly which records lie in the ball, if sums stay below `MOST`."""
        ...

    @property
    def least(self) -> int:
        """The smallest limit; a record one step from 0 may lie inside only if it is 1 or more."""
        ...

    def largest(self, reach: Sequence[int]) -> int:
        """Return what `inside` adds up to at most, for records of at most this reach."""
        ...


@dataclass(frozen=True, slots=True)
class RoundGauge:
    """sum_j (weight_j z_j)^2 <= limit."""

    weights: Point
    limit: int

    def lengths(self, z: Array) -> Array:
        """Return the root of the sum of squares, over that of the limit."""
        total = np.zeros(z.shape[1])
        for w, column in zip(self.weights, z, strict=True):
            scaled = column * (w / float(self.limit) ** 0.5)
            total += scaled * scaled
        return np.sqrt(total)

    def inside(self, z: Whole) -> Mask:
        """Add up squares in int64."""
        total = np.zeros(z.shape[1], dtype=np.int64)
        for w, column in zip(self.weights, z, strict=True):
            total += (w * column) ** 2
        return np.asarray(total <= self.limit)

    @property
    def least(self) -> int:
        """The limit."""
        return self.limit

    def largest(self, reach: Sequence[int]) -> int:
        """Return the sum of the squares of all ends."""
        return sum((w * k) ** 2 for w, k in zip(self.weights, reach, strict=True))


@dataclass(frozen=True, slots=True)
class SumGauge:
    """sum_j weight_j |z_j| <= limit."""

    weights: Point
    limit: int

    def lengths(self, z: Array) -> Array:
        """Return the sum over the limit."""
        total = np.zeros(z.shape[1])
        for w, column in zip(self.weights, z, strict=True):
            total += np.abs(column) * (w / self.limit)
        return total

    def inside(self, z: Whole) -> Mask:
        """Add up sizes in int64."""
        total = np.zeros(z.shape[1], dtype=np.int64)
        for w, column in zip(self.weights, z, strict=True):
            total += w * np.abs(column)
        return np.asarray(total <= self.limit)

    @property
    def least(self) -> int:
        """The limit."""
        return self.limit

    def largest(self, reach: Sequence[int]) -> int:
        """Return the sum of all ends."""
        return sum(w * k for w, k in zip(self.weights, reach, strict=True))


@dataclass(frozen=True, slots=True)
class WalledGauge:
    """|a_k'z| <= limit_k for all k."""

    walls: tuple[tuple[Point, int], ...]

    def lengths(self, z: Array) -> Array:
        """Return the largest |a_k'z| / limit_k."""
        most = np.zeros(z.shape[1])
        for row, limit in self.walls:
            total = np.zeros(z.shape[1])
            for a, column in zip(row, z, strict=True):
                total += column * (a / limit)
            most = np.maximum(most, np.abs(total))
        return most

    def inside(self, z: Whole) -> Mask:
        """Ask every wall in int64."""
        found = np.ones(z.shape[1], dtype=np.bool_)
        for row, limit in self.walls:
            total = np.zeros(z.shape[1], dtype=np.int64)
            for a, column in zip(row, z, strict=True):
                total += a * column
            found &= np.abs(total) <= limit
        return found

    @property
    def least(self) -> int:
        """The smallest of the limits."""
        return min(limit for _, limit in self.walls)

    def largest(self, reach: Sequence[int]) -> int:
        """Return the largest sum of sizes of a wall."""
        sums = [sum(abs(a) * k for a, k in zip(r, reach, strict=True)) for r, _ in self.walls]
        return max(sums)


@dataclass(frozen=True, slots=True)
class PulledSums:
    """Number of records and exact column sums, counted from the centre of a ball."""

    gauge: Gauge
    centre: Point

    def zero(self) -> tuple[int, Point]:
        """No records."""
        return 0, (0,) * len(self.centre)

    def partial(self, batch: Integers) -> tuple[int, Point]:
        """Pull each record of a batch, and add them up in int64."""
        z = batch.T - np.array(self.centre, dtype=np.float64)[:, None]
        return len(batch), tuple(int(column.sum()) for column in pulled(z, self.gauge))

    def merge(self, left: tuple[int, Point], right: tuple[int, Point]) -> tuple[int, Point]:
        """Add as Python integers, which cannot overflow."""
        return left[0] + right[0], tuple(a + b for a, b in zip(left[1], right[1], strict=True))


def pulled(z: Array, gauge: Gauge) -> Whole:
    """Return records in the ball, for columns of whole numbers from its centre."""
    lengths = gauge.lengths(z)
    # Whole numbers stay small enough for `inside` once what is far outside is divided.
    found = np.trunc(z / np.where(lengths > _OUTSIDE, lengths, 1.0)).astype(np.int64)
    outside = np.flatnonzero(~gauge.inside(found))
    if len(outside):
        rest, own = z[:, outside], np.maximum(lengths[outside], 1.0)
        found[:, outside] = np.trunc(rest / own).astype(np.int64)
        outside = outside[~gauge.inside(found[:, outside])]
    # Truncation makes every number that is not 0 smaller by one or more, and 0 lies inside.
    less = _LESS
    while len(outside):
        found[:, outside] = np.trunc(found[:, outside] * (1 - less)).astype(np.int64)
        outside = outside[~gauge.inside(found[:, outside])]
        less = min(2 * less, _LEAST)
    return found
