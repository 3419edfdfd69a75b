"""Number of records and sum of each column, exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kng.core.parts import Point
from kng.core.records import Integers


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of records, then column sums: whole numbers of at most 2**61 in a batch."""

    columns: int

    def zero(self) -> Point:
        """No records."""
        return (0,) * (self.columns + 1)

    def partial(self, batch: Integers) -> Point:
        """Sum one batch."""
        return len(batch), *(int(v) for v in batch.astype(np.int64).sum(axis=0))

    def merge(self, left: Point, right: Point) -> Point:
        """Add."""
        return tuple(a + b for a, b in zip(left, right, strict=True))
