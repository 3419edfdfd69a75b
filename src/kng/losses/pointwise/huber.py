"""Huber's function: squared for small residuals, linear for large ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.exact import positive
from kng.core.lattice import power_of_two_below
from kng.losses.pointwise.chords import convex
from kng.losses.pointwise.function import Chords, Interval
from kng.losses.pointwise.sloped import unimodal_slopes
from kng.losses.pointwise.steps import PSI, RHO, largest_residual

Array = NDArray[np.float64]

# rho as computed is off by fewer than 8 roundings of 2**-53, that of the threshold included; this
# factor, which is below 1 by four times as much, keeps it below rho.
_BELOW = 1 - 2.0**-48
# What rounding does to psi in steps, beside the truncation to one of them.
_FUZZ = 2.0**-16


@dataclass(frozen=True, slots=True, init=False)
class Huber:
    """Huber's function in units of its threshold.

        r = (eta - y) / threshold
        psi = clip(r, -1, 1),      rho = r^2 / 2  if |r| <= 1,  else |r| - 1/2

    Parameters
    ----------
    threshold : number
        Residuals larger than this get less weight; in units of the response.

    Paper    beyond it.
    Privacy  psi lies in [-1, 1] whatever eta and y are. docs/proofs/losses/location.md.
    Cost     O(1) a record.
    """

    threshold: Fraction
    name: ClassVar[str] = "huber"
    residual: ClassVar[bool] = True
    sides: ClassVar[tuple[Fraction, Fraction] | None] = None

    def __init__(self, threshold: Any) -> None:
        object.__setattr__(self, "threshold", positive(threshold, "threshold"))

    @property
    def curvature(self) -> Fraction | None:
        """One over the threshold, between the thresholds."""
        return 1 / self.threshold

    @property
    def scale(self) -> Fraction | None:
        """The threshold."""
        return self.threshold

    def rescaled(self, scale: Fraction) -> Huber:
        """Return the function with another threshold."""
        return Huber(scale)

    def psi(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return the same range for all predictions and responses."""
        return Interval(Fraction(-1), Fraction(1))

    def apart(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return 2: records beyond both thresholds."""
        return Interval.at(Fraction(2))

    def rho(self, eta: Interval, y: Interval) -> Interval:
        """Return the function of the smallest and of the largest residual."""
        residual = eta.minus(y)
        most = residual.largest
        return Interval(self._of(residual.smallest), None if most is None else self._of(most))

    def _of(self, residual: Fraction) -> Fraction:
        r = residual / self.threshold
        return r * r / 2 if r <= 1 else r - Fraction(1, 2)

    def curve(self, eta: Array, y: Array) -> tuple[Array, Array]:
        """Return psi and its slope, in real arithmetic."""
        bend = float(self.threshold)
        r = (eta - y) / bend
        return np.clip(r, -1.0, 1.0), np.where(np.abs(r) < 1, 1 / bend, 0.0)

    def least_slopes(self, eta: Array, reach: Array, y: Array) -> tuple[Array, Array]:
        """Return least slopes: one over the threshold between the thresholds, 0 beyond."""
        return unimodal_slopes(self, eta, reach, y)

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> HuberSteps:
        """Return the function on whole numbers."""
        bend = self.threshold / unit
        most = self._of(largest_residual(unit, eta, y) * unit)
        return HuberSteps(float(bend), power_of_two_below(RHO / most) if most else Fraction(RHO))


@dataclass(frozen=True, slots=True)
class HuberSteps:
    """psi in steps of 2**-24, rho in public steps: a power of two of them is 1."""

    bend: float  # the threshold, in whole numbers
    steps: Fraction

    @property
    def psi_step(self) -> Fraction:
        """2**-24 of the threshold."""
        return Fraction(1, PSI)

    @property
    def rho_step(self) -> Fraction:
        """A power of two, so that no rho has more than `steps.RHO` steps."""
        return 1 / self.steps

    def psi(self, eta: Array, y: Array) -> Array:
        """Return the clipped residual, truncated; never above PSI, rounding included."""
        clipped = np.clip(eta - y, -self.bend, self.bend)
        return np.asarray(np.trunc(clipped * (PSI / self.bend)))

    def rho(self, eta: Array, y: Array) -> Array:
        """Return c (|r| - c / 2) with c = min(|r|, 1), rounded down."""
        return np.asarray(np.floor(self._value(eta, y) * _BELOW))

    def _value(self, eta: Array, y: Array) -> Array:
        size = np.abs(eta - y) / self.bend
        clipped = np.minimum(size, 1.0)
        return np.asarray(clipped * (size - clipped / 2) * float(self.steps))

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords, moved to the middle of what they miss at the thresholds.

        Where psi is the same at both ends, as it is at single points, it is that in between.
        """
        bend, scale = self.bend, PSI / self.bend
        first, last = self.psi(low, y), self.psi(high, y)
        begin, end = low - y, high - y
        least, most = np.clip(begin, -bend, bend), np.clip(end, -bend, bend)
        wide = end - begin
        slope = np.divide(most - least, wide, out=np.zeros_like(wide), where=wide > 0)
        chord = (least + most) / 2
        above, below = np.zeros_like(wide), np.zeros_like(wide)
        for kink in (-bend, bend):
            miss = np.where((begin < kink) & (kink < end), kink - least - slope * (kink - begin), 0)
            above, below = np.maximum(above, miss), np.minimum(below, miss)
        # The ends of a wide interval are rounded where they are not whole numbers.
        doubt = 2.0**-50 * scale * slope * (np.abs(low) + np.abs(high) + np.abs(y))
        same = first == last
        return Chords(
            np.where(same, 0.0, slope * scale),
            np.where(same, first, (chord + (above + below) / 2) * scale),
            np.where(same, 0.0, (above - below) / 2 * scale + 1.0 + _FUZZ + doubt),
        )

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords of the parabola and its two lines."""
        per, bend = float(self.steps) / self.bend, self.bend

        def derivative(eta: Array, response: Array) -> Array:
            return np.asarray(np.clip((eta - response) / bend, -1.0, 1.0) * per)

        return convex(self.rho, self._value, derivative, per / bend, low, high, y)
