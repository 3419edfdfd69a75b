"""Delta: how far one record can move a score, in a norm. It is computed here and nowhere else.

    replace-one                        max || u - v ||_K    over scores u, v of one theta
    add-remove                         max || u ||_K
    replace-one, records may be absent    the larger of the two: an absent record has the score 0

The same holds for the value of a loss, which is a score in one coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np

from kng.core.bodies import Body, Cuboid, Piece, product_set
from kng.core.errors import IncompatibleParts
from kng.core.parts import Array, Norm
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.regions import Region
from kng.core.shapes import BoxShape


def changes(body: Body, unit: PrivacyUnit) -> Sequence[Piece]:
    """Return pieces that hold what one record can do to the sum of scores, up to its sign."""
    if not isinstance(unit.neighbours, ReplaceOne):
        return body.scores()
    if unit.presence == "always":
        return body.differences()
    return [*body.differences(), *body.scores()]


def farthest(least: Array, most: Array, unit: PrivacyUnit) -> Array:
    """Return the largest change along directions, given the ends of all scores along them."""
    each = np.maximum(-least, most)
    if not isinstance(unit.neighbours, ReplaceOne):
        return each
    return most - least if unit.presence == "always" else np.maximum(most - least, each)


def delta(norm: Norm, body: Body, unit: PrivacyUnit) -> Fraction:
    """Return Delta for one record; a norm that follows the body is fitted to its changes first."""
    pieces = changes(body, unit)
    fitted = norm.at(pieces)
    return max(piece.largest(fitted) for piece in pieces)


def product_deltas(norm: Norm, rows: Cuboid, unit: PrivacyUnit) -> tuple[Fraction, Fraction]:
    """Return Delta of scores w z, z in one box, for w in [0, 1], and half of it for w in [-1, 1].

    The norm is the same at every theta.
    """
    zero, one = Fraction(0), Fraction(1)
    ends = ((zero, one), (-one, one))
    single, double = (delta(norm, product_set(weights, rows), unit) for weights in ends)
    return single, double / 2


def product_delta(single: Array, double: Array, low: Array, high: Array) -> Array:
    """Return Delta of scores w z for w between u <= 0 and v >= 0, for many u and v at once.

    Delta = max( single max(-u, v),  double (v - u) );     docs/proofs/lemmas/delta.md, 6.
    """
    return np.maximum(single * np.maximum(-low, high), double * (high - low))


@dataclass(frozen=True, slots=True)
class Absolute:
    """|v| in one coordinate, the norm of a value."""

    shape: ClassVar[BoxShape] = BoxShape()
    follows: ClassVar[bool] = False

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the size of a number."""
        return abs(vector[0])

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the size, for rows of intervals."""
        least = np.maximum(np.maximum(low[:, 0], -high[:, 0]), 0)
        return least, np.maximum(np.abs(low[:, 0]), np.abs(high[:, 0]))

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest size in an interval."""
        return max(abs(low[0]), abs(high[0]))

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:  # noqa: ARG002
        """Return the radius."""
        return radius

    def at(self, changes: Sequence[Piece]) -> Absolute:  # noqa: ARG002
        """Return itself."""
        return self

    def refusal(self, dim: int) -> str | None:
        """Refuse more than one coordinate."""
        return None if dim == 1 else "an absolute value is of one number."


class Scored(Protocol):
    """A public function from regions of theta to bodies."""

    def __call__(self, region: Region) -> Body:
        """Return a body that holds the scores of any record at any theta of the region."""
        ...


@dataclass(frozen=True, slots=True)
class Delta:
    """Delta as a function of theta: at a point, and bounded over regions.

    ``body`` gives the scores, ``least`` the theta of a region at which they reach least far.
    """

    norm: Norm
    unit: PrivacyUnit
    body: Scored
    least: Scored

    def norm_over(self, region: Region) -> Norm:
        """Return the norm fitted to what one record can change at a point, or in a region.

        A norm of more changes is nowhere longer.
        """
        return self.norm.at(changes(self.body(region), self.unit))

    def norm_under(self, region: Region) -> Norm:
        """Return a norm that is nowhere in a region shorter than the fitted one."""
        return self.norm.at(changes(self.least(region), self.unit))

    def over(self, region: Region) -> Fraction:
        """Return Delta at a point, or a bound for all points of a region."""
        return delta(self.norm, self.body(region), self.unit)

    def steady(self, region: Region) -> Fraction | None:
        """Return Delta if it is the same at every theta of a region, else None."""
        try:
            largest = self.over(region)
            # A body that is the same for all theta may take long to measure.
            same = self.least(region) is self.body(region)
            least = largest if same else self.under(region)
        except IncompatibleParts:
            if region.bounded:  # a refusal that must not wait for a draw
                raise
            return None
        return largest if largest == least else None

    def under(self, region: Region) -> Fraction:
        """Return a number that Delta nowhere in a region falls below."""
        return delta(self.norm, self.least(region), self.unit)
