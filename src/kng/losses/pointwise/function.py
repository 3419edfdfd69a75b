"""What a pointwise function answers: where psi can lie, and what it is in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers between two ends; None where there is none."""

    low: Fraction | None
    high: Fraction | None

    @classmethod
    def at(cls, number: Fraction) -> Interval:
        """Return the interval of one number."""
        return cls(number, number)

    def minus(self, other: Interval) -> Interval:
        """Return all differences of a number of this one and one of the other."""
        return Interval(
            None if self.low is None or other.high is None else self.low - other.high,
            None if self.high is None or other.low is None else self.high - other.low,
        )

    @property
    def largest(self) -> Fraction | None:
        """The largest size of a number in it."""
        if self.low is None or self.high is None:
            return None
        return max(abs(self.low), abs(self.high))

    @property
    def smallest(self) -> Fraction:
        """The smallest size of a number in it."""
        if self.low is not None and self.low > 0:
            return self.low
        return -self.high if self.high is not None and self.high < 0 else Fraction(0)


class Pointwise(Protocol):
    """rho(eta, y) >= 0 of a prediction and a response, and psi(eta, y) = d rho / d eta.

    psi does not fall as eta grows and does not grow as y does. All numbers are in units of the
    response. psi may be in a unit of its own: d rho / d eta times a constant above 0.
    """

    def __hash__(self) -> int:
        """Functions with the same numbers are the same."""
        ...

    @property
    def name(self) -> str:
        """What receipts call it."""
        ...

    @property
    def residual(self) -> bool:
        """Whether psi and rho depend on eta - y alone, so that both count from any origin."""
        ...

    @property
    def sides(self) -> tuple[Fraction, Fraction] | None:
        """Slopes of psi for negative and positive residuals, if it is two lines through 0."""
        ...

    @property
    def curvature(self) -> Fraction | None:
        """The largest slope of psi in eta; None where psi jumps."""
        ...

    @property
    def scale(self) -> Fraction | None:
        """The residual beyond which psi is constant, where it is a unit of the function's own."""
        ...

    def rescaled(self, scale: Fraction) -> Pointwise:
        """Return the function with another scale; itself if it has none."""
        ...

    def psi(self, eta: Interval, y: Interval) -> Interval:
        """Return the range of psi; an end is None if psi is unbounded there."""
        ...

    def apart(self, eta: Interval, y: Interval) -> Interval:
        """Return the range, over eta, of the largest psi(eta, u) - psi(eta, v), u and v in y."""
        ...

    def rho(self, eta: Interval, y: Interval) -> Interval:
        """Return the range of rho."""
        ...

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> Stepped:
        """Return the function on whole numbers of ``unit``, for these ranges."""
        ...


@runtime_checkable
class Ranged(Pointwise, Protocol):
    """A bounded function whose range depends on the predictions; 0 always lies in it."""

    def psi_ends(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return psi's least value at ``low`` and its largest at ``high``, over all responses.

        In float64. `psi` returns ends that are no less far out, but for 2**-40, and no farther out
        than by 2**-24.
        """
        ...


@dataclass(frozen=True, slots=True)
class Chords:
    """Lines that stay close to a function on intervals.

    | f(eta) - middle - slope (eta - (low + high) / 2) |  <=  miss     for low <= eta <= high
    """

    slope: Array
    middle: Array
    miss: Array


class Stepped(Protocol):
    """A pointwise function in whole numbers: the program that runs on records.

    Predictions and responses are whole numbers of a public unit, at most 2**52 of them, carried as
    float64. Results are whole numbers, made by operations that round correctly, so that a record's
    score depends neither on its place nor on the machine. |psi| is never above its public range.
    """

    @property
    def psi_step(self) -> Fraction:
        """What one whole number of psi is worth."""
        ...

    @property
    def rho_step(self) -> Fraction:
        """What one whole number of rho is worth."""
        ...

    def psi(self, eta: Array, y: Array) -> Array:
        """Return psi in whole steps, never farther from 0; it does not fall as eta grows.

        Two of them at one eta lie no farther apart than `Pointwise.apart` says. Truncation alone
        does not keep that: it can take a step from the smaller one and nothing from the larger.
        """
        ...

    def rho(self, eta: Array, y: Array) -> Array:
        """Return rho in whole steps, at most `steps.RHO` of them, and never above rho."""
        ...

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return lines close to psi as computed, with every rounding in ``miss``."""
        ...

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return lines close to rho as computed."""
        ...


@runtime_checkable
class BentSteps(Stepped, Protocol):
    """A function in whole numbers whose psi is smooth but for its rounding.

    | psi(eta + h, y) - psi(eta, y) - slope(eta, y) h |  <=  grain + bend h^2 / 2
    """

    @property
    def bend(self) -> float:
        """The largest second derivative of psi, per whole number of eta; not below it."""
        ...

    @property
    def grain(self) -> float:
        """What rounding may add to both values of psi together, in steps."""
        ...

    def tangents(self, eta: Array, y: Array) -> tuple[Array, Array]:
        """Return psi as computed, and its slope."""
        ...
