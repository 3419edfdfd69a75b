"""A scale for residuals, from two numbers about the response that a release has drawn.

    centre   a private median of y
    radius   a private quantile of |y - centre|, on a public geometric grid

Both are part of what is released, so everything here is post-processing of public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kng.core.encoding import Encoding

# Four points an octave: 4, 5, 6 and 7 times a power of two. Neighbours differ by a quarter at most.
_FOUR = 4
# Steps of y between its bounds where its scale is drawn, and the least radius in these steps:
# 2**-20 of half the range. Bounds may be a hundred thousand times too wide before it is reached.
SCALE_STEPS = 2**24
_LEAST = 8


@dataclass(frozen=True, slots=True)
class RadiusGrid:
    """Radii that can be drawn, as whole steps of y: from 8 to the whole range, and none missing.

    ``octave`` is how many lie between a number and twice that.
    """

    last: int
    octave: int = _FOUR

    @property
    def radii(self) -> tuple[int, ...]:
        """The radii in growing order; the last one is not below any distance."""
        found: list[int] = []
        power = max(_LEAST // self.octave, 1)
        while not found or found[-1] < self.last:
            found += [power * mantissa for mantissa in range(self.octave, 2 * self.octave)]
            power *= 2
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the response lies and how far it spreads, in its own units.

    ``size`` is its standard deviation if it is normal, ``farthest`` the distance of the farther
    bound. ``heaped`` says that the least radius was drawn: so many records lie at the centre that
    their spread says nothing about the others.
    """

    centre: Fraction
    size: Fraction
    farthest: Fraction
    heaped: bool


@dataclass(frozen=True, slots=True)
class ResidualScale:
    """What residuals from a plane say, in units of y: where they lie, and how far they spread.

    ``size`` is their standard deviation if they are normal.
    """

    plane: tuple[int, ...]
    shift: Fraction
    size: Fraction


@dataclass(frozen=True, slots=True)
class ScaleRule:
    """Reads a scale off what was drawn.

    ``shrink`` turns the radius into a standard deviation: one over the normal distribution's own
    quantile of |y|.
    """

    records: Encoding
    grid: RadiusGrid
    shrink: Fraction

    def __call__(self, centre: int, radius: int) -> Scale:
        """Return the scale for a lattice point of y and a radius by its position on the grid."""
        (low,), (high,), (step,) = (
            self.records.bounds.low,
            self.records.bounds.high,
            self.records.step,
        )
        middle = low + step * centre
        return Scale(
            middle,
            step * self.grid.radii[radius] * self.shrink,
            max(high - middle, middle - low),
            radius == 0,
        )
