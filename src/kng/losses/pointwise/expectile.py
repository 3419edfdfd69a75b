"""The tilted squared residual, whose minimiser is an expectile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import SpecError
from kng.core.exact import exact
from kng.losses.pointwise.chords import convex
from kng.losses.pointwise.function import Chords, Interval
from kng.losses.pointwise.steps import PSI, WHOLE, floor_product, largest_residual, shift_of

Array = NDArray[np.float64]

# More than the roundings of an interval's ends and of its chord.
_ROUNDING = 2.0**-48
# What a rounded psi costs rho, beside its own rounding, is below this many steps.
_FUZZ = 2.0**-10


@dataclass(frozen=True, slots=True, init=False)
class Expectile:
    """Tilted squared residual; minimised by the tau-expectile.

        r = eta - y,      w = tau if r < 0,  else 1 - tau
        psi = w r,        rho = w r^2 / 2

    An expectile balances sums of residuals where a quantile balances their numbers. tau = 1/2 is
    half of ``Squared()``: the mean.

    Parameters
    ----------
    tau : number
        Which expectile, strictly between 0 and 1; floats are read by their repr.

    Paper    beyond it; Section 4.5 with squares.
    Privacy  psi has no bound of its own: that of eta and y enters Delta.
             docs/proofs/losses/expectile.md.
    Cost     O(1) a record.
    """

    tau: Fraction
    name: ClassVar[str] = "expectile"
    residual: ClassVar[bool] = True
    scale: ClassVar[Fraction | None] = None

    def __init__(self, tau: Any) -> None:
        number = exact(tau, "tau")
        if not 0 < number < 1:
            raise SpecError(
                f"an expectile must lie strictly between 0 and 1, got {float(number):g}. "
                "For the ends of a distribution use for example 0.001 or 0.999."
            )
        object.__setattr__(self, "tau", number)

    @property
    def sides(self) -> tuple[Fraction, Fraction] | None:
        """The weights of negative and positive residuals."""
        return self.tau, 1 - self.tau

    @property
    def curvature(self) -> Fraction | None:
        """The larger weight."""
        return max(self.tau, 1 - self.tau)

    def rescaled(self, scale: Fraction) -> Expectile:  # noqa: ARG002
        """Return the same: it has no scale."""
        return self

    def psi(self, eta: Interval, y: Interval) -> Interval:
        """Return psi of the least and the largest residual."""
        residual = eta.minus(y)
        low, high = residual.low, residual.high
        return Interval(
            None if low is None else self._of(low), None if high is None else self._of(high)
        )

    def _of(self, residual: Fraction) -> Fraction:
        return (self.tau if residual < 0 else 1 - self.tau) * residual

    def apart(self, eta: Interval, y: Interval) -> Interval:
        """Return how far the ends of y lie apart in psi.

        It is tau times the width where eta lies below y, 1 - tau times it above, and a line in eta
        in between: its range is that between the ends of eta.
        """
        if y.low is None or y.high is None:
            return Interval(None, None)
        width = y.high - y.low
        ends = [
            side * width if end is None else self._of(end - y.low) - self._of(end - y.high)
            for end, side in ((eta.low, self.tau), (eta.high, 1 - self.tau))
        ]
        return Interval(min(ends), max(ends))

    def rho(self, eta: Interval, y: Interval) -> Interval:
        """Return the range of the tilted square, which is least nearest to 0."""
        residual = eta.minus(y)
        low, high = residual.low, residual.high
        ends = [self._of(end) * end / 2 for end in (low, high) if end is not None]
        least = min(ends) if residual.smallest > 0 else Fraction(0)
        return Interval(least, max(ends) if len(ends) == 2 else None)

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> ExpectileSteps:
        """Return the function in q-ths if tau = p / q, with 2**-24 for larger q."""
        steps = self.tau.denominator if self.tau.denominator <= PSI else PSI
        below, above = int(self.tau * steps), int((1 - self.tau) * steps)
        reach = largest_residual(unit, eta, y)
        most = reach * max(below, above)
        psi_shift = max(0, (-(-most // WHOLE) - 1).bit_length())
        rho_shift = shift_of(-(-most * reach // 2**psi_shift))
        return ExpectileSteps(unit, steps, below, above, psi_shift, rho_shift)


@dataclass(frozen=True, slots=True)
class ExpectileSteps:
    """psi is so many times the residual: ``below`` if it is negative, else ``above``.

    It is exact while that stays below 2**52; beyond, it is truncated to 2**psi_shift of them.
    """

    unit: Fraction
    steps: int
    below: int
    above: int
    psi_shift: int
    rho_shift: int

    @property
    def psi_step(self) -> Fraction:
        """One q-th of the unit; coarser where there would be more than 2**52 of them."""
        return self.unit * Fraction(2**self.psi_shift, self.steps)

    @property
    def rho_step(self) -> Fraction:
        """Half of that times the unit; coarser where there would be more than `steps.RHO`."""
        return self.psi_step * self.unit * Fraction(2**self.rho_shift, 2)

    def psi(self, eta: Array, y: Array) -> Array:
        """Return the weighted residual, truncated exactly."""
        residual = eta - y
        return np.asarray(np.copysign(self._size(residual), residual))

    def _size(self, residual: Array) -> Array:
        weight = np.where(residual < 0, float(self.below), float(self.above))
        return floor_product(np.abs(residual), weight, self.psi_shift)

    def rho(self, eta: Array, y: Array) -> Array:
        """Return |psi| times the residual, rounded down exactly."""
        residual = eta - y
        return floor_product(np.abs(residual), self._size(residual), self.rho_shift)

    def _line(self, residual: Array) -> Array:
        """Return psi before it is truncated."""
        weight = np.where(residual < 0, self.below, self.above) * 2.0**-self.psi_shift
        return np.asarray(weight * residual)

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords, moved to the middle of what they miss at 0, where the two lines meet."""
        begin, end, single = low - y, high - y, low == high
        least, most = self._line(begin), self._line(end)
        wide = np.where(single, 1.0, end - begin)
        across = (begin < 0) & (end > 0)
        side = np.where(end <= 0, self.below, self.above) * 2.0**-self.psi_shift
        slope = np.where(across, (most - least) / wide, side)
        gap = np.where(across, slope * begin - least, 0.0)  # psi = 0 less the chord there
        doubt = _ROUNDING * max(self.below, self.above) * 2.0**-self.psi_shift
        miss = np.abs(gap) / 2 + doubt * (np.abs(low) + np.abs(high) + np.abs(y))
        return Chords(
            slope,
            np.where(single, self.psi(low, y), (least + most + gap) / 2),
            np.where(single, 0.0, miss + bool(self.psi_shift)),
        )

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords of two parabolas that meet at 0."""
        scale = 2.0**-self.rho_shift
        bend = 2 * max(self.below, self.above) * 2.0**-self.psi_shift * scale

        def value(eta: Array, response: Array) -> Array:
            residual = eta - response
            return np.asarray(self._line(residual) * residual * scale)

        def derivative(eta: Array, response: Array) -> Array:
            return np.asarray(self._line(eta - response) * (2 * scale))

        found = convex(self.rho, value, derivative, bend, low, high, y)
        return replace(found, miss=found.miss + np.where(low == high, 0.0, _FUZZ))
