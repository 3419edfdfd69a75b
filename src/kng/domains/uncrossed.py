"""Planes that do not cross one that is already public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Literal, NoReturn

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.parts import Array, Base, Mask, Point
from kng.core.regions import Grid, Region, Theta
from kng.domains.box import Box
from kng.domains.points import LatticeBox, WalledBox, common_measure
from kng.domains.within_box import WithinBox


@dataclass(frozen=True, slots=True)
class Uncrossed:
    """Coefficients of a plane above (side 1) or below (side -1) an earlier one, over a cube.

        Theta = { theta in box : side (theta - other)'(1, z) >= 0  for all z in [-1, 1]^(d-1) }
              = { side (theta_0 - other_0) >= sum_j |theta_j - other_j| }

    A plane is linear, so it is enough to look at the corners of the cube. ``than`` says which of
    the earlier draws the other plane is; until it is drawn nothing but the box is known.

    Paper    none; the stepwise release of several quantiles that followed it.
    Privacy  The other plane is a release, hence public: a domain that depends on it composes.
             docs/proofs/domains/uncrossed.md.
    Cost     2^(d-1) inequalities.
    """

    box: Box
    side: Literal[1, -1]
    than: int
    other: Theta | None = None

    @property
    def waits(self) -> bool:
        """Whether the other plane is still to be drawn."""
        return self.other is None

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return f"Uncrossed({self.box!r})"

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.box.dim

    @property
    def base(self) -> Base:
        """The box's."""
        return self.box.base

    @property
    def bounded(self) -> bool:
        """It lies in the box."""
        return True

    @property
    def proper(self) -> bool:
        """A bounded domain has finite mass."""
        return True

    def refusal(self) -> None:
        """Refuse nothing: a bounded domain has finite mass."""

    def sized(self, dim: int) -> Uncrossed:
        """Return it with as many coordinates as the loss, or refuse."""
        return replace(self, box=self.box.sized(dim))

    def scaled(self, factor: Fraction) -> Uncrossed:
        """Return the same planes in other units: each theta times a positive factor."""
        other = None if self.other is None else tuple(factor * v for v in self.other)
        return replace(self, box=self.box.scaled(factor), other=other)

    def given(self, grid: Grid, drawn: Sequence[Point]) -> Uncrossed:
        """Return the domain once the earlier planes are drawn."""
        return replace(self, other=grid.theta(drawn[self.than]))

    def region(self) -> Region:
        """Return what is known of the box."""
        return self.box.region()

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether a plane of the box does not cross the other one."""
        if self.other is None:
            _not_drawn()
        step = [v - other for v, other in zip(theta, self.other, strict=True)]
        return self.box.contains(theta) and self.side * step[0] >= sum(map(abs, step[1:]))

    def on(self, grid: Grid) -> UncrossedPoints | WalledBox:
        """Return its lattice points; only those of the box are known until the other is drawn."""
        box = self.box.on(grid)
        if self.other is None:
            points = UncrossedPoints(self, grid, box)
            # Whatever is drawn, its walls have no larger numbers than these.
            for corner in (box.first, box.last):
                self.given(grid, [corner] * (self.than + 1)).on(grid)
            return points
        shift = [v - origin for v, origin in zip(self.other, grid.origin, strict=True)]
        unit = common_measure((*grid.step, *shift))
        weights = tuple(int(step / unit) for step in grid.step)
        centre = tuple(int(v / unit) for v in shift)
        signs = ((-self.side,), *((self.side, -self.side),) * (self.dim - 1))
        home = _middle(box, weights, centre, self.side)
        return WalledBox(box, weights, centre, signs, 0, home)


@dataclass(frozen=True, slots=True)
class UncrossedPoints(WithinBox):
    """Lattice points of planes that will not cross one that is still to be drawn."""

    domain: Uncrossed
    grid: Grid
    box: LatticeBox

    def home(self) -> Point:
        """Refuse: the other plane decides."""
        _not_drawn()

    def contains(self, point: Point) -> bool:  # noqa: ARG002
        """Refuse: the other plane decides."""
        _not_drawn()

    def inequalities(self) -> list[tuple[Point, int]]:
        """Refuse: the other plane decides."""
        _not_drawn()

    def beside(self, low: Array, high: Array) -> tuple[Mask, Mask]:  # noqa: ARG002
        """Refuse: the other plane decides."""
        _not_drawn()


def _middle(box: LatticeBox, weights: Point, centre: Point, side: int) -> Point:
    """Return the lattice plane nearest to the other one, moved half of the way to the box's end."""
    rows = list(zip(weights[1:], centre[1:], box.first[1:], box.last[1:], strict=True))
    slopes = [min(max(round(Fraction(c, w)), a), b) for w, c, a, b in rows]
    gap = sum(abs(w * k - c) for k, (w, c, _, _) in zip(slopes, rows, strict=True))
    near = Fraction(centre[0] + side * gap, weights[0])
    least = max(ceil(near), box.first[0]) if side > 0 else min(floor(near), box.last[0])
    end = box.last[0] if side > 0 else box.first[0]
    if side * (end - least) < 0:
        raise IncompatibleParts("Uncrossed: no plane of the box lies on that side of the other.")
    return ((least + end) // 2, *slopes)


def _not_drawn() -> NoReturn:
    raise SpecError("Uncrossed: the other plane has not been drawn yet.")
