"""Half the variation of a vector between two zeros, optimal for several quantiles at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress
from math import isqrt, lcm
from operator import is_not
from typing import ClassVar

import numpy as np

from kng.core.bodies import Piece
from kng.core.shapes import VariationShape
from kng.norms.rounding import Array, outwards

# Square roots are rounded up to this many bits.
_BITS = 128


@dataclass(frozen=True, slots=True)
class Variation:
    """Half of how far a vector rises and falls, from 0 before its first entry to 0 after its last.

        ||v|| = 1/2 sum_j |v_j - v_(j-1)|,      j = 1 .. m + 1,   v_0 = v_(m+1) = 0

    For the scores of m quantiles its unit ball is the hull of all that replacing one record can
    do, so no norm of sensitivity 1 has a smaller ball (docs/proofs/losses/quantiles.md).

    Paper    Section 1: K is the convex hull of the sensitivity polytope.
    Privacy  A norm carries no constant of its own: Delta is computed from the loss's body.
    Cost     O(m).
    """

    follows: ClassVar[bool] = False
    shape: ClassVar[VariationShape] = VariationShape()

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return half the variation, in whole numbers of a common denominator."""
        zero = Fraction(0)
        # Neighbours that are the same object need no look: of a hundred quantiles most are.
        here, there = (zero, *vector), (*vector, zero)
        steps = list(compress(zip(here, there, strict=True), map(is_not, here, there)))
        unit = lcm(*(v.denominator for step in steps for v in step))
        ways = (
            b.numerator * (unit // b.denominator) - a.numerator * (unit // a.denominator)
            for a, b in steps
        )
        return Fraction(sum(map(abs, ways)), 2 * unit)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the norm between two corners, for rows of corners.

        Who moves only into the next interval moves least. A convex function is largest at corners,
        and the longest way to each end of an interval is one from an end of the interval before.
        """
        rows = len(low)
        at, short = np.zeros(rows), np.zeros(rows)
        ends, long = [np.zeros(rows)] * 2, [np.zeros(rows)] * 2
        size = np.zeros(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            for a, b in [*zip(low.T, high.T, strict=True), (np.zeros(rows),) * 2]:
                moved = np.clip(at, a, b)
                short, at = short + np.abs(moved - at), moved
                long = [
                    np.maximum(*(way + np.abs(v - u) for u, way in zip(ends, long, strict=True)))
                    for v in (a, b)
                ]
                ends = [a, b]
                size = size + 2 * np.maximum(np.abs(a), np.abs(b))
            lost = size * (2.0**-51 * (low.shape[1] + 2))
            least, most = short / 2 - lost, np.maximum(*long) / 2 + lost
        # What has left float64 bounds nothing from below, and everything from above.
        least = np.where(np.isfinite(least), np.maximum(least, 0.0), 0.0)
        return outwards(least, np.where(np.isnan(most), np.inf, most), 4)

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, exactly."""
        if low == high:
            return self.value(low)
        ends = {Fraction(0): Fraction(0)}
        for a, b in [*zip(low, high, strict=True), (Fraction(0), Fraction(0))]:
            ends = {v: max(way + abs(v - u) for u, way in ends.items()) for v in (a, b)}
        return ends[Fraction(0)] / 2

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:
        """Return a bound for vectors of this Euclidean length: sqrt(m) times it, rounded up.

        ||v|| <= 1/2 sum_j (|v_j| + |v_(j-1)|) = ||v||_1 <= sqrt(m) ||v||_2, which a vector of
        alternating signs attains.
        """
        return radius * Fraction(isqrt((dim << 2 * _BITS) - 1) + 1, 1 << _BITS)

    def at(self, changes: Sequence[Piece]) -> Variation:  # noqa: ARG002
        """Return itself."""
        return self

    def refusal(self, dim: int) -> str | None:  # noqa: ARG002
        """Return None: it serves any number of coordinates."""
        return None
