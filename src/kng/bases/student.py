"""A Student base measure: near a centre, or else anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from kng.bases.place import OUTWARDS, SMALL, Place
from kng.core.enclosures import log_below
from kng.core.exact import positive, show
from kng.core.parts import Array
from kng.core.regions import Region, Theta

# The whole space, up to about 2.3 / 128^3, a millionth, of the mass with 3 degrees of freedom.
_REACH = 128


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Student:
    """A multivariate t density around a public guess; a guess that is far off costs little.

        base density proportional to (1 + s / freedom)^-((d + freedom) / 2),
        s = sum_j ((theta_j - centre_j) / scale_j)^2

    ``Whole(base=Student(...))`` is the box of 128 scales around the centre. Beyond it a coordinate
    has a millionth of the mass with 3 degrees of freedom, and 0.5 % with 1.

    Parameters
    ----------
    scale : number or one per coordinate
        How far theta may well be from the guess, in the units of theta; effects in units of y for
        linear models.
    freedom : number
        Degrees of freedom, above 0: tails fall like this power.
    centre : number or one per coordinate
        The guess, 0 unless given.

    Paper    A base measure nu of its Theorem 3.1.
    Privacy  Public: any public positive weights are private. The logarithm is rounded to steps of
             2**-64, and the rounded density is the one that is drawn. docs/proofs/domains/bases.md.
    Cost     One logarithm for a point.
    """

    even: ClassVar[bool] = False
    finite: ClassVar[bool] = True

    place: Place
    freedom: Fraction

    def __init__(self, scale: Any, freedom: Any = 3, centre: Any = 0) -> None:
        self._set(Place.of(scale, centre, "Student"), positive(freedom, "freedom"))

    def _set(self, place: Place, freedom: Fraction) -> Student:
        """Take numbers that were read before: they may be finer or larger than a caller's."""
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "freedom", freedom)
        return self

    @classmethod
    def at(cls, centre: Theta, scale: Theta, freedom: Fraction) -> Student:
        """Return the one with these exact numbers."""
        return object.__new__(cls)._set(Place(centre, scale), freedom)

    def __repr__(self) -> str:
        return f"Student({self.place.stated}, {show(self.freedom)}{self.place.where})"

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return repr(self)

    @property
    def limits(self) -> tuple[Theta, Theta]:
        """128 scales around the centre."""
        return self.place.limits(_REACH)

    def fitted(self, region: Region) -> Student:
        """Return it with as many coordinates as a region has, or refuse."""
        return object.__new__(Student)._set(self.place.fitted(region, repr(self)), self.freedom)

    def scaled(self, factor: Fraction) -> Student:
        """Return the same in other units: centre and scale times a factor."""
        return object.__new__(Student)._set(self.place.scaled(factor), self.freedom)

    def exponent(self, theta: Theta) -> Fraction:
        """Return ((d + freedom) / 2) log(1 + square / freedom), rounded down to 2**-64."""
        square = self.place.square(theta)
        return log_below(1 + square / self.freedom, (len(theta) + self.freedom) / 2)

    def exponent_bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return its bounds: it grows with the distance from the centre."""
        freedom = float(self.freedom)
        powers = (low.shape[1] + freedom) / 2
        near, far = self.place.square_bounds(low, high)
        least = powers * np.log1p(near / freedom * (1 - OUTWARDS)) * (1 - OUTWARDS) - SMALL
        most = powers * np.log1p(far / freedom * (1 + OUTWARDS)) * (1 + OUTWARDS) + SMALL
        return np.maximum(least, 0.0), most

    def log_density(self, theta: Array) -> Array:
        """Return its log density, up to a constant, for each row of theta."""
        freedom = float(self.freedom)
        powers = (theta.shape[1] + freedom) / 2
        return np.asarray(-powers * np.log1p(self.place.squares(theta) / freedom))
