"""The sup norm in units of what one record can do to each coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from kng.core.bodies import Ball, Cuboid, Gauged, Piece, Reaching
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.parts import Norm
from kng.core.shapes import Shape
from kng.norms.lp import Array, LInf, furthest
from kng.norms.weighted import WeightedSup
from kng.norms.weights import Weights


@dataclass(frozen=True, slots=True)
class CoordinateSup(LInf):
    """Sup norm after each coordinate of the gradient is divided by its own sensitivity.

        ||g||_theta = max_j |g_j| / Delta_j(theta)

    Its sensitivity is 1 at every theta, and its ball is never larger than that of the sup norm
    divided by the largest Delta_j (docs/proofs/norms/coordinate.md). It follows the changes: what
    measures is ``at(changes)``, and before it is asked for that, it measures vectors that have been
    divided already.

    Paper    Theorem 3.1 with a norm that depends on theta, which its proof allows.
    Privacy  The widths are asked of the loss; they are public functions of theta.
    Cost     O(d).
    """

    weights: Weights = field(default=(), init=False)
    follows: ClassVar[bool] = True

    @property
    def shape(self) -> Shape | None:
        """None: it has as many balls as there are theta."""
        return None

    def at(self, changes: Sequence[Piece]) -> Norm:
        """Return the sup norm in units of the largest change of each coordinate.

        A coordinate that no record can change keeps the unit 1.
        """
        reaches = zip(*_reaches(changes), strict=True)
        return WeightedSup(tuple(max(reach) or Fraction(1) for reach in reaches))

    def followed(self, dim: int) -> tuple[tuple[Fraction, ...], ...]:
        """Return the axes."""
        return axes(dim)

    def divisor(self, widths: Array) -> Array:
        """Return each coordinate's own sensitivity."""
        return widths


def _reaches(changes: Sequence[Piece]) -> list[list[Fraction]]:
    """Return how far each piece reaches along each coordinate."""
    if not changes:
        raise SpecError("CoordinateSup needs changes to follow.")
    return [_reach(piece) for piece in changes]


def _reach(piece: Piece) -> list[Fraction]:
    match piece:
        case Cuboid(low, high):
            return furthest(low, high)
        case Ball(radius, dim):
            return [radius] * dim
        case Reaching(around, reach):
            return [reach(axis) for axis in axes(len(around.low))]
        case Gauged():
            raise IncompatibleParts(
                "CoordinateSup follows what a record can change, and scores that are clipped to a "
                "length follow the norm. Give one clip for each coordinate."
            )


def axes(dim: int) -> tuple[tuple[Fraction, ...], ...]:
    """Return the unit vectors."""
    return tuple(tuple(Fraction(i == j) for i in range(dim)) for j in range(dim))
