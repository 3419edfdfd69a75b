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
