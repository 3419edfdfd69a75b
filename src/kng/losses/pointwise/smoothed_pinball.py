"""The check loss smoothed by a uniform kernel: a quantile whose gradient is continuous."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.exact import positive
from kng.core.lattice import power_of_two_below
from kng.losses.pointwise.chords import convex
from kng.losses.pointwise.function import Chords, Interval
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.steps import PSI, RHO, largest_residual

Array = NDArray[np.float64]

# rho as computed is off by fewer than 8 roundings of 2**-53 of it beyond the kernel, and by 2**-50
# within it, of at most 2**41 steps: this factor and this many steps keep it below rho.
_BELOW, _LESS = 1 - 2.0**-48, 2.0**-8
# What rounding does to psi and to rho in steps, beside the truncation to one of them.
_FUZZ, _DOUBT = 2.0**-16, 2.0**-6
# Differences of psi over less than this part of the bandwidth lose more digits than a secant is
# worth.
_SHORT = 2.0**-20
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, init=False)
class SmoothedPinball:
    """The tilted absolute residual, averaged over a uniform shift of up to a bandwidth.

        r = (eta - y) / bandwidth,     share = (1 + clip(r, -1, 1)) / 2
        psi = share - tau
        rho = (share - tau)^2 + tau (1 - tau)  if |r| <= 1,  else  max((1 - tau) r, -tau r)

    rho is E |.|_tau of the residual plus a shift that is uniform in [-bandwidth, bandwidth], in
    units of the bandwidth. Of all kernels with a given variance the uniform one has the least
    peak, and the peak is the curvature that objective perturbation pays for.

    Parameters
    ----------
    tau : number
        Which quantile, strictly between 0 and 1; floats are read by their repr.
    bandwidth : number
        Residuals smaller than this count in part; in units of the response.

    Paper    beyond it; Section 4.5 with a continuous gradient.
    Privacy  psi lies in [-tau, 1 - tau] whatever eta and y are, as that of the check loss does.
             docs/proofs/losses/smoothed_pinball.md.
    Cost     O(1) a record.
    """

    tau: Fraction
    bandwidth: Fraction
    name: ClassVar[str] = "smoothed pinball"
    residual: ClassVar[bool] = True
    sides: ClassVar[tuple[Fraction, Fraction] | None] = None

    def __init__(self, tau: Any, bandwidth: Any) -> None:
        object.__setattr__(self, "tau", Pinball(tau).tau)
        object.__setattr__(self, "bandwidth", positive(bandwidth, "bandwidth"))

    @property
    def curvature(self) -> Fraction | None:
        """The peak of the kernel."""
        return _HALF / self.bandwidth

    @property
    def scale(self) -> Fraction | None:
        """The bandwidth."""
        return self.bandwidth

    @property
    def clipped(self) -> tuple[Fraction, Fraction]:
        """A and b of  psi = A clip(r, -1, 1) + b,  r in units of the scale."""
        return _HALF, _HALF - self.tau

    def rescaled(self, scale: Fraction) -> SmoothedPinball:
        """Return the function with another bandwidth."""
        return SmoothedPinball(self.tau, scale)

    def psi(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return the same range for all predictions and responses."""
        return Interval(-self.tau, 1 - self.tau)

    def apart(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return 1: records on both sides of eta, a bandwidth away."""
        return Interval.at(Fraction(1))

    def rho(self, eta: Interval, y: Interval) -> Interval:
        """Return the range of a convex function, which is least where share = tau."""
        residual = eta.minus(y)
        low, high, least = residual.low, residual.high, (2 * self.tau - 1) * self.bandwidth
        ends = [self._of(end) for end in (low, high) if end is not None]
        aside = (low is not None and low > least) or (high is not None and high < least)
        return Interval(
            min(ends) if aside else self._of(least), max(ends) if len(ends) == 2 else None
        )

    def _of(self, residual: Fraction) -> Fraction:
        r, tau = residual / self.bandwidth, self.tau
        if abs(r) > 1:
            return max((1 - tau) * r, -tau * r)
        return ((1 + r) / 2 - tau) ** 2 + tau * (1 - tau)

    def curve(self, eta: Array, y: Array) -> tuple[Array, Array]:
        """Return psi and its slope, in real arithmetic."""
        width = float(self.bandwidth)
        r = (eta - y) / width
        psi = np.clip(r, -1.0, 1.0) / 2 + float(_HALF - self.tau)
        return psi, np.where(np.abs(r) < 1, 0.5 / width, 0.0)

    def least_slopes(self, eta: Array, reach: Array, y: Array) -> tuple[Array, Array]:
        """Return the least slope, and the least secant, within a reach of the predictions.

        The slope is the kernel, which does not rise away from 0; so both are least at an end.
        """
        middle, _ = self.curve(eta, y)
        below, first = self.curve(eta - reach, y)
        above, last = self.curve(eta + reach, y)
        least = np.minimum(first, last)
        long = reach > _SHORT * float(self.bandwidth)
        secant = np.minimum(above - middle, middle - below) / np.where(long, reach, 1.0)
        return least, np.where(long, np.maximum(secant, least), least)

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> SmoothedPinballSteps:
        """Return the function on whole numbers.

        psi has q steps or a multiple of them if tau = p / q, so that both its ends are whole, and
        2**24 steps of truncated ends if q is larger.
        """
        reach = largest_residual(unit, eta, y) * unit
        most = max(self._of(reach), self._of(-reach), Fraction(1))
        q = self.tau.denominator
        steps = q * (PSI // q) if q <= PSI else PSI
        below, above = int(self.tau * steps), int((1 - self.tau) * steps)
        return SmoothedPinballSteps(
            float(self.bandwidth / unit),
            float(self.tau),
            steps,
            below,
            below + above,
            power_of_two_below(RHO / most),
        )


@dataclass(frozen=True, slots=True)
class SmoothedPinballSteps:
    """psi is a part of ``total`` steps, rounded down, less ``below``; rho is in public steps."""

    bend: float  # the bandwidth, in whole numbers
    tau: float
    steps: int
    below: int
    total: int
    rho_steps: Fraction

    @property
    def psi_step(self) -> Fraction:
        """One part of so many, 2**-24 or a little more."""
        return Fraction(1, self.steps)

    @property
    def rho_step(self) -> Fraction:
        """A power of two, so that no rho has more than `steps.RHO` steps."""
        return 1 / self.rho_steps

    def psi(self, eta: Array, y: Array) -> Array:
        """Return the share in steps; neither end is exceeded, rounding included."""
        moved = np.clip(eta - y, -self.bend, self.bend) + self.bend
        share = np.floor(moved * (self.total / (2 * self.bend)))
        return np.asarray(np.minimum(share, float(self.total)) - float(self.below))

    def rho(self, eta: Array, y: Array) -> Array:
        """Return the smoothed loss, rounded down."""
        return np.asarray(np.maximum(np.floor(self._value(eta, y) * _BELOW - _LESS), 0.0))

    def _value(self, eta: Array, y: Array) -> Array:
        r, tau = (eta - y) / self.bend, self.tau
        within = ((1 + np.clip(r, -1.0, 1.0)) / 2 - tau) ** 2 + tau * (1 - tau)
        beyond = np.where(r > 0, 1 - tau, -tau) * r
        return np.asarray(np.where(np.abs(r) <= 1, within, beyond) * float(self.rho_steps))

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords, moved to the middle of what they miss at the ends of the kernel.

        Where psi is the same at both ends, as it is at single points, it is that in between.
        """
        bend, scale = self.bend, self.total / (2 * self.bend)
        first, last = self.psi(low, y), self.psi(high, y)
        begin, end = low - y, high - y
        least, most = np.clip(begin, -bend, bend), np.clip(end, -bend, bend)
        wide = end - begin
        slope = np.divide(most - least, wide, out=np.zeros_like(wide), where=wide > 0)
        above, below = np.zeros_like(wide), np.zeros_like(wide)
        for kink in (-bend, bend):
            miss = np.where((begin < kink) & (kink < end), kink - least - slope * (kink - begin), 0)
            above, below = np.maximum(above, miss), np.minimum(below, miss)
        # The ends of a wide interval are rounded where they are not whole numbers.
        doubt = 2.0**-50 * scale * slope * (np.abs(low) + np.abs(high) + np.abs(y))
        middle = ((least + most + above + below) / 2 + bend) * scale - self.below - 0.5
        same = first == last
        return Chords(
            np.where(same, 0.0, slope * scale),
            np.where(same, first, middle),
            np.where(same, 0.0, (above - below) / 2 * scale + 0.5 + _FUZZ + doubt),
        )

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords of a parabola and its two lines."""
        per, bend, tau = float(self.rho_steps) / self.bend, self.bend, self.tau

        def derivative(eta: Array, response: Array) -> Array:
            share = (1 + np.clip((eta - response) / bend, -1.0, 1.0)) / 2
            return np.asarray((share - tau) * per)

        found = convex(self.rho, self._value, derivative, per / bend / 2, low, high, y)
        return replace(found, miss=found.miss + np.where(low == high, 0.0, _DOUBT))
