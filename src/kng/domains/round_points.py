"""Lattice points of a Euclidean ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kng.core.errors import SpecError
from kng.core.parts import Array, Mask, Point
from kng.domains.points import EXACT, MOST_BITS, LatticeBox, around
from kng.domains.within_box import WithinBox


@dataclass(frozen=True, slots=True)
class RoundPoints(WithinBox):
    """Lattice points of a box with a bounded sum of squares.

        { k in box : sum_j (w_j k_j - c_j)^2 <= limit }

    Paper    none; Section 4.2 has an l1 ball.
    Privacy  Public: all numbers come from a radius, steps and origins.
             docs/proofs/domains/half_spaces.md.
    Cost     O(d) for a point or a box.
    """

    box: LatticeBox
    weights: Point
    centre: Point
    limit: int
    inner: Point  # a point inside

    def __post_init__(self) -> None:
        if any(w < 1 for w in self.weights):
            raise SpecError("RoundPoints needs positive weights.")
        # Squares stay far below what float64 can hold, whatever the corner of the box.
        ends = (*self.box.first, *self.box.last)
        reach = max(map(abs, ends)) * max(self.weights) + max(map(abs, self.centre))
        if reach.bit_length() > MOST_BITS or self.limit.bit_length() > 2 * MOST_BITS:
            raise SpecError(
                "The radius of L2Ball and the steps of the coordinates have no common measure of a "
                "usable size. Use steps whose ratios are simple, such as powers of two."
            )
        if not self.contains(self.inner):
            raise SpecError("RoundPoints: the point that should lie inside does not.")

    def home(self) -> Point:
        """Return the point inside that was chosen from public numbers."""
        return self.inner

    def contains(self, point: Point) -> bool:
        """Whether a lattice point lies inside."""
        numbers = zip(point, self.weights, self.centre, strict=True)
        return self.box.contains(point) and sum((w * k - c) ** 2 for k, w, c in numbers) <= (
            self.limit
        )

    def beside(self, low: Array, high: Array) -> tuple[Mask, Mask]:
        """Tell of boxes, rows of corners, which lie wholly inside and which wholly outside.

        A sum of squares is largest at ends of sides, and least at ends or where a square is 0.
        Rounding is covered by a margin, which is 0 where there is none.
        """
        weights, centre = np.array(self.weights, float), np.array(self.centre, float)
        with np.errstate(invalid="ignore", over="ignore"):
            ends = [weights * corner - centre for corner in (low, high)]
            squares = [end * end for end in ends]
            across = (ends[0] <= 0) & (ends[1] >= 0)
            most = np.maximum(*squares).sum(axis=1)
            least = np.where(across, 0.0, np.minimum(*squares)).sum(axis=1)
            reach = weights * np.maximum(np.abs(low), np.abs(high)) + np.abs(centre)
            size = (reach * reach).sum(axis=1)
            halves = (np.rint(2 * low) == 2 * low) & (np.rint(2 * high) == 2 * high)
            exact = halves.all(axis=1) & (size <= EXACT)
            margin = np.where(exact, 0.0, (self.dim + 16) * 2.0**-51 * size)
            (below,), (above,) = around((self.limit,))
            inside, outside = self.box.beside(low, high)
            inside = inside & (most + margin <= below)
            outside = outside | (least - margin > above)
        return np.asarray(inside), np.asarray(outside)
