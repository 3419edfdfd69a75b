"""The squared residual, whose minimiser is a mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.losses.pointwise.chords import convex
from kng.losses.pointwise.function import Chords, Interval
from kng.losses.pointwise.steps import floor_product, largest_residual, shift_of

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Squared:
    """Half the squared residual.

        psi = eta - y,      rho = (eta - y)^2 / 2

    The paper leaves out the half; its 2 cancels between score and Delta.

    Paper    Sections 4.1 and 4.2.
    Privacy  psi has no bound of its own: that of eta and y enters Delta.
             docs/proofs/losses/location.md.
    Cost     O(1) a record.
    """

    name: ClassVar[str] = "squared"
    residual: ClassVar[bool] = True
    sides: ClassVar[tuple[Fraction, Fraction] | None] = (Fraction(1), Fraction(1))
    curvature: ClassVar[Fraction | None] = Fraction(1)
    scale: ClassVar[Fraction | None] = None

    def rescaled(self, scale: Fraction) -> Squared:  # noqa: ARG002
        """Return the same: it has no scale."""
        return self

    def psi(self, eta: Interval, y: Interval) -> Interval:
        """Return the differences of predictions and responses."""
        return eta.minus(y)

    def apart(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return how far responses lie apart, whatever eta is."""
        wide = y.minus(y).high
        return Interval(wide, wide)

    def rho(self, eta: Interval, y: Interval) -> Interval:
        """Return half the squares of the smallest and the largest residual."""
        residual = eta.minus(y)
        most = residual.largest
        return Interval(residual.smallest**2 / 2, None if most is None else most**2 / 2)

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> SquaredSteps:
        """Return the function on whole numbers."""
        return SquaredSteps(unit, shift_of(largest_residual(unit, eta, y) ** 2))


@dataclass(frozen=True, slots=True)
class SquaredSteps:
    """psi = eta - y, exactly; rho = (eta - y)^2 / 2 in steps of unit^2 / 2, times 2**shift."""

    unit: Fraction
    shift: int

    @property
    def psi_step(self) -> Fraction:
        """The unit of predictions."""
        return self.unit

    @property
    def rho_step(self) -> Fraction:
        """Half its square; coarser only where there would be more than `steps.RHO` of them."""
        return self.unit**2 * Fraction(2**self.shift, 2)

    def psi(self, eta: Array, y: Array) -> Array:
        """Return the residual."""
        return np.asarray(eta - y)

    def rho(self, eta: Array, y: Array) -> Array:
        """Return half its square, rounded down exactly."""
        residual = eta - y
        return floor_product(residual, residual, self.shift)

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return the residual itself; it misses only what the middle of an interval is rounded."""
        first, last = low - y, high - y
        middle = (first + last) / 2
        whole = (np.abs(first) <= 2.0**51) & (np.abs(last) <= 2.0**51)
        whole &= (np.rint(low) == low) & (np.rint(high) == high) & (np.rint(y) == y)
        error = 2.0**-51 * (np.abs(low) + np.abs(high) + np.abs(y))
        single = low == high
        return Chords(
            np.ones_like(middle),
            np.where(single, first, middle),
            np.where(whole | single, 0.0, error),
        )

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords of the parabola."""
        scale = 2.0**-self.shift

        def value(eta: Array, response: Array) -> Array:
            return np.asarray((eta - response) ** 2 * scale)

        def derivative(eta: Array, response: Array) -> Array:
            return np.asarray((eta - response) * (2 * scale))

        return convex(self.rho, value, derivative, 2 * scale, low, high, y)
