"""Sums over records that a gradient and its derivative are made of, in real arithmetic.

Records are read as the whole numbers of `LinearRows`, a block at a time, so that a pass needs no
more memory than a block. With x and y of a record, and predictions in the function's own units,

    eta = x'theta per_theta,     response = y per_y,     G = sum psi x / ENDS
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.records import Integers, Selection
from kng.losses.kernels.linear_rows import ENDS
from kng.losses.pointwise.sloped import Sloped

Array = NDArray[np.float64]

# Records at a time, and entries (records times theta, or radii): a few arrays of them stay in the
# processor's cache.
_BLOCK = 2**12
_ENTRIES = 2**16


@dataclass(frozen=True, slots=True)
class SlopedRows:
    """How whole numbers become predictions and responses, and the function of both."""

    rows: Selection
    function: Sloped
    per_theta: float
    per_y: float

    def blocks(self, batch: Integers, columns: int) -> Iterator[tuple[Array, Array]]:
        """Yield x, and responses, of so many records that ``columns`` entries each fit."""
        size = max(1, min(_BLOCK, _ENTRIES // columns))
        for at in range(0, len(batch), size):
            table = self.rows.select(batch[at : at + size])
            yield table[:, :-1], table[:, -1] * self.per_y


@dataclass(frozen=True, slots=True)
class GradientSums:
    """G at rows of theta."""

    records: SlopedRows
    thetas: Array

    def zero(self) -> Array:
        """No records."""
        return np.zeros(self.thetas.shape)

    def partial(self, batch: Integers) -> Array:
        """Sum one batch."""
        records, total = self.records, self.zero()
        scaled = self.thetas.T * records.per_theta
        for x, y in records.blocks(batch, len(self.thetas)):
            psi, _ = records.function.curve(x @ scaled, y[:, None])
            total += psi.T @ x
        return total / ENDS

    def merge(self, left: Array, right: Array) -> Array:
        """Add."""
        return left + right


@dataclass(frozen=True, slots=True)
class CurvatureSums:
    """G in the first row, then H, at one theta.

    With a width, slopes are at least  (psi(eta + width) - psi(eta - width)) / 2 width.
    """

    records: SlopedRows
    theta: Array
    width: float

    def zero(self) -> Array:
        """No records."""
        return np.zeros((len(self.theta) + 1, len(self.theta)))

    def partial(self, batch: Integers) -> Array:
        """Sum one batch."""
        records, total = self.records, self.zero()
        scaled, curve = self.theta * records.per_theta, records.function.curve
        for x, y in records.blocks(batch, 1):
            eta = x @ scaled
            psi, slope = curve(eta, y)
            if self.width:
                rise = curve(eta + self.width, y)[0] - curve(eta - self.width, y)[0]
                slope = np.maximum(slope, rise / (2 * self.width))
            total[0] += psi @ x
            total[1:] += (x * slope[:, None]).T @ x
        total[1:] *= records.per_theta
        return total / ENDS

    def merge(self, left: Array, right: Array) -> Array:
        """Add."""
        return left + right


@dataclass(frozen=True, slots=True)
class LeastCurvatureSums:
    """sum of w x x' with the least slopes w, then with the least secants, for each radius.

    On the ellipsoid a prediction moves by at most  radius || root'x || per_theta.
    """

    records: SlopedRows
    centre: Array
    root: Array
    radii: Array

    @property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, columns = np.tril_indices(len(self.centre))
        return rows, columns

    def zero(self) -> Array:
        """No records."""
        d = len(self.centre)
        return np.zeros((2, len(self.radii), d * (d + 1) // 2))

    def partial(self, batch: Integers) -> Array:
        """Sum one batch: the entries of a triangle."""
        records, total, (rows, columns) = self.records, self.zero(), self._pairs
        scaled, radii = self.centre * records.per_theta, self.radii * records.per_theta
        for x, y in records.blocks(batch, len(radii)):
            spread = x @ self.root
            reach = np.sqrt((spread * spread).sum(axis=1))[:, None] * radii
            eta = (x @ scaled)[:, None]
            least, secant = records.function.least_slopes(eta, reach, y[:, None])
            products = x[:, rows] * x[:, columns]
            total[0] += least.T @ products
            total[1] += secant.T @ products
        return total * (records.per_theta / ENDS)

    def merge(self, left: Array, right: Array) -> Array:
        """Add."""
        return left + right

    def matrices(self, sums: Array) -> Array:
        """Return symmetric matrices from their triangles."""
        d, (rows, columns) = len(self.centre), self._pairs
        found = np.empty((2, len(self.radii), d, d))
        found[:, :, rows, columns] = sums
        found[:, :, columns, rows] = sums
        return found
