"""The tilted absolute residual, whose minimiser is a quantile."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import SpecError
from kng.core.exact import exact
from kng.losses.pointwise.chords import convex, level
from kng.losses.pointwise.function import Chords, Interval
from kng.losses.pointwise.steps import PSI, floor_product, largest_residual, shift_of

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, init=False)
class Pinball:
    """Tilted absolute residual; minimised by the tau-quantile.

        psi = 1[y <= eta] - tau,      rho = tau (y - eta)_+ + (1 - tau) (eta - y)_+

    Parameters
    ----------
    tau : number
        Which quantile, strictly between 0 and 1; floats are read by their repr.

    Paper    Section 4.5, with the constant corrected for tau > 1/2 (docs/paper-map.md).
    Privacy  psi lies in [-tau, 1 - tau] whatever eta and y are.
             docs/proofs/losses/location.md.
    Cost     O(1) a record.
    """

    tau: Fraction
    name: ClassVar[str] = "pinball"
    residual: ClassVar[bool] = True
    sides: ClassVar[tuple[Fraction, Fraction] | None] = None
    curvature: ClassVar[Fraction | None] = None
    scale: ClassVar[Fraction | None] = None

    def __init__(self, tau: Any) -> None:
        number = exact(tau, "tau")
        if not 0 < number < 1:
            raise SpecError(
                f"a quantile must lie strictly between 0 and 1, got {float(number):g}. "
                "For the ends of a distribution use for example 0.001 or 0.999."
            )
        object.__setattr__(self, "tau", number)

    def rescaled(self, scale: Fraction) -> Pinball:  # noqa: ARG002
        """Return the same: it has no scale."""
        return self

    def psi(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return the same range for all predictions and responses."""
        return Interval(-self.tau, 1 - self.tau)

    def apart(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return 1: records on both sides of eta."""
        return Interval.at(Fraction(1))

    def rho(self, eta: Interval, y: Interval) -> Interval:
        """Return the range of the tilted residual, which is least nearest to 0."""
        residual = eta.minus(y)
        ends = [self._of(end) for end in (residual.low, residual.high) if end is not None]
        least = min(ends) if residual.smallest > 0 else Fraction(0)
        return Interval(least, max(ends) if len(ends) == 2 else None)

    def _of(self, residual: Fraction) -> Fraction:
        return max((1 - self.tau) * residual, -self.tau * residual)

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> PinballSteps:
        """Return the function in q-ths if tau = p / q, truncated to 2**-24 if q is larger."""
        steps = self.tau.denominator if self.tau.denominator <= PSI else PSI
        below, above = int(self.tau * steps), int((1 - self.tau) * steps)
        shift = shift_of(largest_residual(unit, eta, y) * max(below, above))
        return PinballSteps(unit, steps, below, above, shift)


@dataclass(frozen=True, slots=True)
class PinballSteps:
    """psi is -below where y > eta and above elsewhere, rho so many times |eta - y|."""

    unit: Fraction
    steps: int
    below: int
    above: int
    shift: int

    @property
    def psi_step(self) -> Fraction:
        """One q-th."""
        return Fraction(1, self.steps)

    @property
    def rho_step(self) -> Fraction:
        """One q-th of the unit; coarser where there would be more than `steps.RHO` of them."""
        return self.unit * Fraction(2**self.shift, self.steps)

    def psi(self, eta: Array, y: Array) -> Array:
        """Return which side of eta a response is on."""
        return np.where(y <= eta, float(self.above), float(-self.below))

    def rho(self, eta: Array, y: Array) -> Array:
        """Return the tilted residual in the truncated weights, rounded down exactly."""
        residual = eta - y
        weight = np.where(residual >= 0, float(self.above), float(self.below))
        return floor_product(np.abs(residual), weight, self.shift)

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return level lines: exact for decided records, half way between for the others."""
        return level(self.psi, low, high, y)

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords of two lines that meet at 0."""
        scale = 2.0**-self.shift

        def value(eta: Array, response: Array) -> Array:
            return np.asarray(derivative(eta, response) * (eta - response))

        def derivative(eta: Array, response: Array) -> Array:
            return np.asarray(np.where(response <= eta, self.above, -self.below) * scale)

        cut = 1.0 if self.shift else 0.0  # without a shift nothing is rounded
        return convex(self.rho, value, derivative, inf, low, high, y, cut)
