"""The Euclidean ball."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import Any, ClassVar

from kng.core.errors import IncompatibleParts
from kng.core.exact import positive, show
from kng.core.parts import Base, Point
from kng.core.regions import Grid, Region
from kng.core.shapes import RoundShape, Shape
from kng.domains.points import LatticeBox, common_measure
from kng.domains.round_points import RoundPoints
from kng.domains.stated import UNIFORM, agreed, based, known, rescaled, shown, stated

# Binary digits behind the point of an irrational square root.
_BITS = 96


@dataclass(frozen=True, slots=True, init=False, repr=False)
class L2Ball:
    """All theta with a bounded Euclidean length.

        Theta = { theta : ||theta||_2 <= radius }

    Parameters
    ----------
    radius : number
        The bound.
    dim : int, optional
        Number of coordinates; by default as many as the loss has.
    base : base of `kng.bases`, or an earlier Release
        The base measure, by default uniform.

    Paper    none; Section 4.2 has an l1 ball.
    Privacy  Public: the caller states the radius. docs/proofs/domains/half_spaces.md.
    Cost     O(d). It has no walls, so that quantile planes, Huber planes and l2 distances are drawn
             without their compiled covers.
    """

    radius: Fraction
    _dim: int | None
    base: Base

    waits: ClassVar[bool] = False

    def __init__(self, radius: Any, dim: Any = None, base: Base = UNIFORM) -> None:
        self._set(positive(radius, "radius of L2Ball"), stated(dim), base)

    def _set(self, radius: Fraction, dim: int | None, base: Base) -> L2Ball:
        """Take a number that was read before: it may be larger than a caller's."""
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "_dim", dim)
        object.__setattr__(self, "base", UNIFORM)
        if base is not UNIFORM:
            region = None if dim is None else self.region()
            object.__setattr__(self, "base", based(base, region))
        return self

    def __repr__(self) -> str:
        return f"L2Ball({show(self.radius)}{shown(self._dim, self.base, UNIFORM)})"

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return repr(self)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return known(self._dim, repr(self))

    @property
    def gauge(self) -> tuple[Shape, Fraction]:
        """It is a ball of l2."""
        return RoundShape(), self.radius

    @property
    def bounded(self) -> bool:
        """A ball lies in a box."""
        return True

    @property
    def proper(self) -> bool:
        """A bounded domain has finite mass."""
        return True

    def refusal(self) -> None:
        """Refuse nothing: a bounded domain has finite mass."""

    def sized(self, dim: int) -> L2Ball:
        """Return the ball with as many coordinates as the loss, or refuse."""
        agreed(self._dim, dim, repr(self))
        return object.__new__(L2Ball)._set(self.radius, dim, self.base)

    def scaled(self, factor: Fraction) -> L2Ball:
        """Return the same ball in other units: its radius times a positive factor."""
        radius = positive(factor, "factor") * self.radius
        return object.__new__(L2Ball)._set(radius, self._dim, rescaled(self.base, factor))

    def based(self, base: Base) -> L2Ball:
        """Return the same ball with another base measure."""
        return object.__new__(L2Ball)._set(self.radius, self._dim, base)

    def region(self) -> Region:
        """Return the box around it, and  ||theta||_1 <= sqrt(d) radius, rounded up."""
        d, r = self.dim, self.radius
        root = Fraction(isqrt(d))
        if root * root < d:
            root = Fraction(isqrt(d << 2 * _BITS) + 1, 1 << _BITS)
        return Region(d, (-r,) * d, (r,) * d, root * r)

    def given(self, grid: Grid, drawn: Sequence[Point]) -> L2Ball:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether the squares of a theta add up to at most that of the radius."""
        return len(theta) == self.dim and sum(v * v for v in theta) <= self.radius**2

    def on(self, grid: Grid) -> LatticeBox | RoundPoints:
        """Return its lattice points, in the smallest box that holds them.

        In units of a common measure u of steps and origins, theta_j = u (w_j k_j - c_j) with whole
        w and c, so that ||theta||_2 <= radius is
        sum_j (w_j k_j - c_j)^2 <= floor(radius^2 / u^2).
        """
        agreed(self.dim, len(grid.step), repr(self), "lattice")
        unit = common_measure((*grid.step, *grid.origin))
        weights = tuple(int(step / unit) for step in grid.step)
        centre = tuple(int(-origin / unit) for origin in grid.origin)
        limit = floor((self.radius / unit) ** 2)
        # The point nearest to 0 in each coordinate is the shortest of all.
        home = tuple(round(Fraction(c, w)) for w, c in zip(weights, centre, strict=True))
        least = [(w * k - c) ** 2 for w, k, c in zip(weights, home, centre, strict=True)]
        if sum(least) > limit:
            raise IncompatibleParts(
                f"{self!r} holds no point of the lattice, whose steps are "
                f"{', '.join(map(show, grid.step))}. Use a larger radius or a smaller step."
            )
        reach = [isqrt(limit - sum(least) + own) for own in least]
        sides = list(zip(weights, centre, reach, strict=True))
        box = LatticeBox(
            tuple(ceil(Fraction(c - r, w)) for w, c, r in sides),
            tuple(floor(Fraction(c + r, w)) for w, c, r in sides),
        )
        return box if self.dim == 1 else RoundPoints(box, weights, centre, limit, home)
