"""Numbers over boxes of theta: an interval and a line for each, that hold what is computed.

    low <= F(theta) <= high,      | F(theta) - middle - sum_j slope_j delta_j |  <=  miss

for every lattice point centre + delta of a box, unless F is not a number there, which ``doubt``
tells of. F is the float64 program itself, its roundings included: an operation that rounds once
adds 2**-53 of its result to what the lines of its inputs give, and 2**-46 is added here, which also
pays for the roundings of the line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.traced.boxes import Boxes, Slopes, Terms

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROUNDING, TINY = 2.0**-46, 2.0**-1050
# Numbers beyond this may be infinite.
LARGE = 1e290


@dataclass(slots=True)
class Enclosed:
    """A number for each box (rows) and each record (columns); a fixed one has no slopes."""

    low: Array
    high: Array
    middle: Array
    slopes: Slopes | None = None
    miss: Array | float = 0.0
    doubt: Mask | None = None

    @property
    def fixed(self) -> bool:
        """Whether it is one known number."""
        return self.slopes is None

    @property
    def endless(self) -> Mask:
        """Which of them may be infinite."""
        return np.asarray(np.isinf(self.low) | np.isinf(self.high))


@dataclass(slots=True)
class Told:
    """Answers for each box and record: certainly true, certainly false."""

    yes: Mask
    no: Mask


def fixed(value: Array) -> Enclosed:
    """Return a number that does not depend on theta."""
    if np.abs(value).max(initial=0.0) < LARGE:
        return Enclosed(value, value, value)
    missing = np.isnan(value)
    low, high = _ends(value, value)
    inside = np.isfinite(low) & np.isfinite(high)
    middle = np.where(inside, value, 0.0)
    return Enclosed(low, high, middle, Slopes((), 0.0), np.where(inside, 0.0, np.inf), missing)


def coordinate(boxes: Boxes, j: int, origin: float, step: float) -> Enclosed:
    """Return theta_j = origin + step k_j: exact in float64, at halves of lattice points, too."""
    low, high, middle = (
        origin + step * end[:, j : j + 1] for end in (boxes.low, boxes.high, boxes.centre)
    )
    terms: list[Array | None] = [None] * boxes.centre.shape[1]
    terms[j] = np.array([[step]])
    return Enclosed(low, high, middle, Slopes(tuple(terms), boxes.reach(tuple(terms))))


def settled(  # noqa: PLR0917
    low: Array,
    high: Array,
    middle: Array,
    slopes: Slopes,
    miss: Array | float,
    doubt: Mask | None,
) -> Enclosed:
    """Return what both an interval and a line say, with room for roundings."""
    reach = slopes.size
    total = np.abs(middle) + reach + miss
    if total.max(initial=0.0) < LARGE:
        # Each box by itself: one in which a number is large must not widen the others.
        error = total * ROUNDING + TINY
        miss = miss + error
        wide = reach + miss
        # Ends are sums or products of ends, so they are rounded in parts of themselves.
        return Enclosed(
            np.maximum(low - (np.abs(low) * ROUNDING + TINY), middle - wide),
            np.minimum(high + (np.abs(high) * ROUNDING + TINY), middle + wide),
            middle,
            slopes,
            miss,
            doubt,
        )
    return _settled_far(low, high, middle, slopes, miss, reach, total, doubt)


def _settled_far(  # noqa: PLR0917
    low: Array,
    high: Array,
    middle: Array,
    slopes: Slopes,
    miss: Array | float,
    reach: Array | float,
    total: Array,
    doubt: Mask | None,
) -> Enclosed:
    """Return the same where some numbers may be infinite: these have no line."""
    shape = np.broadcast_shapes(total.shape, low.shape, high.shape)
    far = np.broadcast_to(~(total < LARGE), shape)
    error = np.where(far, 0.0, total) * ROUNDING + TINY
    wide = reach + miss + error
    near = np.where(far, -np.inf, middle - wide), np.where(far, np.inf, middle + wide)
    low, high = (v + s * np.abs(v) * ROUNDING + s * TINY for v, s in ((low, -1.0), (high, 1.0)))
    low, high = _ends(np.fmax(low, near[0]), np.fmin(high, near[1]))
    flat = far & np.isfinite(low) & np.isfinite(high)
    with np.errstate(all="ignore"):
        centre, half = low / 2 + high / 2, (high / 2 - low / 2) * (1 + ROUNDING) + TINY
        half = half + ROUNDING * (np.abs(low) + np.abs(high))
    middle = np.where(far, np.where(flat, centre, 0.0), middle)
    miss = np.where(far, np.where(flat, half, np.inf), miss + error)
    factor = np.ones((1, 1)) if slopes.factor is None else slopes.factor
    factor = np.where(far | ~np.isfinite(factor), 0.0, factor)
    terms, reach = slopes.terms, slopes.reach
    if not np.isfinite(reach).all():  # 0 times infinity would be no slope at all
        terms = tuple(None if t is None else np.where(np.isfinite(t), t, 0.0) for t in terms)
        reach = np.where(np.isfinite(reach), reach, 0.0)
    return Enclosed(low, high, middle, Slopes(terms, reach, factor), miss, doubt)


def _ends(low: Array, high: Array) -> tuple[Array, Array]:
    """Return ends that are numbers: an open one is infinite, and no low end is +infinity."""
    low = np.where(np.isnan(low) | (low < -LARGE), -np.inf, np.minimum(low, LARGE))
    high = np.where(np.isnan(high) | (high > LARGE), np.inf, np.maximum(high, -LARGE))
    return low, high


def flat(low: Array, high: Array, doubt: Mask | None, boxes: Boxes) -> Enclosed:
    """Return a number of which only an interval is known."""
    with np.errstate(all="ignore"):
        middle, half = low / 2 + high / 2, high / 2 - low / 2
    return settled(low, high, middle, Slopes.none(boxes), half, doubt)


def either(*doubts: Mask | None) -> Mask | None:
    """Return where one of several numbers may be none."""
    found: Mask | None = None
    for doubt in doubts:
        if doubt is not None:
            found = doubt if found is None else np.asarray(found | doubt)
    return found


def chosen(boxes: Boxes, mask: Told, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return a where the mask is true, b where it is false, and what holds both where it is open.

    Half the sum of two lines is off from each by half of their difference.
    """
    yes, no = mask.yes, mask.no
    low = np.where(yes, a.low, np.where(no, b.low, np.minimum(a.low, b.low)))
    high = np.where(yes, a.high, np.where(no, b.high, np.maximum(a.high, b.high)))
    middle = np.where(yes, a.middle, np.where(no, b.middle, a.middle / 2 + b.middle / 2))
    miss = np.where(yes, a.miss, np.where(no, b.miss, np.maximum(a.miss, b.miss)))
    doubt = _chosen_doubt(mask, a.doubt, b.doubt)
    pairs = list(zip(_terms(a, boxes), _terms(b, boxes), strict=True))
    terms = tuple(
        None if one is other is None else _mixed(yes, no, one, other) for one, other in pairs
    )
    open_ = ~(yes | no)
    if open_.any():
        apart = tuple(_difference(*pair) for pair in pairs)
        away = np.abs(a.middle - b.middle) / 2 + boxes.reach(apart) / 2
        miss = np.where(open_, miss + away, miss)
    return settled(low, high, middle, Slopes(terms, boxes.reach(terms)), miss, doubt)


def _chosen_doubt(mask: Told, a: Mask | None, b: Mask | None) -> Mask | None:
    if a is None and b is None:
        return None
    none = np.zeros(1, np.bool_)
    a, b = none if a is None else a, none if b is None else b
    return np.asarray(np.where(mask.yes, a, np.where(mask.no, b, a | b)))


def _terms(x: Enclosed, boxes: Boxes) -> Terms:
    written = () if x.slopes is None else x.slopes.written()
    return written or Slopes.none(boxes).terms


def _mixed(yes: Mask, no: Mask, a: Array | None, b: Array | None) -> Array:
    one, other = (np.zeros((1, 1)) if s is None else s for s in (a, b))
    return np.where(yes, one, np.where(no, other, one / 2 + other / 2))


def _difference(a: Array | None, b: Array | None) -> Array | None:
    if b is None:
        return a
    return -b if a is None else a - b
