"""All products of two columns, summed exactly in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from kng.core.design import Design
from kng.core.parts import Point
from kng.core.quadratic import Quadratic
from kng.core.records import Integers

Matrix = NDArray[np.float64]
Table = NDArray[Any]


def load_products() -> None:
    """Load the compiled sums, before anything is charged; a mean does not need them."""
    from kng.core.compiled import load
    from kng.losses.kernels.products import products

    load(products)


@dataclass(frozen=True, slots=True)
class GramState:
    """Number of records, column sums, and products of two columns, all whole numbers.

    They are int64 while every entry must be below 2**63, and Python integers after that.
    """

    n: int
    sums: Table
    products: Table

    @classmethod
    def of(cls, n: int, sums: Matrix, products: Matrix) -> GramState:
        """Take sums of one batch, whole numbers that float64 holds."""
        return cls(n, sums.astype(np.int64), products.astype(np.int64))

    def unbounded(self) -> GramState:
        """Return the same in Python integers."""
        return GramState(self.n, self.sums.astype(object), self.products.astype(object))


@dataclass(frozen=True, slots=True)
class Gram:
    """Exact sums of products of integer columns.

    Products of float64 are added in whatever order is fast; with all partial sums below 2**53
    every order gives the same integers.
    """

    last: Point

    def _fits(self, records: int, limit: int) -> bool:
        return records * max(self.last) ** 2 < limit

    def zero(self) -> GramState:
        """No records."""
        d = len(self.last)
        return GramState(0, np.zeros(d, np.int64), np.zeros((d, d), np.int64))

    def partial(self, batch: Integers) -> GramState:
        """Multiply and add one batch, halved until it is small enough to be exact."""
        if not self._fits(len(batch), 2**53) and len(batch) > 1:
            half = len(batch) // 2
            return self.merge(self.partial(batch[:half]), self.partial(batch[half:]))
        from kng.losses.kernels.products import products  # loaded by `load_products`

        return GramState.of(len(batch), *products(np.ascontiguousarray(batch.T)))

    def merge(self, left: GramState, right: GramState) -> GramState:
        """Add, as Python integers once an int64 might overflow."""
        n = left.n + right.n
        if not self._fits(n, 2**63):
            left, right = left.unbounded(), right.unbounded()
        return GramState(n, left.sums + right.sums, left.products + right.products)


def standardised(state: GramState, design: Design) -> tuple[Matrix, Matrix]:
    """Return A = sum z z' and b = sum z y' as correctly rounded float64."""
    exact = normal_equations(state, design)
    matrix = np.array([[float(v) for v in row] for row in exact.rows])
    return matrix, np.array([float(v) for v in exact.right])


def normal_equations(state: GramState, design: Design) -> Quadratic:
    """Return A = sum z z' and b = sum z y' in rational numbers.

    The standardised value of an integer k is (2 k - c) / s, with the design's offset c and span s,
    so that

        sum z_i z_j = (4 sum k_i k_j - 2 c_j sum k_i - 2 c_i sum k_j + n c_i c_j) / (s_i s_j).
    """
    span, offset, n = design.spans, design.offsets, int(state.n)
    full = [[int(v) for v in row] for row in state.products.tolist()]
    sums = [int(v) for v in state.sums.tolist()]
    moved = [2 * total - n * c for total, c in zip(sums, offset, strict=True)]
    first, last = int(design.intercept), len(span) - 1  # with an intercept, a column of ones
    size = last + first
    matrix, vector = fmpq_mat(size, size), fmpq_mat(size, 1)
    if first:
        matrix[0, 0], vector[0, 0] = fmpq(n), fmpq(moved[last], span[last])
    for i in range(last):
        row, at = full[i], i + first
        if first:
            matrix[0, at] = matrix[at, 0] = fmpq(moved[i], span[i])
        for j in range(i, last + 1):
            product = 4 * row[j] - 2 * offset[j] * sums[i] - offset[i] * moved[j]
            value = fmpq(product, span[i] * span[j])
            if j == last:
                vector[at, 0] = value
            else:
                matrix[at, j + first] = matrix[j + first, at] = value
    return Quadratic(matrix, vector)
