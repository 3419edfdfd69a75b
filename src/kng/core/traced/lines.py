"""Arithmetic on enclosed numbers: intervals and lines of sums, products, quotients, sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kng.core.traced.boxes import Boxes, Slopes
from kng.core.traced.enclosed import LARGE, Enclosed, Mask, Told, either, flat, settled

Array = NDArray[np.float64]
# Divisors nearer to 0 than this may be 0.
_SMALL = 1 / LARGE
# The slope of 1 / x leaves float64 beyond this, long before 1 / x does.
_FAR = 1e140
# What values at the ends of a chord may be off, in parts of them, and more.
_OFF = 2.0**-40


def negative(x: Enclosed) -> Enclosed:
    """Return -x, exactly."""
    slopes = None if x.slopes is None else x.slopes.times(np.full((1, 1), -1.0))
    return Enclosed(-x.high, -x.low, -x.middle, slopes, x.miss, x.doubt)


def add(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return a + b; infinities of opposite signs have no sum."""
    doubt = either(a.doubt, b.doubt)
    if _endless(a) or _endless(b):
        opposite = (np.isposinf(a.high) & np.isneginf(b.low)) | (
            np.isneginf(a.low) & np.isposinf(b.high)
        )
        doubt = either(doubt, opposite)
    slopes = _slopes(a, boxes).plus(_slopes(b, boxes), boxes)
    middle, miss = a.middle + b.middle, a.miss + b.miss
    return settled(a.low + b.low, a.high + b.high, middle, slopes, miss, doubt)


