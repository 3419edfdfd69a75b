"""What a pointwise function answers: where psi can lie, and what it is in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers between two ends; None where there is none."""

    low: Fraction | None
    high: Fraction | None


class Pointwise(Protocol):
    """rho(eta, y) >= 0 of a prediction and a response, and psi(eta, y) = d rho / d eta.

    psi does not fall as eta grows and does not grow as y does. All numbers are in units of the
    response.
    """

    @property
    def name(self) -> str:
        """What receipts call it."""
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
        """Return psi in whole steps, truncated towards 0."""
        ...

    def rho(self, eta: Array, y: Array) -> Array:
        """Return rho in whole steps, rounded down."""
        ...

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return lines close to psi as computed, with every rounding in ``miss``."""
        ...

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return lines close to rho as computed."""
        ...
