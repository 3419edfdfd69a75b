"""How far numbers lie from a centre that was drawn before, as positions on a grid of radii."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kng.core.parts import Point
from kng.core.records import Integers
from kng.core.scale import RadiusGrid
from kng.losses.mapped import Mapped, RecordMap
from kng.losses.pointwise.function import Pointwise


@dataclass(frozen=True, slots=True)
class Distances:
    """position(y) = number of radii below |y - centre|, all of them whole numbers below 2**53."""

    centre: int
    radii: tuple[int, ...]

    def __call__(self, batch: Integers) -> Integers:
        """Return the position of each record."""
        distance = np.abs(batch[:, :1] - float(self.centre))
        return np.searchsorted(np.array(self.radii, dtype=np.float64), distance).astype(np.float64)


@dataclass(frozen=True, slots=True)
class FromCentre:
    """Distances from the point that the plan before has drawn, unless a centre is given."""

    radii: tuple[int, ...]
    centre: int | None = None
    described: ClassVar[str] = "Radius"

    def given(self, drawn: Sequence[Point]) -> RecordMap:
        """Return the distances."""
        return Distances(drawn[-1][0] if self.centre is None else self.centre, self.radii)


def radius_loss(pointwise: Pointwise, grid: RadiusGrid, centre: int | None) -> Mapped:
    """Return the loss of positions on a grid: its quantile is one of their distances."""
    radii = grid.radii
    return Mapped.of(pointwise, len(radii) - 1, FromCentre(radii, centre))
