"""Summed losses that are quadratic, or quadratic in pieces, in rational numbers and in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from kng.core.regions import Theta

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Quadratic:
    """A quadratic with the gradient ``matrix @ theta - vector``, in rational numbers."""

    matrix: fmpq_mat
    vector: fmpq_mat  # one column

    @classmethod
    def of(cls, rows: Sequence[Sequence[Fraction]], vector: Sequence[Fraction]) -> Quadratic:
        """Read a matrix by its rows, and a vector."""
        d = len(vector)
        numbers = [rational(v) for row in rows for v in row]
        return cls(fmpq_mat(d, d, numbers), fmpq_mat(d, 1, [rational(v) for v in vector]))

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return int(self.vector.nrows())

    @property
    def rows(self) -> tuple[Theta, ...]:
        """The matrix, row by row."""
        return tuple(tuple(map(fraction, row)) for row in self.matrix.tolist())

    @property
    def right(self) -> Theta:
        """The vector."""
        return tuple(map(fraction, self.vector.entries()))

    def plus(self, ridge: Fraction, linear: Sequence[Fraction]) -> Quadratic:
        """Add (ridge / 2) ||theta||^2 + linear'theta."""
        matrix, added = fmpq_mat(self.matrix), rational(ridge)
        for j in range(self.dim):
            matrix[j, j] += added
        shift = fmpq_mat(self.dim, 1, [rational(u) for u in linear])
        return Quadratic(matrix, self.vector - shift)


def rational(number: Fraction) -> fmpq:
    """Return a fraction as FLINT's."""
    return fmpq(number.numerator, number.denominator)


def fraction(number: fmpq) -> Fraction:
    """Return FLINT's fraction as Python's."""
    return Fraction(int(number.p), int(number.q))


@dataclass(frozen=True, slots=True)
class AffineGradient:
    """A gradient ``matrix @ theta - vector`` in float64."""

    matrix: Matrix
    vector: Vector

    def derivatives(self, theta: Vector) -> tuple[float, Vector, Matrix]:
        """Return value (up to a constant), gradient and Hessian."""
        gradient = self.matrix @ theta - self.vector
        value = float(theta @ (gradient - self.vector)) / 2
        return value, gradient, self.matrix

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:  # noqa: ARG002
        """Return the quadratic itself; float64 are rational numbers too."""
        return Quadratic.of(
            [[Fraction(v) for v in row] for row in self.matrix], [Fraction(v) for v in self.vector]
        )
