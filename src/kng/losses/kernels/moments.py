"""Number, sum and sum of squares of records, exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kng.core.parts import Point
from kng.core.records import Integers

# A record of 44 bits is cut into halves of 22, so that 2**17 of their products fit an int64.
_HALF_BITS = 22


@dataclass(frozen=True, slots=True)
class MomentState:
    """Number of records, column sums and column sums of squares."""

    n: int
    sums: Point
    squares: Point


@dataclass(frozen=True, slots=True)
class Moments:
    """Exact first and second moments of the first column."""

    def zero(self) -> MomentState:
        """No records."""
        return MomentState(0, (0,), (0,))

    def partial(self, batch: Integers) -> MomentState:
        """Square in halves, so that nothing exceeds an int64."""
        x = batch[:, 0].astype(np.int64)
        high, low = x >> _HALF_BITS, x & ((1 << _HALF_BITS) - 1)
        parts = [int(np.dot(a, b)) for a, b in ((high, high), (high, low), (low, low))]
        square = (parts[0] << 2 * _HALF_BITS) + (parts[1] << (_HALF_BITS + 1)) + parts[2]
        return MomentState(len(x), (int(x.sum()),), (square,))

    def merge(self, left: MomentState, right: MomentState) -> MomentState:
        """Add as Python integers, which cannot overflow."""
        return MomentState(
            left.n + right.n,
            (left.sums[0] + right.sums[0],),
            (left.squares[0] + right.squares[0],),
        )
