"""What lattice points inside a box take from it: coordinates, ends, and how many there can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kng.core.parts import Point

if TYPE_CHECKING:
    from kng.domains.points import LatticeBox


class WithinBox:
    """Some of the lattice points of ``box``."""

    __slots__ = ()
    box: LatticeBox

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.box.dim

    @property
    def proper(self) -> bool:
        """They are finite, as the box is."""
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
