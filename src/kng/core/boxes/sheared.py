"""Boxes of lattice points in sheared coordinates: where a cover keeps them, and points of them.

    t_j = u_j + floor( sum_{k > j} V_jk u_k ),     theta = pilot + t      a bijection of the lattice

A box is a run of 2**e_j points along each u_j.
"""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.boxes.halving import LOWER, POINTS, REAL, UPPER
from kng.core.parts import Point, Points, Walled

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# The shear is in multiples of 2**-SHIFT and no entry beyond STEEPEST. Covariates are multiples of
# 2**-16, so a constant one is sheared away exactly.
SHIFT = 16
_STEEPEST = 4.0
# Sums of products with walls up to this size, in up to five coordinates, round by less than a half.
_LARGEST_FORM = 2.0**46
# Boxes that there is room for at first.
_FIRST = 1024


class ShearedBoxes:
    """Corners, sides and bounds of boxes around a pilot.

    ``whole`` and ``real`` count what a loop keeps of each box besides: whole numbers and real ones.
    """

    def __init__(
        self, domain: Walled | Points, pilot: Array, shear: Array, whole: int, real: int
    ) -> None:
        d = domain.dim
        self.pilot: Point = tuple(int(v) for v in pilot)
        steep = np.triu(np.clip(shear, -_STEEPEST, _STEEPEST), 1)
        self.turn = np.rint(steep * 2**SHIFT).astype(np.int64)
        self.shear = np.ascontiguousarray(np.eye(d) + self.turn / 2**SHIFT)
        self.whole = np.zeros((_FIRST, 2 * d + whole), np.int64)
        self.real = np.zeros((_FIRST, REAL + real))
        self.heap = np.zeros(_FIRST, np.int64)
        self.made, self.waiting = 0, 0
        # A loop that meets no walls asks the domain itself which boxes lie inside.
        walls = domain.inequalities() if hasattr(domain, "inequalities") else []
        self.walls = np.array([[float(v) for v in row] for row, _ in walls])
        self.limits = np.array(
            [
                float(b - sum(a * t for a, t in zip(row, self.pilot, strict=True)))
                for row, b in walls
            ]
        )
        self._root(domain)
        if self._far():
            self.turn[:], self.shear[:] = 0, np.eye(d)
            self._root(domain)

    def _far(self) -> bool:
        """Whether sums of products with walls could round by a half; only a steep shear makes them.

        docs/proofs/domains/half_spaces.md counts them.
        """
        d = len(self.pilot)
        sides = np.abs(self.shear) @ 2.0 ** self.whole[0, d : 2 * d]
        return len(self.walls) > 0 and bool((np.abs(self.walls) @ sides).max() > _LARGEST_FORM)

    def _root(self, domain: Walled | Points) -> None:
        """Make the root: a box around the domain with the pilot at a third of every side.

        A third stays a third or two thirds of the side when boxes are halved, so that the boxes
        around the pilot are never cut through it.
        """
        d = domain.dim
        back = np.linalg.inv(self.shear)
        low = np.array([f - p for f, p in zip(domain.first, self.pilot, strict=True)], float)
        high = np.array([b - p + 1 for b, p in zip(domain.last, self.pilot, strict=True)], float)
        least = np.minimum(back * low, back * high).sum(axis=1)
        most = np.maximum(back * low, back * high).sum(axis=1)
        for j in range(d):
            margin = 4 + 2.0**-20 * max(abs(least[j]), abs(most[j]))
            need = max(3 * (margin - least[j]), 1.5 * (margin + most[j]))
            bits = max(1, ceil(log2(need)))
            self.whole[0, j] = -(2**bits // 3)
            self.whole[0, d + j] = bits

    def grow(self) -> None:
        """Make room for twice as many boxes."""
        self.whole, self.real, self.heap = map(longer, (self.whole, self.real, self.heap))

    def live(self) -> Whole:
        """Return the boxes that have not been halved and are not wholly outside."""
        return np.flatnonzero(np.isfinite(self.real[: self.made, POINTS]))

    def lower(self, boxes: Whole) -> Array:
        """Return the lower bounds on the exponent."""
        return np.asarray(self.real[boxes, LOWER])

    def upper(self, boxes: Whole) -> Array:
        """Return the upper bounds on the exponent; infinite if a box is not wholly inside."""
        return np.asarray(self.real[boxes, UPPER])

    def log_points(self, boxes: Whole) -> Whole:
        """Return log2 of the number of points of each box."""
        d = len(self.pilot)
        return np.asarray(self.whole[boxes, d : 2 * d].sum(axis=1))

    def offset(self, box: int, bits: Bits) -> Whole:
        """Return a uniform lattice point of a box, from the pilot."""
        d = len(self.pilot)
        corner, sides = self.whole[box, :d], self.whole[box, d : 2 * d]
        u = np.array([int(a) + bits.take(int(e)) for a, e in zip(corner, sides, strict=True)])
        return np.asarray(self.sheared(u[None, :])[0])

    def offsets(self, boxes: Whole, words: NDArray[np.uint64]) -> Whole:
        """Return a uniform lattice point of each box, from the pilot and one word a coordinate."""
        d = len(self.pilot)
        sides = self.whole[boxes, d : 2 * d]
        steps = (words.T.astype(np.uint64) >> np.uint64(1)) >> (63 - sides).astype(np.uint64)
        return self.sheared(self.whole[boxes, :d] + steps.astype(np.int64))

    def sheared(self, u: Whole) -> Whole:
        """Return t_j = u_j + floor( sum V_jk u_k )."""
        return np.asarray(u + ((u @ self.turn.T) >> SHIFT))

    def point(self, t: Whole) -> Point:
        """Return the lattice point at an offset."""
        return tuple(p + int(v) for p, v in zip(self.pilot, t, strict=True))


def longer(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy with twice the room."""
    out = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out
