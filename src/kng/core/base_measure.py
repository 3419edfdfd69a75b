"""What a base measure answers for: how likely each theta is before the records are seen."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kng.core.regions import Region, Theta

Array = NDArray[np.float64]


class Base(Protocol):
    """How likely each theta is before the records are seen, in the units of theta."""

    @property
    def even(self) -> bool:
        """Whether it weighs all thetas alike, so that nobody needs to ask it more."""
        ...

    @property
    def finite(self) -> bool:
        """Whether it has finite mass on the whole space, not only on bounded sets."""
        ...

    @property
    def limits(self) -> tuple[Theta, Theta] | None:
        """Two corners, a number for all coordinates or one each, which stand for the whole space.

        None where nothing short of the whole space does.
        """
        ...

    def fitted(self, region: Region) -> Base:
        """Return it for thetas of a region; refuse if it says nothing of some of them."""
        ...

    def scaled(self, factor: Fraction) -> Base:
        """Return the same in other units: each theta times a factor."""
        ...

    def exponent(self, theta: Theta) -> Fraction:
        """Return minus the log of the density, in parts of its largest value: at least 0, public.

        Where it is irrational it is rounded, always alike, and the rounded one is the density.
        """
        ...

    def exponent_bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the exponent between two corners, rows of theta, rounded outwards."""
        ...

    def log_density(self, theta: Array) -> Array:
        """Return the log density at rows of theta in float64, up to a constant."""
        ...
