"""Whole steps of psi and rho, and why sums of them are exact.

A product of psi and a covariate is at most 2**40, and a rho at most 2**41: sums of 2**12 of them
are whole numbers up to 2**53, which float64 holds exactly, in any order. Larger sums are made of
such blocks in Python's integers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import IncompatibleParts, SpecTypeError
from kng.losses.pointwise.function import Interval, Pointwise, Stepped

Array = NDArray[np.float64]

# Steps of a psi between 0 and 1, where it has no steps of its own; of the largest rho; and of
# predictions and responses, whose differences are then exact.
PSI = 2**24
RHO = 2**41
WHOLE = 2**52
# Dekker's constant, which cuts a float64 into halves of 26 bits.
_SPLIT = 2.0**27 + 1


def exactly_stepped(pointwise: Pointwise, unit: Fraction, eta: Interval, y: Interval) -> Stepped:
    """Return the function in whole numbers, or refuse one whose steps are no fractions."""
    stepped = pointwise.stepped(unit, eta, y)
    for name in ("psi_step", "rho_step"):
        step = getattr(stepped, name)
        if not isinstance(step, int | Fraction) or step <= 0:
            raise SpecTypeError(
                f"{type(pointwise).__name__}: {name} must be a Fraction above 0, got {step!r}. "
                "Read its parameters by kng.core.exact.exact."
            )
    return stepped


def largest_residual(unit: Fraction, eta: Interval, y: Interval) -> int:
    """Return the largest |eta - y| in whole units; an open end reaches `WHOLE`, or refuse."""
    for interval in (eta, y):
        if interval.largest is not None and interval.largest > WHOLE * unit:
            raise IncompatibleParts(
                "Sums of this loss are exact while predictions and responses are below 2**52 "
                "steps; a domain or a bound reaches beyond. Use a larger step."
            )
    reach = eta.minus(y).largest
    return 2 * WHOLE if reach is None else -(-reach // unit)


def shift_of(largest: int) -> int:
    """Return k, the least for which  largest * 2**-k <= RHO."""
    return max(0, (-(-largest // RHO) - 1).bit_length())


def floor_product(a: Array, b: Array, shift: int) -> Array:
    """Return floor(a b 2**-shift) of whole numbers below 2**54, exactly, if it is below 2**53.

    The product is rounded once. Where that has reached a whole step, the error of the product
    (Dekker's, exact) says whether it came from below.
    """
    product = a * b
    high_a, high_b = _high(a), _high(b)
    low_a, low_b = a - high_a, b - high_b
    error = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
    scaled = product * 2.0**-shift
    whole = np.floor(scaled)
    return np.asarray(whole - ((scaled == whole) & (error < 0)))


def exact_sum(numbers: Array) -> int:
    """Return the sum of whole numbers below 2**53, exactly, if there are at most 2**26 of them.

    Their halves of 26 and 27 bits sum to whole numbers below 2**53.
    """
    high = np.floor(numbers * 2.0**-26)
    return (int(high.sum()) << 26) + int((numbers - high * 2.0**26).sum())


def _high(a: Array) -> Array:
    """Return the upper half of the bits."""
    wide = _SPLIT * a
    return np.asarray(wide - (wide - a))
