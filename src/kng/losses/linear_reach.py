"""How far the scores of least squares reach along any direction.

    score = m r z,    r = z'theta - y';      along v:   v'score = m s r,    s = v'z

For each end of y', (s, r) runs over a polygon, the image of the box of all z. s r has no largest
and no least value inside a polygon, and its border is the image of edges of the box. So all edges
are walked, and on each of them s r is a parabola. For fixed records v'score is affine in theta, so
that the distance of two of them, and the size of one, is convex in theta: over a set of theta it is
largest at a vertex.

Proof: docs/proofs/losses/linear_reach.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from kng.core.parts import Array
from kng.core.regions import Region

Vector = tuple[Fraction, ...]
Pair = tuple[Fraction, Fraction]
# Far more than what float64 rounds in a few products of terms of one size.
_ROUNDING = 2.0**-40
_NONE = Fraction(0)


@dataclass(frozen=True, slots=True)
class LinearReach:
    """The box of a record's z, the ends of its y', and the slope of psi."""

    rows: tuple[Pair, ...]
    response: Pair
    slope: Fraction

    def along(self, direction: Sequence[Fraction], theta: Sequence[Fraction]) -> Pair:
        """Return the least and the largest v'score of any record at theta, exactly."""
        found = [
            s * r for first, last in self._edges(direction, theta) for s, r in _turning(first, last)
        ]
        return self.slope * min(found), self.slope * max(found)

    def apart_over(self, direction: Sequence[Fraction], region: Region) -> Fraction:
        """Return the largest distance of two records along a direction, over a region."""
        found = (self.along(direction, theta) for theta in _vertices(region))
        return max(high - low for low, high in found)

    def each_over(self, direction: Sequence[Fraction], region: Region) -> Fraction:
        """Return the largest |v'score| of a record over a region."""
        found = (self.along(direction, theta) for theta in _vertices(region))
        return max(max(-low, high) for low, high in found)

    def apart_under(self, direction: Sequence[Fraction], region: Region) -> Fraction:
        """Return a distance that two records reach at every theta of a region."""
        centre, half = _centre(region)
        low, high = self.along(direction, centre)
        return max(high - low - 2 * self._slack(direction, half), _NONE)

    def each_under(self, direction: Sequence[Fraction], region: Region) -> Fraction:
        """Return a size that some record reaches at every theta of a region."""
        centre, half = _centre(region)
        low, high = self.along(direction, centre)
        return max(max(-low, high) - self._slack(direction, half), _NONE)

    def _slack(self, direction: Sequence[Fraction], half: Sequence[Fraction]) -> Fraction:
        """Return by how much v'score of a record can differ at a theta this near."""
        sizes = [max(abs(a), abs(b)) for a, b in self.rows]
        moved = sum((z * h for z, h in zip(sizes, half, strict=True)), _NONE)
        longest = sum((z * abs(v) for z, v in zip(sizes, direction, strict=True)), _NONE)
        return self.slope * longest * moved

    def _edges(
        self, direction: Sequence[Fraction], theta: Sequence[Fraction]
    ) -> Iterator[tuple[Pair, Pair]]:
        """Yield the images (s, r) of both ends of every edge along a coordinate of z."""
        for j, (low, high) in enumerate(self.rows):
            others = [ends if k != j else (_NONE,) for k, ends in enumerate(self.rows)]
            for z in product(*(sorted(set(ends)) for ends in others)):
                s = sum((v * x for v, x in zip(direction, z, strict=True)), _NONE)
                t = sum((v * x for v, x in zip(theta, z, strict=True)), _NONE)
                for y in self.response:
                    first = s + direction[j] * low, t + theta[j] * low - y
                    yield first, (s + direction[j] * high, t + theta[j] * high - y)

    def bounds(self, directions: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Return the least and the largest v'score at the centres of boxes of theta, and a doubt.

        All are (m, k) for m boxes and k directions in float64. At any theta of a box neither end is
        farther away than the doubt, which holds every rounding.
        """
        rows = np.array([[float(a), float(b)] for a, b in self.rows])
        centre, half = (low + high) / 2, (high - low) / 2
        least = np.full((len(low), len(directions)), np.inf)
        most = -least
        for j in range(len(rows)):
            others = [sorted(set(e)) if k != j else [0.0] for k, e in enumerate(rows.tolist())]
            z = np.array(list(product(*others)))
            s, t = directions @ z.T, centre @ z.T  # of the edges: (k, e) and (m, e)
            for y in (float(end) for end in self.response):
                ends = [
                    (s + directions[:, j : j + 1] * x, t + centre[:, j : j + 1] * x - y)
                    for x in rows[j]
                ]
                for found in _parabolas(*ends):
                    least = np.minimum(least, found.min(axis=2))
                    most = np.maximum(most, found.max(axis=2))
        reach, slope = np.abs(rows).max(axis=1), float(self.slope)
        size = np.abs(centre) @ reach + max(abs(float(y)) for y in self.response)
        moved = (half @ reach) * (1 + _ROUNDING) + _ROUNDING * size
        doubt = slope * moved[:, None] * (np.abs(directions) @ reach)[None, :] * (1 + _ROUNDING)
        return slope * least, slope * most, doubt


def _parabolas(first: tuple[Array, Array], last: tuple[Array, Array]) -> Iterator[Array]:
    """Yield s r at both ends of edges, and where it turns between them: (m, k, e)."""
    (s0, r0), (s1, r1) = first, last
    ds, dr = (s1 - s0)[None], (r1 - r0)[:, None]
    start, level = s0[None], r0[:, None]
    with np.errstate(all="ignore"):
        at = -(start * dr + ds * level) / (2 * ds * dr)
    at = np.clip(np.where(np.isfinite(at), at, 0.0), 0.0, 1.0)
    for x in (0.0, 1.0, at):
        yield (start + ds * x) * (level + dr * x)


def _turning(first: Pair, last: Pair) -> list[Pair]:
    """Return both ends of a segment, and where s r turns between them."""
    (s0, r0), (s1, r1) = first, last
    ds, dr = s1 - s0, r1 - r0
    if not ds or not dr:
        return [first, last]
    at = -(s0 * dr + ds * r0) / (2 * ds * dr)
    return [first, last, (s0 + ds * at, r0 + dr * at)] if 0 < at < 1 else [first, last]


def _vertices(region: Region) -> list[Vector]:
    """Return points whose hull holds a bounded region: the tips of a ball, or corners."""
    sides, length = region.sides(), region.length
    if length is not None and all(side == (-length, length) for side in sides) and len(sides) > 1:
        axes = [[Fraction(i == j) for i in range(len(sides))] for j in range(len(sides))]
        return [tuple(s * length * v for v in axis) for axis in axes for s in (1, -1)]
    return list(product(*(sorted(set(side)) for side in sides)))


def _centre(region: Region) -> tuple[Vector, Vector]:
    sides = region.sides()
    return tuple((a + b) / 2 for a, b in sides), tuple((b - a) / 2 for a, b in sides)
