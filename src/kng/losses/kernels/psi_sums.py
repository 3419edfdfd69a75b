"""Sums of psi x at some lattice points, exactly, in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.records import Integers
from kng.losses.kernels.linear_rows import LinearRows
from kng.losses.pointwise.function import Stepped

Array = NDArray[np.float64]
Totals = tuple[tuple[int, ...], ...]

# Records at a time: 2**12 products of a part of psi below 2**24 and a covariate of at most 2**16
# stay below 2**53, in every order.
BLOCK = 2**12
_PART = 2**24


@dataclass(frozen=True, slots=True)
class PsiSums:
    """The sum of  psi x  over all records, at every one of some points; ``largest`` bounds |psi|.

    |x_j| is at most ENDS, and x't and y are whole numbers below 2**52, so float64 knows them.
    """

    rows: LinearRows
    stepped: Stepped
    largest: int
    points: tuple[tuple[int, ...], ...]

    def zero(self) -> Totals:
        """No records."""
        return tuple((0,) * self.rows.design.dim for _ in self.points)

    def partial(self, batch: Integers) -> Totals:
        """Sum one batch."""
        table = self.rows.select(batch)
        return tuple(self._at(np.array([float(k) for k in t]), table) for t in self.points)

    def merge(self, left: Totals, right: Totals) -> Totals:
        """Add."""
        return tuple(
            tuple(a + b for a, b in zip(mine, other, strict=True))
            for mine, other in zip(left, right, strict=True)
        )

    def _at(self, t: Array, table: Array) -> tuple[int, ...]:
        total = [0] * len(t)
        for at in range(0, len(table), BLOCK):
            x, y = table[at : at + BLOCK, :-1], table[at : at + BLOCK, -1]
            for part, worth in parts_of(self.stepped.psi(x @ t, y), self.largest):
                total = [a + worth * int(b) for a, b in zip(total, part @ x, strict=True)]
        return tuple(total)


def parts_of(psi: Array, largest: int) -> Iterator[tuple[Array, int]]:
    """Yield psi in parts below 2**24 and what each is worth; how many is public."""
    worth = 1
    while largest > _PART:
        following = np.floor(psi / _PART)
        yield psi - following * _PART, worth
        psi, largest, worth = following, -(-largest // _PART), worth * _PART
    yield psi, worth
