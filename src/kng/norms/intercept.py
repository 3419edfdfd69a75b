"""The sup norm with a softer weight on slopes, optimal for a quantile plane with an intercept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kng.core.bodies import Piece
from kng.core.errors import SpecError
from kng.core.exact import exact
from kng.core.parts import Norm
from kng.core.shapes import InterceptShape, Shape
from kng.norms.lp import furthest
from kng.norms.rounding import Array, near_far, outwards


@dataclass(frozen=True, slots=True)
class InterceptSup:
    """Sup norm that counts what slopes have beyond the intercept by a weight of at most 1.

        ||(g_0, g)|| = |g_0| + slope * ( ||g||_inf - |g_0| )_+ ,      1/2 <= slope <= 1

    Its unit ball is the hull of the cube [-1, 1]^d and of {0} x [-1/slope, 1/slope]^(d-1). With
    slope = 1 / (2 max(tau, 1 - tau)) that is the hull of all that one record can do to the gradient
    of a quantile plane, so no norm of sensitivity 1 has a smaller ball
    (docs/proofs/norms/intercept.md).

    Paper    Section 1: K is the convex hull of the sensitivity polytope; this is that K for
             section 4.5 with an intercept. At tau = 1/2 it is the paper's sup norm.
    Privacy  A norm carries no constant of its own: Delta is computed from the loss's body.
    Cost     O(d).

    Parameters
    ----------
    slope : number
        Weight of the slopes, between 1/2 and 1.
    """

    follows: ClassVar[bool] = False
    slope: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "slope", exact(self.slope, "slope of InterceptSup"))
        if not Fraction(1, 2) <= self.slope <= 1:
            raise SpecError(f"InterceptSup needs a slope between 1/2 and 1, got {self.slope}.")

    @property
    def shape(self) -> Shape | None:
        """The hull of a cube and of a larger cube without its first coordinate."""
        return InterceptShape(self.slope)

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector whose first entry is the intercept's."""
        first, *rest = (abs(v) for v in vector)
        return first + self.slope * max(max(rest, default=Fraction(0)) - first, Fraction(0))

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the norm between two corners, for rows of corners.

        slope <= 1, so it grows with |g_0| as well.
        """
        near, far = near_far(low, high)
        with np.errstate(over="ignore", under="ignore"):
            return outwards(self._lengths(near), self._lengths(far), 6)

    def _lengths(self, sizes: Array) -> Array:
        """Return max(a, (1 - slope) a + slope b) for rows of sizes: its norm without a minus."""
        first, rest = sizes[:, 0], sizes[:, 1:].max(axis=1, initial=0.0)
        mixed = float(1 - self.slope) * first + float(self.slope) * rest
        return np.asarray(np.maximum(first, mixed))

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, exactly."""
        return self.value(furthest(low, high))

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:  # noqa: ARG002
        """Return the radius, exactly: (1 - slope) a + slope b <= sqrt(a^2 + b^2)."""
        return radius

    def at(self, changes: Sequence[Piece]) -> Norm:  # noqa: ARG002
        """Return itself."""
        return self

    def refusal(self, dim: int) -> str | None:  # noqa: ARG002
        """Return None: it serves any number of coordinates."""
        return None
