"""The tilted squared residual, whose minimiser is an expectile."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, show
from kng.losses.pointwise.chords import convex
from kng.losses.pointwise.function import Chords, Interval
from kng.losses.pointwise.sloped import unimodal_slopes
from kng.losses.pointwise.steps import PSI, WHOLE, floor_product, largest_residual, shift_of

Array = NDArray[np.float64]

# Steps that the smaller weight has at least, where tau has to be rounded: 2**-8 of it.
_FEWEST = 2**8
# More than the roundings of an interval's ends and of its chord.
_ROUNDING = 2.0**-48


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

    def curve(self, eta: Array, y: Array) -> tuple[Array, Array]:
        """Return psi and its slope, in real arithmetic."""
        r, (below, above) = eta - y, (float(self.tau), float(1 - self.tau))
        slope = np.where(r < 0, below, np.where(r > 0, above, min(below, above)))
        return slope * r, slope

    def least_slopes(self, eta: Array, reach: Array, y: Array) -> tuple[Array, Array]:
        """Return least slopes: there are two, so that they only rise or only fall."""
        return unimodal_slopes(self, eta, reach, y)

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> ExpectileSteps:
        """Return the function in q-ths if tau = p / q, in fewer steps where q has no room.

        Weights are rounded down and psi is not rounded at all: two psi of one eta would otherwise
        lie up to a step farther apart than `apart` says, and far away from records that is little.
        """
        reach = largest_residual(unit, eta, y)
        room, steps = min(PSI, WHOLE // max(reach, 1)), self.tau.denominator
        if max(self.tau, 1 - self.tau) * steps > room:
            steps = room
            if min(self.tau, 1 - self.tau) * steps < _FEWEST:
                raise IncompatibleParts(
                    f"An expectile of {show(self.tau)} is summed exactly in too few steps where "
                    "records and domain reach so far. Use fewer digits, a larger granularity, or a "
                    "smaller domain."
                )
        below, above = int(self.tau * steps), int((1 - self.tau) * steps)
        most = reach * max(below, above)
        return ExpectileSteps(unit, steps, below, above, shift_of(most * reach))


@dataclass(frozen=True, slots=True)
class ExpectileSteps:
    """psi is so many times the residual, exactly: ``below`` if it is negative, else ``above``."""

    unit: Fraction
    steps: int
    below: int
    above: int
    shift: int

    @property
    def psi_step(self) -> Fraction:
        """One step of the weights times the unit."""
        return self.unit / self.steps

    @property
    def rho_step(self) -> Fraction:
        """Half of that times the unit; coarser where there would be more than `steps.RHO`."""
        return self.psi_step * self.unit * Fraction(2**self.shift, 2)

    def psi(self, eta: Array, y: Array) -> Array:
        """Return the weighted residual, a whole number of at most 2**52."""
        return self._line(eta - y)

    def rho(self, eta: Array, y: Array) -> Array:
        """Return psi times the residual, rounded down exactly."""
        residual = eta - y
        return floor_product(residual, self._line(residual), self.shift)

    def _line(self, residual: Array) -> Array:
        return np.asarray(np.where(residual < 0, self.below, self.above) * residual)

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords, moved to the middle of what they miss at 0, where the two lines meet."""
        begin, end, single = low - y, high - y, low == high
        least, most = self._line(begin), self._line(end)
        wide = np.where(single, 1.0, end - begin)
        across = (begin < 0) & (end > 0)
        side = np.where(end <= 0, float(self.below), float(self.above))
        slope = np.where(across, (most - least) / wide, side)
        gap = np.where(across, slope * begin - least, 0.0)  # psi = 0 less the chord there
        doubt = _ROUNDING * max(self.below, self.above)
        miss = np.abs(gap) / 2 + doubt * (np.abs(low) + np.abs(high) + np.abs(y))
        return Chords(
            slope,
            np.where(single, self.psi(low, y), (least + most + gap) / 2),
            np.where(single, 0.0, miss),
        )

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords of two parabolas that meet at 0."""
        scale = 2.0**-self.shift
        bend = 2 * max(self.below, self.above) * scale

        def value(eta: Array, response: Array) -> Array:
            residual = eta - response
            return np.asarray(self._line(residual) * residual * scale)

        def derivative(eta: Array, response: Array) -> Array:
            return np.asarray(self._line(eta - response) * (2 * scale))

        cut = 1.0 if self.shift else 0.0  # without a shift nothing is rounded
        return convex(self.rho, value, derivative, bend, low, high, y, cut)
