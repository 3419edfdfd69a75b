"""Lines that stay close to psi and rho on intervals, for any psi that does not fall.

A pointwise function needs no lines of its own: these two are made of its values at both ends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kng.losses.pointwise.function import Chords

Array = NDArray[np.float64]

# A function of predictions and responses.
Program = Callable[[Array, Array], Array]

# Some roundings of numbers up to the largest that enter.
_ROUNDING = 2.0**-46


def level(psi: Program, low: Array, high: Array, y: Array) -> Chords:
    """Return level lines half way between the ends of a function that does not fall.

        middle = (psi(high) + psi(low)) / 2,      miss = (psi(high) - psi(low)) / 2

    Both are exact for whole numbers below 2**52.
    """
    first, last = psi(low, y), psi(high, y)
    return Chords(np.zeros_like(first), (first + last) / 2, (last - first) / 2)


def convex(  # noqa: PLR0917
    rho: Program,
    value: Program,
    derivative: Program,
    bend: float,
    low: Array,
    high: Array,
    y: Array,
    cut: float = 1.0,
) -> Chords:
    """Return lines close to a convex function that is rounded down to whole steps.

    ``cut`` is what rounding down may take away: 1, or 0 where values are whole numbers anyway.
    ``value`` is the function before it is rounded, up to 2**-46 of it, ``derivative`` is exact,
    and ``bend`` the largest second derivative, all per whole number of eta. The chord between the
    ends lies above it by at most

        (m - s)(S - m) / (S - s) (high - low)   and   bend (high - low)^2 / 8,

    m the slope of the chord, s and S those of the function at the ends: there its tangents meet.
    The line is moved to the middle of that. At single points the line is what is computed.
    """
    single = low == high
    first, last = value(low, y), value(high, y)
    begin, end = derivative(low, y), derivative(high, y)
    wide = np.where(single, 1.0, high - low)
    rise = np.where(single, 0.0, (last - first) / wide)
    turn = np.where(end > begin, end - begin, 1.0)
    depth = np.clip(rise - begin, 0.0, end - begin) * np.clip(end - rise, 0.0, end - begin)
    depth = np.minimum(depth / turn * wide, bend * wide * wide / 8)
    # Slopes are off by their own rounding and by that of the ends, which is carried by the miss.
    doubt = _ROUNDING * (1 + first + last + (np.abs(begin) + np.abs(end)) * wide)
    doubt += _ROUNDING * np.maximum(np.abs(begin), np.abs(end)) * (np.abs(low) + np.abs(high))
    middle = (first + last) / 2 - depth / 2 - cut / 2
    return Chords(
        rise,
        np.where(single, rho(low, y), middle),
        np.where(single, 0.0, depth / 2 + cut / 2 + doubt),
    )
