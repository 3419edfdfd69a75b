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
from typing import Protocol

from kng.core.bodies import Body, Piece
from kng.core.parts import Norm
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.regions import Region


def changes(body: Body, unit: PrivacyUnit) -> Sequence[Piece]:
    """Return pieces that hold what one record can do to the sum of scores, up to its sign."""
    if not isinstance(unit.neighbours, ReplaceOne):
        return body.scores()
    if unit.presence == "always":
        return body.differences()
    return [*body.differences(), *body.scores()]


def delta(norm: Norm, body: Body, unit: PrivacyUnit) -> Fraction:
    """Return Delta for one record; a norm that follows the body is fitted to its changes first."""
    pieces = changes(body, unit)
    fitted = norm.at(pieces)
    return max(piece.largest(fitted) for piece in pieces)


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

    def over(self, region: Region) -> Fraction:
        """Return Delta at a point, or a bound for all points of a region."""
        return delta(self.norm, self.body(region), self.unit)

    def under(self, region: Region) -> Fraction:
        """Return a number that Delta nowhere in a region falls below."""
        return delta(self.norm, self.least(region), self.unit)