def multiply(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return a b; nothing times infinity is no number.

    Of two lines the product of what is not their middles is left out.
    """
    doubt = either(a.doubt, b.doubt)
    if _endless(a) or _endless(b):
        doubt = either(doubt, _holds_zero(a) & b.endless, _holds_zero(b) & a.endless)
    if a.fixed or b.fixed:
        number, x = (a.middle, b) if a.fixed else (b.middle, a)
        ends = number * x.low, number * x.high
        low, high = ends if number.size == 1 and number.flat[0] >= 0 else _ordered(*ends)
        slopes = _slopes(x, boxes).times(number)
        miss = 0.0 if isinstance(x.miss, float) and not x.miss else np.abs(number) * x.miss
        return settled(low, high, number * x.middle, slopes, miss, doubt)
    low, high = _products(a, b)
    one, other = _slopes(a, boxes), _slopes(b, boxes)
    slopes = one.times(b.middle).plus(other.times(a.middle), boxes)
    left_out = (one.size + a.miss) * (other.size + b.miss)
    miss = np.abs(a.middle) * b.miss + np.abs(b.middle) * a.miss + left_out
    return settled(low, high, a.middle * b.middle, slopes, miss, doubt)


def divide(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return a / b as a times 1 / b; one infinity over another is no number."""
    found = multiply(boxes, a, _inverse(boxes, b))
    if _endless(a) and _endless(b):
        found.doubt = either(found.doubt, a.endless & b.endless)
    return found


def _inverse(boxes: Boxes, x: Enclosed) -> Enclosed:
    """Return 1 / x by a chord: it falls, is convex above 0 and concave below."""
    zero = (x.low < _SMALL) & (x.high > -_SMALL)
    low, high = np.where(zero, 1.0, x.low), np.where(zero, 1.0, x.high)
    start, end = 1 / low, 1 / high
    least, most = _ordered(-start * start, -end * end)
    away = Enclosed(low, high, x.middle, x.slopes, x.miss, x.doubt)
    found = chord(boxes, away, start, end, least, most, np.where(low > 0, 1.0, -1.0))
    far = np.maximum(np.abs(low), np.abs(high)) > _FAR
    if not (zero | far).any():
        return found
    # Far from 0 only its interval is known; near 0 it may be anything, infinite or none.
    interval = zip(_ordered(start, end), (found.low, found.high), (-np.inf, np.inf), strict=True)
    start, end = (np.where(zero, none, np.where(far, own, lines)) for own, lines, none in interval)
    middle, slopes = np.where(zero | far, np.nan, found.middle), _slopes(found, boxes)
    return settled(start, end, middle, slopes, found.miss, either(x.doubt, zero))


def chord(  # noqa: PLR0917
    boxes: Boxes,
    x: Enclosed,
    start: Array,
    end: Array,
    least: Array,
    most: Array,
    bend: Array | float,
    floor: Array | None = None,
) -> Enclosed:
    """Return a function of x by its chord between the ends of x, moved to the middle of its miss.

    ``start`` and ``end`` are its values at the ends, between which it lies unless it has a lower
    ``floor``, and its slope lies between ``least`` and ``most``. A chord of slope c over a width w
    misses by at most

        w (most - c) (c - least) / (most - least)

    below it where the function is convex (bend 1), above it where it is concave (-1).
    """
    width = x.high - x.low
    slope = np.where(width > 0, (end - start) / width, least)
    slope = np.minimum(np.maximum(slope, least), most)
    share = np.where(most > least, (most - slope) / (most - least), 0.0)
    if np.isinf(most).any():
        share = np.where(np.isinf(most), 1.0, share)
    depth = width * (slope - least) * share
    low, high = _ordered(start, end)
    steep = np.maximum(np.abs(least), np.abs(slope))
    fuzz = _OFF * (np.maximum(np.abs(low), np.abs(high)) + steep * width)
    fuzz = fuzz + 2.0**-50 * steep * (np.abs(x.middle) + np.abs(x.low))
    middle = start + slope * (x.middle - x.low) - bend * depth / 2
    miss = np.abs(slope) * x.miss + depth * (1 - np.abs(bend) / 2) + fuzz
    slopes = _slopes(x, boxes).times(slope)
    low = low if floor is None else floor
    low, high = low - _OFF * np.abs(low), high + _OFF * np.abs(high)
    return settled(low, high, middle, slopes, miss, x.doubt)


def absolute(boxes: Boxes, x: Enclosed) -> Enclosed:
    """Return |x|."""
    most = np.maximum(-x.low, x.high)
    return _bent(boxes, x, -1.0, np.zeros(1), (np.maximum(np.maximum(x.low, -x.high), 0.0), most))


def _bent(boxes: Boxes, x: Enclosed, left: float, at: Array, ends: tuple[Array, Array]) -> Enclosed:
    """Return  at + left (x - at)  below a kink at ``at``, for a left of 0,  and x above it.

    Of a left of -1 it is |x|, and ``at`` is 0. A chord over the kink misses most there.
    """
    after, across = x.low >= at, (x.low < at) & (x.high > at)
    low, high = x.low - at, x.high - at
    start, end = np.where(after, low, left * low), np.where(high > 0, high, left * high)
    slope = np.where(across, (end - start) / (high - low), np.where(after, 1.0, left))
    depth = np.where(across, start - slope * low, 0.0)
    middle = depth / 2 + slope * (x.middle - at) + at
    # What is constant is not rounded, however large x may be.
    sizes = np.abs(x.low) + np.abs(x.high) + np.abs(x.middle) + 2 * np.abs(at)
    room = np.abs(slope) * sizes + np.where(across, np.abs(start) + np.abs(end), 0.0)
    room = 2.0**-48 * (room + np.abs(at))
    miss = np.abs(slope) * x.miss + depth / 2 + room
    slopes = _slopes(x, boxes).times(slope)
    return settled(*ends, middle, slopes, miss, x.doubt)


def maximum(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return the larger of two: a number and a kink, or  a + max(b - a, 0)  as lines."""
    if a.fixed:
        a, b = b, a
    doubt = either(a.doubt, b.doubt)
    if doubt is None and (a.low >= b.high).all():
        return a
    ends = np.maximum(a.low, b.low), np.maximum(a.high, b.high)
    if _endless(a) or _endless(b):
        return flat(*ends, doubt, boxes)
    if b.fixed:
        return _bent(boxes, a, 0.0, b.middle, ends)
    more = add(boxes, b, negative(a))
    above = np.maximum(more.low, 0.0), np.maximum(more.high, 0.0)
    found = add(boxes, a, _bent(boxes, more, 0.0, np.zeros(1), above))
    return settled(*ends, found.middle, _slopes(found, boxes), found.miss, doubt)


def minimum(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return the smaller of two."""
    if a.fixed:
        a, b = b, a
    if a.doubt is None and b.doubt is None and (a.high <= b.low).all():
        return a
    return negative(maximum(boxes, negative(a), negative(b)))


def sign(boxes: Boxes, x: Enclosed) -> Enclosed:
    """Return the sign of x."""
    return flat(np.sign(x.low), np.sign(x.high), x.doubt, boxes)


def less(a: Enclosed, b: Enclosed) -> Told:
    """Tell whether a < b; a number that is none is not less."""
    return _sure(Told(a.high < b.low, a.low >= b.high), a, b)


def less_equal(a: Enclosed, b: Enclosed) -> Told:
    """Tell whether a <= b."""
    return _sure(Told(a.high <= b.low, a.low > b.high), a, b)


def equal(a: Enclosed, b: Enclosed) -> Told:
    """Tell whether a = b."""
    same = (a.low == a.high) & (b.low == b.high) & (a.low == b.low) & np.isfinite(a.low)
    return _sure(Told(same, (a.high < b.low) | (a.low > b.high)), a, b)


def _sure(told: Told, a: Enclosed, b: Enclosed) -> Told:
    doubt = either(a.doubt, b.doubt)
    return told if doubt is None else Told(told.yes & ~doubt, told.no)


def _slopes(x: Enclosed, boxes: Boxes) -> Slopes:
    return x.slopes if x.slopes is not None and x.slopes.terms else Slopes.none(boxes)


def _endless(x: Enclosed) -> bool:
    return not x.fixed and not np.isfinite(np.max(x.miss, initial=0.0))


def _holds_zero(x: Enclosed) -> Mask:
    return np.asarray((x.low <= 0) & (x.high >= 0))


def _ordered(a: Array, b: Array) -> tuple[Array, Array]:
    return np.minimum(a, b), np.maximum(a, b)


def _products(a: Enclosed, b: Enclosed) -> tuple[Array, Array]:
    """Return the ends of an interval times an interval; 0 times an open end is 0."""
    four = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    if _endless(a) or _endless(b):
        four = [np.where(np.isnan(v), 0.0, v) for v in four]
    (low, high), (lower, higher) = _ordered(*four[:2]), _ordered(*four[2:])
    return np.minimum(low, lower), np.maximum(high, higher)
