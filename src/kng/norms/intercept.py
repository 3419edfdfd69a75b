"""The sup norm with a softer weight on slopes, optimal for a quantile plane with an intercept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, log
from typing import ClassVar

import numpy as np
from flint import arb

from kng.core.bits import Bits
from kng.core.bodies import Piece
from kng.core.enclosures import ball
from kng.core.errors import SpecError
from kng.core.exact import exact
from kng.core.parts import Norm
from kng.core.shapes import InterceptShape, Shape
from kng.norms.forms import largest_over_box
from kng.norms.lp import furthest
from kng.norms.rounding import Array, near_far, outwards
from kng.norms.uniform_balls import cube_of, radius_of


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

    def lengths(self, rows: Array) -> Array:
        """Return the norm of each row."""
        return self._lengths(np.abs(rows))

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the ball: its share of the box around it, as `proposals` has."""
        slope = float(self.slope)
        share = sum(slope**k for k in range(dim)) / dim
        return dim * log(2) - (dim - 1) * log(slope) + log(share)

    def directions(self, bits: Bits, rows: int, dim: int) -> Array:
        """Return points of norm one with the cone measure: where a uniform ray leaves the ball.

        Of a uniform point of the ball,  1 - (1 - slope) |v_0|  has a power of d as its law, and the
        others are uniform up to that, divided by the slope (`second_moments`).
        """
        slope, u = float(self.slope), 2 * bits.uniforms(rows, dim) - 1
        size, sign = np.abs(u[:, 0]), np.sign(u[:, 0])
        if slope < 1:
            room = (1 - size * (1 - slope**dim)) ** (1 / dim)
            size = (1 - room) / (1 - slope)
        else:
            room = np.ones(rows)
        points = np.column_stack([sign * size, u[:, 1:] * (room / slope)[:, None]])
        return np.asarray(points / self.lengths(points)[:, None])

    def largest_form(self, matrix: Array) -> float:
        """Return the largest u'matrix u of the two boxes that the ball is the hull of."""
        ones = np.ones(len(matrix))
        slopes = largest_over_box(matrix[1:, 1:], ones[1:] / float(self.slope))
        return max(largest_over_box(matrix, ones), slopes)

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

    def uniforms(self, dim: int) -> int:
        """Return how many uniform numbers a point of `noise` is made of."""
        return 2 * dim + 1

    def proposals(self, dim: int) -> int:
        """Return d: the ball is (1 + slope + ... + slope^(d - 1)) / d of the box around it."""
        return dim

    def inside(self, uniforms: Sequence[arb], dim: int) -> bool | None:
        """Tell whether a point (w_0, w / slope) of the box around the ball lies in it.

        It does if (1 - slope) |w_0| + max_j |w_j| <= 1. None asks for more bits.
        """
        first, *rest = cube_of(uniforms, dim)
        reach = ball(1 - self.slope) * abs(first)
        sums = [reach + abs(w) for w in rest]
        if any(total > 1 for total in sums):
            return False
        return all(total <= 1 for total in sums) or None

    def noise(self, uniforms: Sequence[arb], dim: int) -> list[arb]:
        """Enclose a point with density proportional to exp(-||u||), for uniforms that are inside.

        A radius of Gamma(d + 1) times a point of the ball.
        """
        radius, (first, *rest) = radius_of(uniforms, dim), cube_of(uniforms, dim)
        return [radius * first, *(radius * w / ball(self.slope) for w in rest)]

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """Return the mean square of each coordinate of a uniform point of the ball.

        |w_0| = t has density proportional to (1 - (1 - slope) t)^(d - 1), and given it the others
        are uniform up to (1 - (1 - slope) t) / slope.
        """
        lost = self.slope - 1

        def integral(power: int, degree: int) -> Fraction:
            """Integrate t^power (1 - (1 - slope) t)^degree from 0 to 1."""
            terms = (comb(degree, k) * lost**k / (k + power + 1) for k in range(degree + 1))
            return sum(terms, Fraction(0))

        mass = integral(0, dim - 1)
        others = integral(0, dim + 1) / mass / (3 * self.slope**2)
        return float(integral(2, dim - 1) / mass), *(float(others),) * (dim - 1)
