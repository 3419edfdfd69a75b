"""What a plane that was drawn before leaves of y, in whole steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.parts import Point
from kng.core.records import Integers
from kng.core.scale import SCALE_STEPS, RadiusGrid
from kng.losses.mapped import Mapped, RecordMap
from kng.losses.pointwise.function import Pointwise
from kng.losses.radius import Distances

# Steps of half the range of y, as fine as those of its scale, and half ranges that are kept: what
# lies farther from a plane counts as being so far.
STEPS, _FARTHEST = SCALE_STEPS // 2, 2
LAST = 2 * _FARTHEST * STEPS


@dataclass(frozen=True, slots=True)
class Residuals:
    """position = y' - z'theta  in steps, counted from -2 half ranges of y and cut off at 2 of them.

    Each record's own float64, operation by operation in the order of the columns, so that it
    depends on nothing else.
    """

    theta: tuple[float, ...]
    design: Design

    def __call__(self, batch: Integers) -> Integers:
        """Return the position of each record."""
        facts = list(zip(self.design.offsets, self.design.spans, strict=True))
        *columns, found = (
            (2 * batch[:, j] - float(offset)) / float(span)
            for j, (offset, span) in enumerate(facts)
        )
        first = int(self.design.intercept)
        if first:
            found = found - self.theta[0]
        for slope, column in zip(self.theta[first:], columns, strict=True):
            found = found - slope * column
        steps = np.rint(found * STEPS) + LAST // 2
        positions: Integers = np.clip(steps, 0, LAST)[:, None]
        return positions


@dataclass(frozen=True, slots=True)
class FromPlane:
    """Residuals from the plane that was drawn at a position of the release."""

    design: Design
    lattice: Lattice
    position: int
    described: ClassVar[str] = "Residual"

    def given(self, drawn: Sequence[Point]) -> Residuals:
        """Return the residuals."""
        plane = self.lattice.units(drawn[self.position])
        return Residuals(tuple(map(float, plane)), self.design)


@dataclass(frozen=True, slots=True)
class ResidualDistances:
    """Positions of distances of residuals."""

    residuals: Residuals
    distances: Distances

    def __call__(self, batch: Integers) -> Integers:
        """Return the position of each record."""
        return self.distances(self.residuals(batch))


@dataclass(frozen=True, slots=True)
class FromPlaneAndCentre:
    """Distances of residuals from the number that the plan before has drawn."""

    plane: FromPlane
    radii: tuple[int, ...]
    described: ClassVar[str] = "Residual radius"

    def given(self, drawn: Sequence[Point]) -> RecordMap:
        """Return the distances."""
        return ResidualDistances(self.plane.given(drawn), Distances(drawn[-1][0], self.radii))


# Radii of residuals: up to the distance of the farthest two, each a sixteenth longer at most.
RADII = RadiusGrid(LAST, 16)


def residual_losses(
    centre: Pointwise, spread: Pointwise, plane: FromPlane
) -> tuple[Mapped, Mapped]:
    """Return the losses of a quantile of residuals, and of a quantile of distances from it."""
    radii = RADII.radii
    return (
        Mapped.of(centre, LAST, plane),
        Mapped.of(spread, len(radii) - 1, FromPlaneAndCentre(plane, radii)),
    )
