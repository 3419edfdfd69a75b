"""Around which point, and along which coordinates, boxes of an expanded field are halved.

It changes no law and decides how many boxes it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kng.core.parts import EnclosedField, Points

Array = NDArray[np.float64]
# Bounds on the exponent of boxes, from those of the score's coordinates (low, high) and from the
# corners of the boxes (first, last).
ExponentBounds = Callable[[Array, Array, Array, Array], tuple[Array, Array]]


# Exponents are far smaller; a lower bound that is not a number becomes minus this.
FAR = 2.0**52
# A shear is read off the slopes where the density is, if that is the domain halved so often.
_NARROW = 2
# Where it is the domain halved so often, sheared boxes serve best from the first one on.
_POINTED = 8


class Axes(NamedTuple):
    """A start, and a shear around it."""

    start: Array
    shear: Array
    slope: Array  # of the score, where the density is
    pointed: bool  # whether the density is far narrower than the domain

    def upright(self) -> Axes:
        """Return the same without a shear."""
        return self._replace(shear=np.eye(len(self.start)))


def start_of(domain: Points, field: EnclosedField) -> Array:
    """Return the lattice point of the domain's box next to where the field starts."""
    start, home = field.start(), np.array(domain.home(), np.float64)
    start = np.where(np.isfinite(start), start, home)
    return np.asarray(np.clip(np.rint(start), np.array(domain.first), np.array(domain.last)))


def axes_of(domain: Points, field: EnclosedField, bounds: ExponentBounds) -> Axes:
    """Return a start, and a shear in which small boxes are small for the score.

    It is read off the largest box around the start over which the exponent moves by d or less.
    """
    start = start_of(domain, field)
    d = domain.dim
    first, last = np.array(domain.first, np.float64), np.array(domain.last, np.float64)
    plain = Axes(start, np.eye(d), 1 / (last - first + 1)[None, :], pointed=False)
    if d == 1:
        return plain
    levels = int(np.ceil(np.log2((last - first).max() + 1))) + 1
    halves = (last - first) / 2 * 2.0 ** -np.arange(levels)[:, None]
    low = np.maximum(first, np.rint(start - halves))
    high = np.minimum(last, np.rint(start + halves))
    with np.errstate(all="ignore"):
        expansion = field.expand((low + high) / 2, (high - low) / 2)
        lower, upper = finite(*bounds(*told(*expansion.bounds((high - low) / 2)), low, high))
    level = int(np.argmax(np.append(upper - lower <= d, True)))
    slope = expansion.slope[min(level, levels - 1)]
    size = np.abs(slope).max()
    if not (np.isfinite(size) and size > 0):
        return plain
    slope = slope / size
    if level < _NARROW or len(slope) < d:
        return plain._replace(slope=slope)
    metric = slope.T @ slope
    metric = metric + np.diag(1e-6 * np.diag(metric) + 1e-12)
    root = np.linalg.cholesky(metric).T
    shear = np.linalg.inv(root / np.diag(root)[:, None])
    return Axes(start, shear, slope, pointed=level >= _POINTED)


def finite(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return bounds that are numbers; an upper one may be infinite."""
    lower = np.clip(np.where(np.isnan(lower), -FAR, lower), -FAR, FAR)
    return lower, np.where(np.isnan(upper), np.inf, upper)


def told(low: Array, high: Array) -> tuple[Array, Array]:
    """Return bounds of a score; one that is not a number says nothing."""
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
