"""The l1 ball of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, ClassVar

from kng.core.errors import IncompatibleParts
from kng.core.exact import positive, show
from kng.core.parts import Base, Point
from kng.core.regions import Grid, Region
from kng.core.shapes import Shape, SumShape
from kng.domains.points import LatticeBox, WalledBox, common_measure
from kng.domains.stated import UNIFORM, agreed, based, known, rescaled, shown, stated

# An l1 ball has 2^d walls.
_MOST_COORDINATES = 10


@dataclass(frozen=True, slots=True, init=False, repr=False)
class L1Ball:
    """All theta with a bounded sum of absolute values.

        Theta = { theta : ||theta||_1 <= radius }

    Parameters
    ----------
    radius : number
        The bound.
    dim : int, optional
        Number of coordinates; by default as many as the loss has.
    base : base of `kng.bases`, or an earlier Release
        The base measure, by default uniform.

    Paper    Section 4.2, with radius B.
    Privacy  Public: the caller states the radius.
    Cost     None; lattice points have 2^d inequalities.
    """

    radius: Fraction
    _dim: int | None
    base: Base

    waits: ClassVar[bool] = False

    def __init__(self, radius: Any, dim: Any = None, base: Base = UNIFORM) -> None:
        self._set(positive(radius, "radius"), stated(dim), base)

    def _set(self, radius: Fraction, dim: int | None, base: Base) -> L1Ball:
        """Take a number that was read before: it may be larger than a caller's."""
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "_dim", dim)
        region = None if dim is None else Region.ball(radius, dim)
        object.__setattr__(self, "base", base if base is UNIFORM else based(base, region))
        return self

    def __repr__(self) -> str:
        return f"L1Ball({show(self.radius)}{shown(self._dim, self.base, UNIFORM)})"

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return repr(self)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return known(self._dim, repr(self))

    @property
    def l1_radius(self) -> Fraction:
        """The bound on the sum of absolute values."""
        return self.radius

    @property
    def gauge(self) -> tuple[Shape, Fraction]:
        """It is a ball of l1."""
        return SumShape(), self.radius

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

    def sized(self, dim: int) -> L1Ball:
        """Return the ball with as many coordinates as the loss, or refuse."""
        size = agreed(self._dim, dim, repr(self))
        return object.__new__(L1Ball)._set(self.radius, size, self.base)

    def scaled(self, factor: Fraction) -> L1Ball:
        """Return the same ball in other units: its radius times a positive factor."""
        radius = positive(factor, "factor") * self.radius
        return object.__new__(L1Ball)._set(radius, self._dim, rescaled(self.base, factor))

    def based(self, base: Base) -> L1Ball:
        """Return the same ball with another base measure."""
        return object.__new__(L1Ball)._set(self.radius, self._dim, base)

    def region(self) -> Region:
        """Return the box around it, and its radius."""
        return Region.ball(self.radius, self.dim)

    def given(self, grid: Grid, drawn: Sequence[Point]) -> L1Ball:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether the absolute values of a theta add up to at most the radius."""
        return len(theta) == self.dim and sum(map(abs, theta)) <= self.radius

    def on(self, grid: Grid) -> LatticeBox | WalledBox:
        """Return its lattice points, in the smallest box that holds them.

        In units of a common measure u of steps and origins, theta_j = u (w_j k_j - c_j) with whole
        w and c, so that ||theta||_1 <= radius is  sum_j |w_j k_j - c_j| <= floor(radius / u).
        """
        agreed(self.dim, len(grid.step), repr(self), "lattice")
        if self.dim > _MOST_COORDINATES:
            raise IncompatibleParts(
                f"{self!r} has too many walls for lattice points, 2^{self.dim}. "
                f"Use at most {_MOST_COORDINATES} coordinates, or a Box."
            )
        unit = common_measure((*grid.step, *grid.origin))
        weights = tuple(int(step / unit) for step in grid.step)
        centre = tuple(int(-origin / unit) for origin in grid.origin)
        limit = floor(self.radius / unit)
        # The point nearest to 0 in each coordinate has the least norm of all.
        home = tuple(round(Fraction(c, w)) for w, c in zip(weights, centre, strict=True))
        least = [abs(w * k - c) for w, k, c in zip(weights, home, centre, strict=True)]
        if sum(least) > limit:
            raise IncompatibleParts(
                f"{self!r} holds no point of the lattice, whose steps are "
                f"{', '.join(map(show, grid.step))}. Use a larger radius or a smaller step."
            )
        reach = [limit - sum(least) + own for own in least]
        sides = list(zip(weights, centre, reach, strict=True))
        box = LatticeBox(
            tuple(ceil(Fraction(c - r, w)) for w, c, r in sides),
            tuple(floor(Fraction(c + r, w)) for w, c, r in sides),
        )
        if self.dim == 1:
            return box
        return WalledBox(box, weights, centre, ((1, -1),) * self.dim, limit, home)
