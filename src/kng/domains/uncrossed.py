"""Planes that do not cross one that is already public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from kng.core.errors import SpecError
from kng.core.protocols import Point
from kng.domains.box import Box


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
    other: Point | None = None

    def given(self, drawn: Sequence[Point]) -> Uncrossed:
        """Return the domain once the earlier planes are drawn."""
        return replace(self, other=drawn[self.than])

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.box.dim

    @property
    def proper(self) -> bool:
        """It is finite, as the box is."""
        return True

    @property
    def first(self) -> Point:
        """The box's first corner."""
        return self.box.first

    @property
    def last(self) -> Point:
        """The box's last corner."""
        return self.box.last

    @property
    def points(self) -> int:
        """How many points the box holds, at least as many as lie inside."""
        return self.box.points

    @property
    def _plane(self) -> Point:
        if self.other is None:
            raise SpecError("Uncrossed: the other plane has not been drawn yet.")
        return self.other

    def home(self) -> Point:
        """Return the other plane, moved half of the way that the box leaves it."""
        intercept, *slopes = self._plane
        end = self.last[0] if self.side > 0 else self.first[0]
        return ((intercept + end) // 2, *slopes)

    def inequalities(self) -> list[tuple[Point, int]]:
        """Return the box's, and one for each corner of the cube."""
        corners = [(1, *z) for z in product((-1, 1), repeat=self.dim - 1)]
        rows = [tuple(-self.side * z for z in corner) for corner in corners]
        bounds = [sum(a * k for a, k in zip(row, self._plane, strict=True)) for row in rows]
        return self.box.inequalities() + list(zip(rows, bounds, strict=True))

    def contains(self, theta: Point) -> bool:
        """Whether a plane of the box does not cross the other one."""
        step = [k - other for k, other in zip(theta, self._plane, strict=True)]
        return self.box.contains(theta) and self.side * step[0] >= sum(abs(v) for v in step[1:])
