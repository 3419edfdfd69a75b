"""Lattice points of bounded domains: a box of them, and a box with walls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, inf, lcm, nextafter

import numpy as np

from kng.core.errors import SpecError
from kng.core.lattice import Lattice
from kng.core.parts import Array, Mask, Point
from kng.domains.within_box import WithinBox

# Whole numbers of walls stay far below what float64 can hold.
MOST_BITS = 500
# Sums of multiples of 1/2 up to this size are exact in float64, in any order.
EXACT = 2.0**51


@dataclass(frozen=True, slots=True)
class LatticeBox:
    """All lattice points between two corners.

        { k : first_j <= k_j <= last_j }

    Paper    Its densities for bounded scores are improper without a bounded Theta
             (docs/paper-map.md).
    Privacy  Public: corners come from bounds and steps.
    Cost     O(d).
    """

    first: Point
    last: Point

    def __post_init__(self) -> None:
        if not self.first or len(self.first) != len(self.last):
            raise SpecError("LatticeBox needs two corners with the same number of coordinates.")
        if any(a > b for a, b in zip(self.first, self.last, strict=True)):
            raise SpecError("LatticeBox: the first corner lies beyond the last.")

    @classmethod
    def of(cls, lattice: Lattice) -> LatticeBox:
        """Return the box of all points of a lattice."""
        return cls((0,) * len(lattice.last), lattice.last)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.first)

    @property
    def proper(self) -> bool:
        """A box is finite."""
        return True

    @property
    def points(self) -> int:
        """How many lattice points it holds."""
        product = 1
        for a, b in zip(self.first, self.last, strict=True):
            product *= b - a + 1
        return product

    def home(self) -> Point:
        """Return the middle."""
        return tuple((a + b) // 2 for a, b in zip(self.first, self.last, strict=True))

    def inequalities(self) -> list[tuple[Point, int]]:
        """Return k_j <= last_j and -k_j <= -first_j."""
        ones = [tuple(int(i == j) for i in range(self.dim)) for j in range(self.dim)]
        above = list(zip(ones, self.last, strict=True))
        below = [(tuple(-v for v in one), -a) for one, a in zip(ones, self.first, strict=True)]
        return above + below

    def contains(self, point: Point) -> bool:
        """Whether a lattice point lies between the corners."""
        return all(a <= k <= b for a, k, b in zip(self.first, point, self.last, strict=True))

    def beside(self, low: Array, high: Array) -> tuple[Mask, Mask]:
        """Tell of boxes, rows of corners, which lie wholly inside and which wholly outside."""
        (below_first, above_first), (below_last, above_last) = map(around, (self.first, self.last))
        inside = (low >= above_first) & (high <= below_last)
        outside = (high < below_first) | (low > above_last)
        return np.asarray(inside.all(axis=1)), np.asarray(outside.any(axis=1))


@dataclass(frozen=True, slots=True)
class WalledBox(WithinBox):
    """Lattice points of a box where convex functions of each coordinate have a bounded sum.

        { k in box : sum_j max_s s (w_j k_j - c_j) <= limit },     s in signs_j, a part of {1, -1}

    With both signs a coordinate enters by its absolute value, with one it enters linearly. Each
    choice of signs is a wall, a linear inequality in whole numbers.

    Paper    Section 4.2 has an l1 ball.
    Privacy  Public: all numbers come from radii, steps, and planes already released.
             docs/proofs/domains/points.md.
    Cost     O(d) for a point or a box; one inequality for each choice of signs.
    """

    box: LatticeBox
    weights: Point
    centre: Point
    signs: tuple[tuple[int, ...], ...]
    limit: int
    inner: Point  # a point inside

    def __post_init__(self) -> None:
        if any(w < 1 for w in self.weights):
            raise SpecError("WalledBox needs positive weights.")
        if any(abs(v).bit_length() > MOST_BITS for v in (*self.weights, *self.centre, self.limit)):
            raise SpecError(
                "The steps of the coordinates have no common measure of a usable size. Use steps "
                "whose ratios are simple, such as powers of two."
            )
        if not self.contains(self.inner):
            raise SpecError("WalledBox: the point that should lie inside does not.")

    def home(self) -> Point:
        """Return the point inside that was chosen from public numbers."""
        return self.inner

    def inequalities(self) -> list[tuple[Point, int]]:
        """Return the box's, and one for each choice of signs."""
        walls = []
        for chosen in product(*self.signs):
            row = tuple(s * w for s, w in zip(chosen, self.weights, strict=True))
            shift = sum(s * c for s, c in zip(chosen, self.centre, strict=True))
            walls.append((row, self.limit + shift))
        return self.box.inequalities() + walls

    def contains(self, point: Point) -> bool:
        """Whether a lattice point lies inside."""
        if not self.box.contains(point):
            return False
        total = 0
        for k, w, c, signs in zip(point, self.weights, self.centre, self.signs, strict=True):
            offset = w * k - c
            total += abs(offset) if len(signs) == 2 else signs[0] * offset
        return total <= self.limit

    def beside(self, low: Array, high: Array) -> tuple[Mask, Mask]:
        """Tell of boxes, rows of corners, which lie wholly inside and which wholly outside.

        A sum of convex functions of one coordinate each is largest at ends of sides, and least at
        ends or at the bend. Rounding is covered by a margin, which is 0 where there is none.
        """
        weights, centre = np.array(self.weights, float), np.array(self.centre, float)
        bent = np.array([len(signs) == 2 for signs in self.signs])
        linear = np.array([signs[0] for signs in self.signs], float)
        with np.errstate(invalid="ignore", over="ignore"):
            ends = [weights * corner - centre for corner in (low, high)]
            sides = [np.where(bent, np.abs(end), linear * end) for end in ends]
            across = bent & (ends[0] <= 0) & (ends[1] >= 0)
            most = np.maximum(*sides).sum(axis=1)
            least = np.where(across, 0.0, np.minimum(*sides)).sum(axis=1)
            reach = np.maximum(np.abs(low), np.abs(high))
            size = (weights * reach + np.abs(centre)).sum(axis=1)
            halves = (np.rint(2 * low) == 2 * low) & (np.rint(2 * high) == 2 * high)
            exact = halves.all(axis=1) & (size <= EXACT)
            margin = np.where(exact, 0.0, (self.dim + 8) * 2.0**-51 * size)
            (below,), (above,) = around((self.limit,))
            inside, outside = self.box.beside(low, high)
            inside &= most + margin <= below
            outside |= least - margin > above
        return inside, outside


def common_measure(numbers: Sequence[Fraction]) -> Fraction:
    """Return the largest fraction of which all numbers, not all 0, are whole multiples."""
    under = lcm(*(v.denominator for v in numbers))
    return Fraction(gcd(*(int(v * under) for v in numbers)), under)


def around(point: Point) -> tuple[Array, Array]:
    """Return float64 at most and at least each whole number, equal to it where one is."""
    below, above = [], []
    for k in point:
        try:
            near = float(k)
        except OverflowError:
            near = inf if k > 0 else -inf
        below.append(near if near <= k else nextafter(near, -inf))
        above.append(near if near >= k else nextafter(near, inf))
    return np.array(below), np.array(above)
