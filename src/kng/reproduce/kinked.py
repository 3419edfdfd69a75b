"""A loss with a kink that meets every assumption of Theorem 3.2, as a pointwise function.

    rho = r^2 / 2 + |r|,    psi = r + sign(r),      r = eta - y

It is convex, twice differentiable but for r = 0, and its second derivative is 1 elsewhere. A part
of the caller's, as docs/adding-a-loss.md describes them: nothing of the library knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kng.core.lattice import power_of_two_below
from kng.losses.pointwise.chords import convex, level
from kng.losses.pointwise.function import Array, Chords, Interval
from kng.losses.pointwise.steps import RHO, largest_residual

_ZERO, _TWO = Fraction(0), Fraction(2)


@dataclass(frozen=True, slots=True)
class Kinked:
    """The squared residual and its size, added."""

    name: ClassVar[str] = "kinked"
    residual: ClassVar[bool] = True
    sides: ClassVar[None] = None
    scale: ClassVar[None] = None
    curvature: ClassVar[None] = None  # psi jumps

    def rescaled(self, scale: Fraction) -> Kinked:  # noqa: ARG002
        """Return the same: it has no scale."""
        return self

    def psi(self, eta: Interval, y: Interval) -> Interval:
        """Return residuals, and 1 beyond them."""
        r = eta.minus(y)
        return Interval(
            None if r.low is None else min(r.low - 1, _ZERO),
            None if r.high is None else max(r.high + 1, _ZERO),
        )

    def apart(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return the width of the responses and the jump: 2."""
        assert y.low is not None
        assert y.high is not None
        return Interval.at(y.high - y.low + _TWO)

    def rho(self, eta: Interval, y: Interval) -> Interval:
        """Return the values between the smallest and the largest residual."""
        r = eta.minus(y)
        return Interval(_value(r.smallest), None if r.largest is None else _value(r.largest))

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> KinkedSteps:
        """Return the function on whole numbers of ``unit``; psi has the same step."""
        most = _value(largest_residual(unit, eta, y) * unit)
        return KinkedSteps(unit, power_of_two_below(RHO / most))


@dataclass(frozen=True, slots=True)
class KinkedSteps:
    """The same in whole numbers: psi in units of the records, rho in ``steps`` to 1."""

    unit: Fraction
    steps: Fraction

    @property
    def psi_step(self) -> Fraction:
        """The unit of the records."""
        return self.unit

    @property
    def rho_step(self) -> Fraction:
        """One step of the value."""
        return 1 / self.steps

    @property
    def jump(self) -> float:
        """Half of the jump in whole numbers, rounded down."""
        return float(1 / self.unit // 1)

    def psi(self, eta: Array, y: Array) -> Array:
        """Return r + sign(r): sums of whole numbers, which nothing rounds."""
        return eta - y + self.jump * np.sign(eta - y)

    def rho(self, eta: Array, y: Array) -> Array:
        """Return the value, rounded down."""
        return np.floor(self.value(eta, y) * (1 - 2.0**-48))

    def value(self, eta: Array, y: Array) -> Array:
        """Return the value in steps, in float64."""
        r = np.abs(eta - y) * float(self.unit)
        return (r * r / 2 + r) * float(self.steps)

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return level lines: psi does not fall."""
        return level(self.psi, low, high, y)

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return lines of a convex function whose slope jumps by 2."""
        per = float(self.steps) * float(self.unit)

        def slope(eta: Array, response: Array) -> Array:
            r = (eta - response) * float(self.unit)
            return np.asarray((r + np.sign(r)) * per)

        return convex(self.rho, self.value, slope, np.inf, low, high, y)


def _value(size: Fraction) -> Fraction:
    return size * size / 2 + size
