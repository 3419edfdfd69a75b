"""How many records must come, go or change places: the best norm for counts that share records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import ClassVar

import numpy as np

from kng.core.bodies import Piece
from kng.core.shapes import ExchangeShape
from kng.norms.roots import length_up
from kng.norms.rounding import Array, outwards


@dataclass(frozen=True, slots=True)
class Exchange:
    """The larger of the sum of what grows and the sum of what shrinks.

        ||v|| = max( sum_j max(v_j, 0),  sum_j max(-v_j, 0) )

    Its unit ball is the hull of e_i - e_j and +-e_i: of all that replacing one record can do to
    counts, if the record may also be in none of them. So no norm of sensitivity 1 has a smaller
    ball (docs/proofs/losses/tally.md).

    Paper    Section 1: K is the convex hull of the sensitivity polytope.
    Privacy  A norm carries no constant of its own: Delta is computed from the loss's body.
    Cost     O(d).
    """

    follows: ClassVar[bool] = False
    shape: ClassVar[ExchangeShape] = ExchangeShape()

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        zero = Fraction(0)
        return max(
            sum((v for v in vector if v > 0), zero), -sum((v for v in vector if v < 0), zero)
        )

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the norm between two corners, for rows of corners.

        Both sums are least at the point nearest to 0, and each is largest at a corner.
        """
        zero = 0.0
        with np.errstate(over="ignore", under="ignore"):
            least = np.maximum(
                np.maximum(low, zero).sum(axis=1), np.maximum(-high, zero).sum(axis=1)
            )
            most = np.maximum(
                np.maximum(high, zero).sum(axis=1), np.maximum(-low, zero).sum(axis=1)
            )
            return outwards(least, most, low.shape[1] + 2)

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, exactly: at one of them."""
        zero = Fraction(0)
        return max(sum((max(b, zero) for b in high), zero), sum((max(-a, zero) for a in low), zero))

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:
        """Return radius * sqrt(d), rounded up: all entries have one sign."""
        return radius * length_up((Fraction(1),) * dim)

    def at(self, changes: Sequence[Piece]) -> Exchange:  # noqa: ARG002
        """Return itself."""
        return self

    def refusal(self, dim: int) -> str | None:  # noqa: ARG002
        """Return None: it serves any number of coordinates."""
        return None

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """Return the mean square of each coordinate of a uniform point of the ball.

        C(d, a)^2 / C(2d, d) of the ball has a positive entries, and one of a of them, with what is
        left of 1, has the mean square 2 / ((a + 1) (a + 2)).
        """
        parts = (
            Fraction(4 * a * comb(dim, a) ** 2, dim * (a + 1) * (a + 2)) for a in range(dim + 1)
        )
        return (float(sum(parts, Fraction(0)) / comb(2 * dim, dim)),) * dim
