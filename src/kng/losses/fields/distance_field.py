"""Records as points, for any norm: sums of truncated unit vectors, and bounds over boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kng.core.parts import Array, Expansion, Point
from kng.core.records import Source
from kng.losses.fields.distances import UNIT, Distances, Unchanged
from kng.losses.fields.location_field import ends
from kng.losses.reading import Measure, ReadPlan

# Records whose temporaries stay in the processor's cache.
_BLOCK = 2**14
# What truncating a unit vector to steps of 2**-25, and rounding it and its sums, may move.
_FUZZ = 2.0**-24
# What rounding of a radius may do.
_ROUNDING = 1 + 2.0**-40


def read_distance(source: Source, plans: Sequence[ReadPlan]) -> list[DistanceScore | DistanceValue]:
    """Collect the records once, and return a field for each plan."""
    rows = source.collect(Unchanged())
    found: list[DistanceScore | DistanceValue] = []
    for plan in plans:
        if plan.weighs == "value":
            found.append(DistanceValue(rows, plan.problem.loss.measure))
        else:
            found.append(DistanceScore(rows, plan.measure))
    return found


@dataclass(frozen=True, slots=True)
class DistanceScore:
    """The norm of the sum of unit vectors, each truncated; records at theta count 0.

    On a line it is a sum of signs, which has one valley.
    """

    rows: Array
    measure: Measure

    def score(self, theta: Point) -> Fraction:
        """Return the norm of the sum at one lattice point, exactly."""
        return self.measure(theta, self.vector(theta))

    def vector(self, point: Point) -> list[Fraction]:
        """Return the sum at one lattice point."""
        return [Fraction(v, UNIT) for v in self.total(point)]

    def total(self, point: Point) -> list[int]:
        """Return the sum of truncated unit vectors in steps of 2**-25."""
        centre = np.array([float(k) for k in point])
        total = np.zeros(len(point))
        for at in range(0, len(self.rows), _BLOCK):
            away = centre - self.rows[at : at + _BLOCK]
            root = np.sqrt((away * away).sum(axis=1))
            apart = root > 0
            total = total + np.trunc(away[apart] / root[apart, None] * UNIT).sum(axis=0)
        return [int(v) for v in total]

    def expand(self, centre: Array, half: Array) -> Expansion:
        """Sum first-order expansions of far records, and intervals of the others."""
        from kng.losses.enclosures.unit_vectors import expand_units  # loaded by `prepare_covers`

        boxes, dim = centre.shape
        centre = np.ascontiguousarray(centre)
        value, out = np.zeros((boxes, dim)), np.zeros((boxes, dim))
        slope = np.zeros((boxes, dim, dim))
        for i in range(boxes):
            low, high = _corners(centre[i], half[i])
            if (low == high).all():  # what is computed at the point itself
                value[i] = np.array(self.total(tuple(int(v) for v in low))) / UNIT
                continue
            out[i] = len(self.rows) * np.sqrt(dim) * _FUZZ
            expand_units(self.rows, centre[i], low, high, value[i], slope[i], out[i])
        return Expansion(value, slope, out)

    def start(self) -> Array:
        """Return about the geometric median."""
        return _start(self.rows)

    def mode(self) -> int:
        """Return a point of a line with the least score.

        The sum of signs is not above 0 before the medians and not below 0 after them, and the same
        everywhere between them.
        """
        column = np.sort(self.rows[:, 0])
        medians = {int(v) for v in column[(len(column) - 1) // 2 : len(column) // 2 + 1]}
        beside = sorted({m + k for m in medians for k in (-1, 0, 1)}) or [0]
        return min(beside, key=lambda k: self.score((k,)))


@dataclass(frozen=True, slots=True)
class DistanceValue:
    """The sum of distances, each rounded down to whole steps."""

    rows: Array
    step: Fraction

    def score(self, theta: Point) -> Fraction:
        """Return the summed distances at one lattice point, exactly."""
        return Distances(self.rows, "value", self.step).score(theta)

    def expand(self, centre: Array, half: Array) -> Expansion:
        """Sum tangents, above which a distance r rises by at most radius^2 / 2 (r - radius)."""
        boxes, dim = centre.shape
        value, out, slope = np.zeros((boxes, 1)), np.zeros((boxes, 1)), np.zeros((boxes, 1, dim))
        for i in range(boxes):
            low, high = _corners(centre[i], half[i])
            if (low == high).all():
                value[i] = float(self.score(tuple(int(v) for v in low)) / self.step)
                continue
            reach = np.maximum(centre[i] - low, high - centre[i])
            radius = np.sqrt((reach * reach).sum()) * _ROUNDING
            for at in range(0, len(self.rows), _BLOCK):
                away = centre[i] - self.rows[at : at + _BLOCK]
                root = np.sqrt((away * away).sum(axis=1))
                near = np.maximum(root, 1e-300)
                slope[i, 0] += (away / near[:, None]).sum(axis=0)
                rise = np.full(len(root), 2 * radius)
                far = root > radius * (1 + 2.0**-20)
                rise[far] = np.minimum(rise[far], radius**2 / (2 * (root[far] - radius)))
                value[i] += (root + rise / 2 - 0.5).sum()
                out[i] += (rise / 2 + 0.5).sum() * _ROUNDING + 2.0**-30 * len(root)
                out[i] += 2.0**-44 * (root.sum() + len(root) * radius)
        step = float(self.step)
        return Expansion(value * step, slope * step, out * step + 2.0**-50 * np.abs(value * step))

    def start(self) -> Array:
        """Return about the geometric median."""
        return _start(self.rows)


def _corners(centre: Array, half: Array) -> tuple[Array, Array]:
    """Return the first and the last lattice point of a box."""
    sides = [ends(c, h) for c, h in zip(centre.tolist(), half.tolist(), strict=True)]
    return np.array([float(a) for a, _ in sides]), np.array([float(b) for _, b in sides])


def _start(rows: Array) -> Array:
    if not len(rows):
        return np.zeros(rows.shape[1])
    return Distances(rows, "gradient").guess(max(1, len(rows) // 4096))
