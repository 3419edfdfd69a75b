"""The tangent of a sum of scores at one point, and how far the sum can bend away from it.

    | psi(eta + h, y) - psi(eta, y) - psi'(eta, y) h |  <=  grain + bend h^2 / 2

for every record, so that around a point p, with delta = t - p and |x|_k the k-th entry's size,

    | sum x_k psi(x't) - g_k - (H delta)_k |  <=  grain sum |x|_k + bend delta'W_k delta / 2,

    g = sum x psi(x'p),   H = sum xx' psi'(x'p),   W_k = sum |x|_k xx'.

|delta|_W is a seminorm: over a box it is at most that of its middle and of its half sides together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.covering import Leaning
from kng.core.parts import Expansion
from kng.losses.enclosures.record_cells import LEFT_OUT
from kng.losses.kernels.linear_rows import ENDS
from kng.losses.pointwise.function import BentSteps

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Records at a time: 2**12 products of a psi up to 2**24 and an x up to 2**16 add up exactly.
_BLOCK = 2**12


@dataclass(frozen=True, slots=True)
class Tangent:
    """Sums over all records at a lattice point."""

    point: Array
    value: Array  # g
    slope: Array  # H
    bent: Array  # W_k, one matrix for each coordinate
    sizes: Array  # sum |x|
    bend: float
    grain: float
    lost: float  # what sums of values may be off by
    steep: float  # what slopes are at most, all together

    def expand(self, centre: Array, half: Array, lean: Leaning | None) -> tuple[Expansion, Mask]:
        """Expand the sum over boxes, and tell where the tangent bends away by little.

        At the point itself there is nothing but rounding.
        """
        away = centre - self.point
        bent = self._length(away) + half @ self._lengths(np.eye(len(self.point)))
        sides, turned = half, np.abs(self.slope)
        if lean is not None:
            leant = self._length(lean.centre - self.point) + lean.half @ self._lengths(lean.shear)
            leant += lean.slack @ self._lengths(np.eye(len(self.point)))
            bent = np.minimum(bent, leant)
            sides, turned = lean.half, np.abs(self.slope @ lean.shear)
        bends = self.bend / 2 * bent * bent
        cut = self.grain * self.sizes
        here = np.asarray((away == 0).all(axis=1) & (half == 0).all(axis=1))
        out = np.where(here[:, None], 0.0, (bends + cut) * (1 + 2.0**-40))
        far = (np.abs(away) + half).sum(axis=1)
        out += self.lost + self.steep * far[:, None]
        value = self.value + away @ self.slope.T
        slope = np.broadcast_to(self.slope, (len(centre), *self.slope.shape))
        little = (bends <= np.maximum(LEFT_OUT * (sides @ turned.T), cut)).all(axis=1)
        return Expansion(value, slope, out), here | (little & (half > 0).any(axis=1))

    def _length(self, vectors: Array) -> Array:
        """Return the seminorms of vectors, never below them: a column for each coordinate."""
        square = np.einsum("mi,kij,mj->mk", vectors, self.bent, vectors)
        size = np.abs(vectors)
        # Sums of (r / 2**12) blocks of 2**12 products each, and some ten more.
        doubt = np.einsum("mi,kij,mj->mk", size, np.abs(self.bent), size)
        return np.asarray(np.sqrt(np.maximum(square, 0.0) + 2.0**-36 * doubt))

    def _lengths(self, shear: Array) -> Array:
        """Return the seminorms of the columns of a matrix."""
        return self._length(shear.T)


def tangent_at(point: Array, rows: Array, response: Array, stepped: BentSteps) -> Tangent:
    """Return the tangent at a lattice point, from all records."""
    n, d = rows.shape
    value, slope, sizes = np.zeros(d), np.zeros((d, d)), np.zeros(d)
    bent, steepest = np.zeros((d, d, d)), 0.0
    for at in range(0, n, _BLOCK):
        x, y = rows[at : at + _BLOCK], response[at : at + _BLOCK]
        psi, slopes = stepped.tangents(x @ point, y)
        value += psi @ x
        slope += (x * slopes[:, None]).T @ x
        steepest = max(steepest, float(np.abs(slopes).max(initial=0.0)))
        lengths = np.abs(x)
        sizes += lengths.sum(axis=0)
        for k in range(d):
            bent[k] += (x * lengths[:, k : k + 1]).T @ x
    rounding = 2.0**-52 * (_BLOCK + n / _BLOCK + 4 * d + 8)
    whole = 2.0**-52 * (n / _BLOCK + 1)  # blocks of values are exact
    return Tangent(
        point,
        value,
        slope,
        bent,
        sizes,
        stepped.bend,
        stepped.grain,
        whole * n * ENDS / float(stepped.psi_step),
        2 * rounding * n * ENDS**2 * steepest,
    )
