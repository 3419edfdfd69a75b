"""The logistic function of two classes: a prediction is a log-odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from kng.core.enclosures import ball, floor_ceil, precision
from kng.core.errors import SpecError
from kng.core.lattice import power_of_two_below
from kng.core.naming import argument
from kng.losses.pointwise.chords import convex
from kng.losses.pointwise.curved import Derivatives
from kng.losses.pointwise.exponential import FAR, exp_minus, horner
from kng.losses.pointwise.function import Chords, Interval
from kng.losses.pointwise.sloped import unimodal_slopes
from kng.losses.pointwise.steps import PSI, RHO, WHOLE, largest_residual

Array = NDArray[np.float64]

# 2 atanh(s) / s in s^2 <= 1/9: what follows s^36 / 37 is below 2**-59 of it.
_ATANH = tuple(2 / (2 * k + 1) for k in range(18, -1, -1))
# Margins are cut to this grid before psi is computed: neighbours on it have psi so far apart that
# rounding cannot turn them round. Beyond 64 there is nothing to add to whole steps.
_GRID = 2.0**32
# rho as computed is off by less than 2**-45 of it; this factor keeps it below rho.
_BELOW = 1 - 2.0**-44
# Roundings of the ends of a chord of rho, and of psi in steps, beside its truncation.
_ROUNDING, _FUZZ = 2.0**-42, 2.0**-5
# The largest second derivative of 1 / (1 + exp(-m)) is 1 / (6 sqrt(3)) = 0.09622...
_BEND = 0.0963
# Bits of bounds on rho.
_BITS = 64
# exp(-17) < 2**-24: from here on sigma rounded up to a step is 1, and on the other side one step.
_LEVEL = Fraction(17)
# sigma(-|eta|) is off by 2**-49.5 of it, 1 minus it by half an ulp more, and what is left out
# beyond 64 is below 2**-92.
_OFF, _ULP, _GONE = 2.0**-49, 2.0**-53, 2.0**-92


@dataclass(frozen=True, slots=True, init=False)
class Logistic:
    """Log-likelihood of two classes, 0 and 1, with log-odds eta.

        sigma(eta) = 1 / (1 + exp(-eta))
        psi = sigma(eta) - y,      rho = log(1 + exp(eta)) - y eta

    Predictions are in a unit of their own, so it is for ``Linear``, whose theta are then effects on
    the log-odds. Responses are 0 or 1; any other number counts as the nearer of the two, 1/2 as 1.
    Linear models round responses to whole numbers within ``bounds_y``, which is (0, 1).

    Parameters
    ----------
    classes : pair of numbers
        The two classes, stated and never read from the data: (0, 1).

    Paper    beyond it.
    Privacy  psi lies between sigma(eta) - 1 and sigma(eta), so Delta depends on theta: at 0 it is
             half of what it is far away. docs/proofs/losses/logistic.md.
    Cost     O(1) a record.
    """

    classes: tuple[int, int]
    name: ClassVar[str] = "logistic"
    residual: ClassVar[bool] = False
    sides: ClassVar[tuple[Fraction, Fraction] | None] = None
    curvature: ClassVar[Fraction | None] = Fraction(1, 4)
    scale: ClassVar[Fraction | None] = None

    def __init__(self, classes: Any = (0, 1)) -> None:
        if tuple(classes) != (0, 1):
            raise SpecError(
                f"{argument('classes')} must be (0, 1), got {classes!r}. Code the labels as 0 and "
                "1."
            )
        object.__setattr__(self, "classes", (0, 1))

    def rescaled(self, scale: Fraction) -> Logistic:  # noqa: ARG002
        """Return the same: it has no scale."""
        return self

    def psi(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return from sigma(eta.low) - 1 to sigma(eta.high), rounded outwards to whole steps.

        Both classes are always among the responses.
        """
        zero = Interval.at(Fraction(0))
        return Interval(-_sigma_up(zero.minus(eta).high), _sigma_up(eta.high))

    def psi_ends(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return the ends of the same range, within a step of those that `psi` rounds."""
        below, above = _sigma(np.stack([-low, high]))
        return -below, above

    def apart(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return 1: the two classes, at every eta."""
        return Interval.at(Fraction(1))

    def rho(self, eta: Interval, y: Interval) -> Interval:
        """Return bounds on the range, off by 2**-64 at most: log(1 + exp(m)) grows with m.

        m is eta for class 0 and -eta for class 1.
        """
        half, margins = Fraction(1, 2), []
        if y.low is None or y.low < half:
            margins.append(eta)
        if y.high is None or y.high >= half:
            margins.append(Interval.at(Fraction(0)).minus(eta))
        lows, highs = [m.low for m in margins], [m.high for m in margins]
        least = [Fraction(0) if m is None else _softplus(m)[0] for m in lows]
        most = [_softplus(m)[1] for m in highs if m is not None]
        return Interval(min(least), max(most) if len(most) == len(margins) else None)

    def curve(self, eta: Array, y: Array) -> tuple[Array, Array]:
        """Return psi and its slope sigma (1 - sigma), in real arithmetic."""
        sign = np.where(y >= 0.5, -1.0, 1.0)
        margin = sign * eta
        small = np.exp(-np.abs(margin))
        tail = small / (1 + small)
        return sign * np.where(margin < 0, tail, 1 - tail), tail / (1 + small)

    def least_slopes(self, eta: Array, reach: Array, y: Array) -> tuple[Array, Array]:
        """Return least slopes: they rise up to log-odds of 0, then fall."""
        return unimodal_slopes(self, eta, reach, y)

    def derivatives(self, eta: Array, y: Array, reach: float) -> Derivatives:
        """Return sigma of the margin with the sign of its class, and bounds on sigma'.

        |sigma''| <= sigma', so sigma' changes by a factor between exp(-reach) >= 1 - reach and
        exp(reach) <= 1 + 2 reach if reach <= 1; and it is never above 1/4.
        """
        sign = np.where(y >= 0.5, -1.0, 1.0)
        tail, below = _tail(eta), sign * eta < 0
        psi = sign * np.where(below, tail, 1 - tail)
        slope = tail * (1 - tail)
        return Derivatives(
            psi,
            _OFF * tail + np.where(below, _GONE, _ULP + _GONE),
            slope * ((1 - 4 * _OFF) * max(1 - reach, 0.0)),
            np.minimum(slope * ((1 + 4 * _OFF) * (1 + 2 * reach)) + _GONE, 0.25)
            if reach <= 1
            else np.full_like(slope, 0.25),
        )

    def enclosed(self, eta: Fraction, y: Fraction) -> arb:
        """Enclose sigma of the margin, with the sign of its class."""
        if y >= Fraction(1, 2):
            return -1 / (1 + ball(eta).exp())
        return 1 / (1 + ball(-eta).exp())

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> LogisticSteps:
        """Return the function on whole numbers."""
        largest_residual(unit, eta, y)  # refuses what is beyond 2**52
        reach = WHOLE * unit
        most = self.rho(Interval(-reach, reach) if eta.largest is None else eta, y).high
        assert most is not None  # of a bounded range
        return LogisticSteps(float(unit), power_of_two_below(RHO / most))


@dataclass(frozen=True, slots=True)
class LogisticSteps:
    """psi in steps of 2**-24, rho in public steps: a power of two of them is 1.

    Everything is made of sums, products, quotients, comparisons and powers of two.
    """

    unit: float
    steps: Fraction

    @property
    def psi_step(self) -> Fraction:
        """2**-24."""
        return Fraction(1, PSI)

    @property
    def rho_step(self) -> Fraction:
        """A power of two, so that no rho has more than `steps.RHO` steps."""
        return 1 / self.steps

    def _sign(self, y: Array) -> Array:
        """Return 1 for class 0 and -1 for class 1: psi = sign * sigma(sign * eta)."""
        return np.where(y * (2 * self.unit) >= 1, -1.0, 1.0)

    def psi(self, eta: Array, y: Array) -> Array:
        """Return sigma of the margin, truncated, with the sign of its class."""
        sign = self._sign(y)
        return np.asarray(sign * np.floor(_sigma(_cut(sign * eta * self.unit)) * PSI))

    def rho(self, eta: Array, y: Array) -> Array:
        """Return log(1 + exp(margin)), rounded down."""
        return np.asarray(np.floor(self._value(eta, y) * _BELOW))

    def _value(self, eta: Array, y: Array) -> Array:
        margin = self._sign(y) * eta * self.unit
        small = exp_minus(np.abs(margin))
        s = small / (2 + small)
        return (np.maximum(margin, 0.0) + s * horner(_ATANH, s * s)) * float(self.steps)

    @property
    def bend(self) -> float:
        """0.0963 in log-odds: a little more than 1 / (6 sqrt(3))."""
        return _BEND * self.unit * self.unit * PSI

    @property
    def grain(self) -> float:
        """One step of truncation, and roundings."""
        return 1 + _FUZZ

    def tangents(self, eta: Array, y: Array) -> tuple[Array, Array]:
        """Return psi, and sigma (1 - sigma)."""
        sign = self._sign(y)
        margin = _cut(sign * eta * self.unit)
        tail = _tail(margin)
        psi = sign * np.floor(np.where(margin < 0, tail, 1 - tail) * PSI)
        return psi, tail * (1 - tail) * (self.unit * PSI)

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords of sigma, moved to the middle of what they miss.

        sigma is convex below 0 and concave above. On one side of 0 it lies between its chord and
        its tangents at the ends; across 0 between 0, what the chord misses at 0, and the tangent at
        either end. Nowhere does it miss by more than 0.0963 width^2 / 8.
        """
        sign = self._sign(y)
        one, other = sign * low * self.unit, sign * high * self.unit
        a, b = np.minimum(one, other), np.maximum(one, other)
        tails = _tail(_cut(a)), _tail(_cut(b))
        start, end = (
            np.where(a < 0, tails[0], 1 - tails[0]),
            np.where(b < 0, tails[1], 1 - tails[1]),
        )
        first, last = np.floor(start * PSI), np.floor(end * PSI)
        steep, flat = (tail * (1 - tail) for tail in tails)  # slopes at a and at b
        wide = np.where(a < b, b - a, 1.0)
        rise = np.where(a < b, (end - start) / wide, 0.0)
        curved = _BEND / 8 * wide * wide
        turn = np.abs(flat - steep)
        depth = np.abs(rise - steep) * np.abs(flat - rise) * wide
        depth = np.minimum(np.divide(depth, turn, out=curved.copy(), where=turn > 0), curved)
        across, middle = (a < 0) & (b > 0), 0.5 - start + rise * a
        above = np.where(across, np.maximum(middle, (rise - flat) * b), depth * (a >= 0))
        below = np.where(across, np.maximum(-middle, (steep - rise) * a), depth * (b <= 0))
        above, below = (np.clip(part, 0.0, np.minimum(curved, 1.0)) for part in (above, below))
        chord, miss = (start + end + above - below) / 2, (above + below) / 2
        same = first == last
        return Chords(
            np.where(same, 0.0, rise * self.unit * PSI),
            np.where(same, sign * first, sign * (chord * PSI - 0.5)),
            np.where(same, 0.0, miss * PSI + 0.5 + _FUZZ),
        )

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return chords of a convex function."""
        per = self.unit * float(self.steps)

        def derivative(eta: Array, response: Array) -> Array:
            sign = self._sign(response)
            return np.asarray(sign * _sigma(sign * eta * self.unit) * per)

        found = convex(self.rho, self._value, derivative, self.unit * per / 4, low, high, y)
        ends = self._value(low, y) + self._value(high, y) + per * (high - low)
        return replace(found, miss=found.miss + np.where(low == high, 0.0, 0.25 + _ROUNDING * ends))


def _softplus(margin: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on log(1 + exp(margin))."""
    with precision(2 * _BITS):
        small = (-ball(abs(margin))).exp().log1p()
        low, high = floor_ceil(small, _BITS)
    more = max(margin, Fraction(0))
    return more + Fraction(low, 2**_BITS), more + Fraction(high, 2**_BITS)


def _sigma_up(margin: Fraction | None) -> Fraction:
    """Return sigma(margin), rounded up to whole steps of psi; 1 beyond every margin."""
    if margin is None or margin >= _LEVEL:
        return Fraction(1)
    with precision(_BITS + PSI.bit_length()):
        _, high = floor_ceil(1 / (1 + ball(-max(margin, -_LEVEL)).exp()), PSI.bit_length() - 1)
    return Fraction(high, PSI)


def _cut(margin: Array) -> Array:
    """Round margins down to the grid."""
    return np.asarray(np.floor(np.clip(margin, -FAR, FAR) * _GRID) / _GRID)


def _tail(margin: Array) -> Array:
    """Return sigma(-|margin|), at most 1/2."""
    small = exp_minus(np.abs(margin))
    return np.asarray(small / (1 + small))


def _sigma(margin: Array) -> Array:
    """Return 1 / (1 + exp(-margin))."""
    tail = _tail(margin)
    return np.where(margin < 0, tail, 1 - tail)
