"""A Gaussian base measure: theta is thought to be near a centre."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from kng.bases.place import OUTWARDS, Place
from kng.core.parts import Array
from kng.core.regions import Region, Theta

# The mass beyond is below 2 exp(-800) a coordinate.
_REACH = 40


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Gaussian:
    """A normal density around a public guess.

        base density proportional to exp( -sum_j ((theta_j - centre_j) / scale_j)^2 / 2 )

    ``Whole(base=Gaussian(...))`` is the box of 40 scales around the centre: beyond it lies less
    than 10^-340 of the mass.

    Parameters
    ----------
    scale : number or one per coordinate
        Standard deviation, in the units of theta; effects in units of y for linear models.
    centre : number or one per coordinate
        The guess, 0 unless given.

    Paper    A base measure nu of its Theorem 3.1.
    Privacy  Public: any public positive weights are private. The exponent is a rational number and
             nothing is rounded. docs/proofs/domains/bases.md.
    Cost     O(d).
    """

    even: ClassVar[bool] = False
    finite: ClassVar[bool] = True

    place: Place

    def __init__(self, scale: Any, centre: Any = 0) -> None:
        self._set(Place.of(scale, centre, "Gaussian"))

    def _set(self, place: Place) -> Gaussian:
        """Take numbers that were read before: they may be finer or larger than a caller's."""
        object.__setattr__(self, "place", place)
        return self

    def __repr__(self) -> str:
        return f"Gaussian({self.place.stated}{self.place.where})"

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return repr(self)

    @property
    def limits(self) -> tuple[Theta, Theta]:
        """40 scales around the centre."""
        return self.place.limits(_REACH)

    def fitted(self, region: Region) -> Gaussian:
        """Return it with as many coordinates as a region has, or refuse."""
        return object.__new__(Gaussian)._set(self.place.fitted(region, repr(self)))

    def scaled(self, factor: Fraction) -> Gaussian:
        """Return the same in other units: centre and scale times a factor."""
        return object.__new__(Gaussian)._set(self.place.scaled(factor))

    def exponent(self, theta: Theta) -> Fraction:
        """Return half the squared distance in scales, exactly."""
        return self.place.square(theta) / 2

    def exponent_bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return its bounds between two corners."""
        least, most = self.place.square_bounds(low, high)
        return least / 2 * (1 - OUTWARDS), most / 2 * (1 + OUTWARDS)

    def log_density(self, theta: Array) -> Array:
        """Return minus half the squared distance for each row of theta."""
        return np.asarray(-self.place.squares(theta) / 2)
