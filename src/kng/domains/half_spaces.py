"""Lattice points between planes: a box of them, cut by half-spaces in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor

import numpy as np

from kng.core.errors import SpecError
from kng.core.parts import Array, Mask, Point
from kng.core.regions import Grid, Theta
from kng.core.solve.linear_program import farthest
from kng.domains.points import EXACT, MOST_BITS, LatticeBox, around, common_measure
from kng.domains.within_box import WithinBox

# Compiled loops add up products with walls in float64. With no more than this they are off by less
# than a half (docs/proofs/domains/half_spaces.md).
_MOST_OF_A_WALL = 2**40
# Parts of a box that are looked into for a point inside.
_PARTS = 500

Wall = tuple[Point, int]


@dataclass(frozen=True)
class HalfSpaces(WithinBox):
    """Lattice points of a box that lie on one side of each of some planes.

        { k in box : a_i'k <= b_i },     a_i and b_i whole

    Paper    none; Section 4.2 has an l1 ball.
    Privacy  Public: all numbers come from half-spaces, steps and origins.
             docs/proofs/domains/half_spaces.md.
    Cost     O(d) a half-space, for a point or a box.
    """

    box: LatticeBox
    walls: tuple[Wall, ...]
    inner: Point  # a point inside

    def __post_init__(self) -> None:
        if any(abs(v).bit_length() > MOST_BITS for row, b in self.walls for v in (*row, b)):
            raise SpecError(
                "The half-spaces have no common measure of a usable size with the steps of the "
                "coordinates. Give rounder numbers, or steps whose ratios are simple."
            )
        if not self.contains(self.inner):
            raise SpecError("HalfSpaces: the point that should lie inside does not.")

    def home(self) -> Point:
        """Return the point inside that was chosen from public numbers."""
        return self.inner

    def contains(self, point: Point) -> bool:
        """Whether a lattice point lies inside."""
        return self.box.contains(point) and _below(self.walls, point)

    @cached_property
    def _numbers(self) -> tuple[Array, Array, Array]:
        """Return walls in float64, and limits from below and from above."""
        rows = np.array([[float(v) for v in row] for row, _ in self.walls])
        return rows, *around(tuple(b for _, b in self.walls))

    def beside(self, low: Array, high: Array) -> tuple[Mask, Mask]:
        """Tell of boxes, rows of corners, which lie wholly inside and which wholly outside.

        A form is largest and least at corners. Rounding is covered by a margin, which is 0 where
        there is none.
        """
        rows, below, above = self._numbers
        with np.errstate(invalid="ignore", over="ignore"):
            up, down = np.maximum(rows, 0.0).T, np.minimum(rows, 0.0).T
            most, least = high @ up + low @ down, low @ up + high @ down
            size = np.maximum(np.abs(low), np.abs(high)) @ np.abs(rows).T
            halves = (np.rint(2 * low) == 2 * low) & (np.rint(2 * high) == 2 * high)
            exact = halves.all(axis=1)[:, None] & (size <= EXACT)
            margin = np.where(exact, 0.0, (self.dim + 8) * 2.0**-51 * size)
            inside, outside = self.box.beside(low, high)
            inside = inside & (most + margin <= below).all(axis=1)
            outside = outside | (least - margin > above).any(axis=1)
        return np.asarray(inside), np.asarray(outside)


@dataclass(frozen=True)
class WalledHalfSpaces(HalfSpaces):
    """The same in numbers small enough for loops that are compiled.

        sum_j |a_ij| (last_j - first_j + 1)  <=  2^40

    Paper    none; Section 4.2 has an l1 ball.
    Privacy  Public, as `HalfSpaces`. docs/proofs/domains/half_spaces.md.
    Cost     O(d) a half-space, for a point or a box.
    """

    def inequalities(self) -> list[Wall]:
        """Return the box's, and the walls."""
        return self.box.inequalities() + list(self.walls)


def walls_on(rows: Sequence[Theta], limits: Theta, grid: Grid) -> list[Wall]:
    """Return a_i'theta <= b_i as inequalities of lattice points, in the smallest whole numbers.

    With theta_j = o_j + h_j k_j it is  sum_j a_ij h_j k_j <= b_i - a_i'o. Divided by the largest
    fraction of which all a_ij h_j are whole multiples the left side is whole, and the right side
    may be rounded down.
    """
    found = []
    for row, limit in zip(rows, limits, strict=True):
        at = [j for j, a in enumerate(row) if a.numerator]  # most of a long row may be 0
        steep = [row[j] * grid.step[j] for j in at]
        room = limit - sum((row[j] * grid.origin[j] for j in at), Fraction(0))
        unit = common_measure(steep)
        whole = [0] * len(row)
        for j, v in zip(at, steep, strict=True):
            whole[j] = int(v / unit)
        found.append((tuple(whole), floor(room / unit)))
    return found


def between(low: Theta, high: Theta, grid: Grid) -> LatticeBox | None:
    """Return the lattice points between two corners, or None if there are none."""
    sides = list(zip(low, high, grid.origin, grid.step, strict=True))
    first = tuple(ceil((a - o) / h) for a, _, o, h in sides)
    last = tuple(floor((b - o) / h) for _, b, o, h in sides)
    return None if any(a > b for a, b in zip(first, last, strict=True)) else LatticeBox(first, last)


def cut(box: LatticeBox, walls: Sequence[Wall], inner: Point) -> LatticeBox | HalfSpaces:
    """Return the points of a box behind walls; those that cut nothing off are left out."""
    kept = tuple(wall for wall in walls if not _holds(wall, box))
    if not kept:
        return box
    sides = [b - a + 1 for a, b in zip(box.first, box.last, strict=True)]
    widest = max(sum(abs(a) * n for a, n in zip(row, sides, strict=True)) for row, _ in kept)
    return (WalledHalfSpaces if widest <= _MOST_OF_A_WALL else HalfSpaces)(box, kept, inner)


@lru_cache(maxsize=64)
def point_inside(box: LatticeBox, walls: tuple[Wall, ...]) -> Point | None:
    """Return a lattice point of a box behind walls; None if there is none, or none was found.

    Looked for where the largest box of any size fits,

        largest t  with  a_i'k + t ||a_i||_1 <= b_i,

    whose nearest lattice point lies inside if t >= 1/2. If it does not, the box is halved there; a
    part with t < 0 has no point at all. A public number of parts is looked into.
    """
    parts = [box]
    for _ in range(_PARTS):
        if not parts:
            return None
        part = parts.pop()
        planes = [*walls, *part.inequalities()]
        rows = [(*row, sum(map(abs, row))) for row, _ in planes]
        limits = [b for _, b in planes]
        # There is always a point, with a t far below 0, and a box keeps t from growing.
        found = farthest(rows, limits, (0,) * box.dim + (1,))
        if found.value < 0:
            continue
        centre = found.at[:-1]
        point = tuple(map(round, centre))
        if part.contains(point) and _below(walls, point):
            return point
        # The coordinate farthest from a whole number; if all were whole, it would lie inside.
        j = max(range(box.dim), key=lambda i: abs(centre[i] - point[i]))
        below = floor(centre[j])
        lower = (*part.last[:j], below, *part.last[j + 1 :])
        upper = (*part.first[:j], below + 1, *part.first[j + 1 :])
        parts += [
            LatticeBox(*ends)
            for ends in ((part.first, lower), (upper, part.last))
            if ends[0][j] <= ends[1][j]
        ]
    return None


def _below(walls: Sequence[Wall], point: Point) -> bool:
    return all(sum(a * k for a, k in zip(row, point, strict=True)) <= b for row, b in walls)


def _holds(wall: Wall, box: LatticeBox) -> bool:
    """Whether all of a box lies behind a wall."""
    row, limit = wall
    ends = zip(row, box.first, box.last, strict=True)
    return sum(a * (v if a > 0 else u) for a, u, v in ends) <= limit
