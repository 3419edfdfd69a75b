"""All products of two columns, summed exactly in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kng.core.design import Design
from kng.core.protocols import Integers, Point

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GramState:
    """Number of records, column sums, and the upper triangle of column products."""

    n: int
    sums: Point
    products: Point


@dataclass(frozen=True, slots=True)
class Gram:
    """Exact sums of products of integer columns.

    BLAS adds float64 products in any order it likes; with all partial sums below 2**53 every
    order gives the same integers.
    """

    last: Point

    @property
    def _rows(self) -> int:
        return max(1, 2**53 // max(self.last) ** 2)

    def zero(self) -> GramState:
        """No records."""
        d = len(self.last)
        return GramState(0, (0,) * d, (0,) * (d * (d + 1) // 2))

    def partial(self, batch: Integers) -> GramState:
        """Multiply and add one batch, in blocks small enough to be exact."""
        state, upper = self.zero(), np.triu_indices(len(self.last))
        for at in range(0, len(batch), self._rows):
            block = batch[at : at + self._rows]
            products = (block.T @ block)[upper]
            sums = np.ones(len(block)) @ block
            part = GramState(len(block), _whole(sums), _whole(products))
            state = self.merge(state, part)
        return state

    def merge(self, left: GramState, right: GramState) -> GramState:
        """Add as Python integers, which cannot overflow."""
        return GramState(
            left.n + right.n,
            tuple(a + b for a, b in zip(left.sums, right.sums, strict=True)),
            tuple(a + b for a, b in zip(left.products, right.products, strict=True)),
        )


def _whole(values: Matrix) -> Point:
    return tuple(int(v) for v in values)


def standardised(state: GramState, design: Design) -> tuple[Matrix, Matrix]:
    """Return A = sum z z' and b = sum z y' as correctly rounded float64.

    With integers k in 0 .. last the standardised value is (2 k - last) / last, so that

        sum z_i z_j = (4 sum k_i k_j - 2 last_j sum k_i - 2 last_i sum k_j + n last_i last_j)
                      / (last_i last_j).
    """
    last = design.records.last
    width = len(last)
    full = np.zeros((width, width), dtype=object)
    full[np.triu_indices(width)] = state.products
    ones = [1] * design.intercept  # a column that is 1 everywhere
    size = width + len(ones)
    table = [[Fraction(0)] * size for _ in range(size)]
    for i in range(width):
        centred = Fraction(2 * state.sums[i] - state.n * last[i], last[i])
        for row, column in ((0, i + 1), (i + 1, 0)) if ones else ():
            table[row][column] = centred
        for j in range(i, width):
            product = (
                4 * full[i, j]
                - 2 * last[j] * state.sums[i]
                - 2 * last[i] * state.sums[j]
                + state.n * last[i] * last[j]
            )
            value = Fraction(product, last[i] * last[j])
            table[i + len(ones)][j + len(ones)] = table[j + len(ones)][i + len(ones)] = value
    if ones:
        table[0][0] = Fraction(state.n)
    square = np.array([[float(v) for v in row] for row in table])
    return square[:-1, :-1], square[:-1, -1]
