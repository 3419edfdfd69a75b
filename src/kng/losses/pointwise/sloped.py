"""Pointwise functions in real arithmetic: psi, its slope, and how small that can be nearby."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kng.losses.pointwise.function import Pointwise

Array = NDArray[np.float64]

# Differences of psi over less than this lose more digits than a secant is worth.
_SHORT = 2.0**-20


@runtime_checkable
class Sloped(Pointwise, Protocol):
    """A function whose psi is continuous in eta, in float64.

    A part that offers these two methods is drawn by the certified push-forward. One whose slope
    rises and then falls, as a density with one mode does, has the second from `unimodal_slopes`.
    """

    def curve(self, eta: Array, y: Array) -> tuple[Array, Array]:
        """Return psi and its slope in eta; at a kink the smaller of both slopes."""
        ...

    def least_slopes(self, eta: Array, reach: Array, y: Array) -> tuple[Array, Array]:
        """Return the least slope between eta - reach and eta + reach, and the least secant there.

        A secant is  (psi(eta + h) - psi(eta)) / h,  0 < |h| <= reach. Neither may be too large.
        """
        ...


def unimodal_slopes(function: Sloped, eta: Array, reach: Array, y: Array) -> tuple[Array, Array]:
    """Return the least slope and the least secant of a function whose slope rises, then falls.

    Both are least at an end: docs/proofs/samplers/push_forward.md, lemma 2.
    """
    middle, _ = function.curve(eta, y)
    below, first = function.curve(eta - reach, y)
    above, last = function.curve(eta + reach, y)
    least = np.minimum(first, last)
    long = reach > _SHORT
    wide = np.where(long, reach, 1.0)
    secant = np.minimum(above - middle, middle - below) / wide
    return least, np.where(long, np.maximum(secant, least), least)
