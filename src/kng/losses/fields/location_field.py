"""Records around a location: exact sums, and bounds over boxes for any psi that does not fall.

Coordinates separate, and each coordinate of the sum is monotone in its own coordinate of theta:
over a box it lies between its values at the two ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

import numpy as np

from kng.core.parts import Array, Expansion, Point
from kng.core.records import Source
from kng.losses.kernels.held import Everything
from kng.losses.pointwise.function import Pointwise, Stepped
from kng.losses.pointwise.steps import exact_sum
from kng.losses.reading import Measure, ReadPlan

# Records whose temporaries stay in the processor's cache.
_BLOCK = 2**14
# Far more than the roundings of a few products and of a sum in pairs.
_ROUNDING = 2.0**-44


def read_location(source: Source, plans: Sequence[ReadPlan]) -> list[LocationScore | LocationValue]:
    """Collect the records once, and return a field for each plan."""
    rows = np.ascontiguousarray(source.collect(Everything()).T)
    found: list[LocationScore | LocationValue] = []
    for plan in plans:
        loss, domain = plan.problem.loss, plan.domain
        stepped = loss.stepped(plan.grid.region(domain.first, domain.last))
        if plan.weighs == "value":
            found.append(LocationValue(rows, stepped, domain.first, domain.last))
        else:
            rises = tuple(
                _rise(loss.pointwise, step, s)
                for step, s in zip(plan.grid.step, stepped, strict=True)
            )
            found.append(
                LocationScore(rows, stepped, rises, plan.measure, domain.first, domain.last)
            )
    return found


@dataclass(frozen=True, slots=True)
class LocationScore:
    """The norm of the sum of psi; ``columns`` holds each column's whole numbers.

    ``rises`` says by how many steps psi grows with each whole number, if it is one line: then one
    sum over the records is enough. It is a field of one valley on a line, where a bare number is a
    point.
    """

    columns: Array
    stepped: tuple[Stepped, ...]
    rises: tuple[int | None, ...]
    measure: Measure
    first: Point
    last: Point
    _known: dict[tuple[int, int], int] = field(default_factory=dict, compare=False, repr=False)

    def score(self, theta: Point) -> Fraction:
        """Return the norm of the sum at one lattice point, exactly."""
        return self.measure(theta, self.vector(theta))

    def vector(self, point: Point) -> list[Fraction]:
        """Return the sum at one lattice point."""
        return [
            self.total(j, k) * s.psi_step
            for j, (k, s) in enumerate(zip(point, self.stepped, strict=True))
        ]

    def total(self, j: int, k: int) -> int:
        """Return the sum of psi of one column, in whole steps; it does not fall as k grows."""
        rise = self.rises[j]
        at = k if rise is None else 0
        if (j, at) not in self._known:
            self._known[j, at] = _sum(self.stepped[j].psi, self.columns[j], at)
        moved = 0 if rise is None else rise * len(self.columns[j]) * k
        return self._known[j, at] + moved

    def expand(self, centre: Array, half: Array) -> Expansion:
        """Return the line itself, or level lines between the values at the ends of each side."""
        shape, middles, halves = centre.shape, centre.tolist(), half.tolist()
        value, slope, out = np.zeros(shape), np.zeros((*shape, shape[1])), np.zeros(shape)
        for i, j in np.ndindex(*shape):
            low, high = ends(middles[i][j], halves[i][j])
            least, most = self.total(j, low), self.total(j, high)
            step, rise = self.stepped[j].psi_step, self.rises[j]
            if rise is None:
                value[i, j] = float((least + most) * step / 2)
                out[i, j] = float((most - least) * step / 2) * (1 + _ROUNDING)
                continue
            each = rise * len(self.columns[j]) * step
            value[i, j] = float(least * step + each * (Fraction(middles[i][j]) - low))
            slope[i, j, j] = float(each)
            out[i, j] = 2.0**-52 * slope[i, j, j] * halves[i][j]
        out += 2.0**-52 * np.abs(value)
        return Expansion(value, slope, out)

    def start(self) -> Array:
        """Return where the sum of each column is nearest to 0."""
        return np.array([float(self._nearest(j)) for j in range(len(self.stepped))])

    def mode(self) -> int:
        """Return a point of a line with the least score."""
        return self._nearest(0)

    def _nearest(self, j: int) -> int:
        """Return the point between the ends of the domain whose sum is nearest to 0."""
        low, high = self.first[j], self.last[j]
        while low < high:  # the least point whose sum is not below 0, or the last
            middle = (low + high) // 2
            low, high = (low, middle) if self.total(j, middle) >= 0 else (middle + 1, high)
        before = max(low - 1, self.first[j])
        return min((low, before), key=lambda k: abs(self.total(j, k)))


@dataclass(frozen=True, slots=True)
class LocationValue:
    """The summed rho; ``columns`` holds each column's whole numbers."""

    columns: Array
    stepped: tuple[Stepped, ...]
    first: Point
    last: Point

    def score(self, theta: Point) -> Fraction:
        """Return the value at one lattice point, exactly."""
        sums = [
            _sum(s.rho, column, k) * s.rho_step
            for s, column, k in zip(self.stepped, self.columns, theta, strict=True)
        ]
        return sum(sums, Fraction(0))

    def expand(self, centre: Array, half: Array) -> Expansion:
        """Return the sums of lines that stay close to the rho of each record."""
        (boxes, dim), middles, halves = centre.shape, centre.tolist(), half.tolist()
        value, slope, out = np.zeros((boxes, 1)), np.zeros((boxes, 1, dim)), np.zeros((boxes, 1))
        for i, j in np.ndindex(boxes, dim):
            low, high = ends(middles[i][j], halves[i][j])
            y, step = self.columns[j], float(self.stepped[j].rho_step)
            sums = np.zeros(4)
            for at in range(0, len(y), _BLOCK):
                lines = self.stepped[j].rho_chords(
                    np.array([float(low)]), np.array([float(high)]), y[at : at + _BLOCK]
                )
                parts = (lines.middle, lines.slope, lines.miss, np.abs(lines.slope))
                sums += [part.sum() for part in parts]
            # The line of a box leads through the middle of its whole numbers.
            moved = middles[i][j] - (low + high) / 2
            value[i, 0] += (sums[0] + sums[1] * moved) * step
            slope[i, 0, j] = sums[1] * step
            far = abs(moved) + (high - low)
            doubt = _ROUNDING * (abs(sums[0]) + sums[2] + sums[3] * far + len(y) * (low != high))
            out[i, 0] += (sums[2] + doubt) * step
        return Expansion(value, slope, out + 2.0**-50 * np.abs(value))

    def start(self) -> Array:
        """Return the middle of each column's records."""
        if not self.columns.shape[1]:
            return np.array([(a + b) / 2 for a, b in zip(self.first, self.last, strict=True)])
        middle = np.median(self.columns, axis=1)
        return np.asarray(np.clip(middle, np.array(self.first), np.array(self.last)))


def _rise(pointwise: Pointwise, unit: Fraction, stepped: Stepped) -> int | None:
    """Return by how many steps psi grows with each whole number, if it is one line."""
    if pointwise.sides is None or pointwise.sides[0] != pointwise.sides[1]:
        return None
    rise = pointwise.sides[0] * unit / stepped.psi_step
    return int(rise) if rise.denominator == 1 else None


def ends(centre: float, half: float) -> tuple[int, int]:
    """Return the first and the last whole number of a side, or the nearest to it if it has none."""
    low, high = ceil(centre - half), floor(centre + half)
    return (low, high) if low <= high else (high, low)


def _sum(program: Callable[[Array, Array], Array], column: Array, k: int) -> int:
    """Return an exact sum over the records of a column."""
    at, eta = 0, np.array([float(k)])
    for start in range(0, len(column), _BLOCK):
        at += exact_sum(program(eta, column[start : start + _BLOCK]))
    return at
