"""The piece of Huber's loss that holds a given theta: sums over records, without rounding.

A record is within if |z'theta - y'| <= width, and only its sign counts otherwise. Residuals are
computed in float64 with a bound on their error; the few records that this does not decide are
decided in rational numbers. What is summed are whole numbers, below 2**53 in every batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from kng.core.design import Design
from kng.core.quadratic import Quadratic, rational
from kng.core.records import Integers
from kng.losses.kernels.gram import Gram, GramState, normal_equations

# Rows whose residuals stay in the processor's cache.
_CHUNK = 2**13
# A response is summed in parts of so many bits, each no larger than a covariate.
_PART = 16
# The error of a residual is below 2**-53 for each rounding: at most d + 8 of them, all of terms no
# larger than twice the coefficients and the response together. This is four times as much.
_ROUNDING = 2.0**-50

Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Piece:
    """Sums over the records within, and signed sums over the others: whole numbers."""

    within: GramState  # of the covariates
    cross: tuple[int, ...]  # sum of the response, and of its products with the covariates
    signs: tuple[int, ...]  # sum of the signs, and of the covariates times the signs

    def quadratic(self, design: Design, width: Fraction) -> Quadratic:
        """Return the summed loss on this piece, in standardised units."""
        first, *cross = self.cross
        p = len(cross)
        products = np.zeros((p + 1, p + 1), dtype=object)
        products[:-1, :-1] = [[int(v) for v in row] for row in self.within.products]
        products[:-1, -1] = products[-1, :-1] = cross  # its square enters no gradient
        sums = np.array([*(int(v) for v in self.within.sums), first], dtype=object)
        found = normal_equations(GramState(self.within.n, sums, products), design)
        # There the response is measured in halves of its span, here in halves of its scale.
        unit = design.halves[-1] / design.half_y
        total, *pushed = self.signs
        outside = [
            fmpq(2 * value - total * offset, span)
            for value, offset, span in zip(pushed, design.offsets, design.spans, strict=False)
        ]
        if design.intercept:
            outside = [fmpq(total), *outside]
        column = fmpq_mat(found.dim, 1, outside)
        return Quadratic(
            found.matrix * rational(1 / width), found.vector * rational(unit / width) - column
        )


@dataclass(frozen=True)
class PieceSums:
    """The piece that holds theta, summed in one pass."""

    design: Design
    theta: tuple[Fraction, ...]
    width: Fraction

    @property
    def _gram(self) -> Gram:
        return Gram(self.design.records.last[:-1])

    def zero(self) -> Piece:
        """No records."""
        gram = self._gram.zero()
        none = (0,) * (len(gram.sums) + 1)
        return Piece(gram, none, none)

    @cached_property
    def _line(self) -> tuple[tuple[Fraction, ...], Fraction, Fraction]:
        """Slopes of the covariates' integers, the constant, and half a step of the response.

        z = (2 k - c) / s, so that z'theta is linear in k; and y' = (2 k - c) half a step.
        """
        first = int(self.design.intercept)
        spans, offsets = self.design.spans[:-1], self.design.offsets[:-1]
        slopes = tuple(2 * t / s for t, s in zip(self.theta[first:], spans, strict=True))
        constant = self.theta[0] if first else Fraction(0)
        moved = sum((t * c / 2 for t, c in zip(slopes, offsets, strict=True)), Fraction(0))
        step = self.design.records.step[-1] / self.design.half_y / 2
        return slopes, constant - moved, step

    def partial(self, batch: Integers) -> Piece:
        """Sum one batch."""
        within, above = self._sorted(batch)
        outside = np.where(above, 1.0, -1.0)
        outside[within] = 0.0
        signs = (outside.sum(), *(outside @ batch[:, :-1]))
        state, cross = self._products(batch[within])
        return Piece(state, cross, tuple(int(v) for v in signs))

    def _products(self, records: Integers) -> tuple[GramState, tuple[int, ...]]:
        """Return sums and products of the covariates, and of the response with them."""
        gram, (n, p) = self._gram, (len(records), records.shape[1] - 1)
        if n * max(2**_PART, *gram.last) ** 2 >= 2**53 and n > 1:
            left, right = self._products(records[: n // 2]), self._products(records[n // 2 :])
            both = zip(left[1], right[1], strict=True)
            return gram.merge(left[0], right[0]), tuple(a + b for a, b in both)
        from kng.losses.kernels.products import products  # loaded by `load_products`

        # From the middle of its bounds a response is mostly small, and so are its parts.
        middle = self.design.offsets[-1] // 2
        parts = list(_parts(records[:, -1] - middle))
        columns = np.empty((p + len(parts), n))
        columns[:p], columns[p:] = records[:, :-1].T, parts
        sums, table = products(columns)
        plain = [n, *(int(v) for v in sums[:p])]
        cross = [middle * v for v in plain]
        for i in range(len(parts)):
            found = [sums[p + i], *table[:p, p + i]]
            cross = [c + int(v) * 2 ** (_PART * i) for c, v in zip(cross, found, strict=True)]
        return GramState.of(n, sums[:p], table[:p, :p]), tuple(cross)

    def merge(self, left: Piece, right: Piece) -> Piece:
        """Add."""
        return Piece(
            self._gram.merge(left.within, right.within),
            tuple(a + b for a, b in zip(left.cross, right.cross, strict=True)),
            tuple(a + b for a, b in zip(left.signs, right.signs, strict=True)),
        )

    def _sorted(self, batch: Integers) -> tuple[Marks, Marks]:
        """Return which records are within, and which lie below the plane, residual above 0."""
        slopes, constant, step = self._line
        weights, base, unit = np.array([float(v) for v in slopes]), float(constant), float(step)
        offset, width = self.design.offsets[-1], float(self.width)
        size = float(sum(map(abs, self.theta))) + width
        decided = cache(self._decided)  # records that are alike are decided once
        within = np.empty(len(batch), dtype=np.bool_)
        above = np.empty(len(batch), dtype=np.bool_)
        for at in range(0, len(batch), _CHUNK):
            block = batch[at : at + _CHUNK]
            response = (2 * block[:, -1] - offset) * unit
            residual = block[:, :-1] @ weights + (base - response)
            sizes = np.abs(residual)
            within[at : at + _CHUNK] = sizes <= width
            above[at : at + _CHUNK] = residual > 0
            error = _ROUNDING * (len(weights) + 8) * (size + np.abs(response))
            for i in np.flatnonzero(np.abs(sizes - width) <= error):
                within[at + i], above[at + i] = decided(tuple(block[i]))
        return within, above

    def _decided(self, record: tuple[float, ...]) -> tuple[bool, bool]:
        """Return the same for one record, in rational numbers."""
        slopes, constant, step = self._line
        *covariates, response = (int(v) for v in record)
        line = sum((t * k for t, k in zip(slopes, covariates, strict=True)), constant)
        residual = line - (2 * response - self.design.offsets[-1]) * step
        return abs(residual) <= self.width, residual > 0


def _parts(numbers: Integers) -> Iterator[Integers]:
    """Yield whole numbers in parts of 16 bits, the least first; the last part keeps the sign."""
    while np.abs(numbers).max(initial=0.0) >= 2**_PART:
        following = np.floor(numbers / 2**_PART)
        yield numbers - following * 2**_PART
        numbers = following
    yield numbers
