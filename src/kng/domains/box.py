"""A box of lattice points."""

from __future__ import annotations

from dataclasses import dataclass

from kng.core.errors import SpecError
from kng.core.lattice import Lattice
from kng.core.protocols import Point


@dataclass(frozen=True, slots=True)
class Box:
    """All lattice points between two corners, each with the same base weight.

        Theta = { k : first_j <= k_j <= last_j }

    Paper    The uniform base measure; the paper's densities for bounded scores are improper
             without a bounded Theta (docs/paper-map.md).
    Privacy  Public: corners come from bounds and steps.
    Cost     O(d).
    """

    first: Point
    last: Point

    def __post_init__(self) -> None:
        if not self.first or len(self.first) != len(self.last):
            raise SpecError("Box needs two corners with the same number of coordinates.")
        if any(a > b for a, b in zip(self.first, self.last, strict=True)):
            raise SpecError("Box: the first corner lies beyond the last.")

    @classmethod
    def of(cls, lattice: Lattice) -> Box:
        """Return the box of all points of a lattice."""
        return cls((0,) * len(lattice.last), lattice.last)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.first)

    @property
    def proper(self) -> bool:
        """A box is finite."""
        return True

    @property
    def points(self) -> int:
        """How many lattice points it holds."""
        product = 1
        for a, b in zip(self.first, self.last, strict=True):
            product *= b - a + 1
        return product

    def home(self) -> Point:
        """Return the middle."""
        return tuple((a + b) // 2 for a, b in zip(self.first, self.last, strict=True))

    def inequalities(self) -> list[tuple[Point, int]]:
        """Return k_j <= last_j and -k_j <= -first_j."""
        ones = [tuple(int(i == j) for i in range(self.dim)) for j in range(self.dim)]
        above = list(zip(ones, self.last, strict=True))
        below = [(tuple(-v for v in one), -a) for one, a in zip(ones, self.first, strict=True)]
        return above + below

    def contains(self, theta: Point) -> bool:
        """Whether a lattice point lies between the corners."""
        return all(a <= k <= b for a, k, b in zip(self.first, theta, self.last, strict=True))
