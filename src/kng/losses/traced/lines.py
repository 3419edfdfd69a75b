"""Arithmetic on enclosed numbers: intervals and lines of sums, products, quotients, sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kng.losses.traced.boxes import Boxes, Slopes
from kng.losses.traced.enclosed import LARGE, Enclosed, Mask, Told, either, flat, settled

Array = NDArray[np.float64]
# Divisors nearer to 0 than this may be 0.
_SMALL = 1 / LARGE


def negative(x: Enclosed) -> Enclosed:
    """Return -x, exactly."""
    slopes = None if x.slopes is None else tuple(None if s is None else -s for s in x.slopes)
    return Enclosed(-x.high, -x.low, -x.middle, slopes, x.miss, x.doubt)


def add(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return a + b; infinities of opposite signs have no sum."""
    doubt = either(a.doubt, b.doubt)
    if _endless(a) or _endless(b):
        opposite = (np.isposinf(a.high) & np.isneginf(b.low)) | (
            np.isneginf(a.low) & np.isposinf(b.high)
        )
        doubt = either(doubt, opposite)
    middle, slopes = a.middle + b.middle, _sum(a.slopes, b.slopes)
    return settled(boxes, a.low + b.low, a.high + b.high, middle, slopes, a.miss + b.miss, doubt)


def multiply(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return a b; nothing times infinity is no number.

    Of two lines the product of what is not their middles is left out.
    """
    doubt = either(a.doubt, b.doubt)
    if _endless(a) or _endless(b):
        doubt = either(doubt, _holds_zero(a) & b.endless, _holds_zero(b) & a.endless)
    if a.fixed or b.fixed:
        number, x = (a, b) if a.fixed else (b, a)
        ends = number.middle * x.low, number.middle * x.high
        slopes = _scaled(x.slopes, number.middle)
        miss = np.abs(number.middle) * x.miss
        low, high = np.minimum(*ends), np.maximum(*ends)
        return settled(boxes, low, high, number.middle * x.middle, slopes, miss, doubt)
    low, high = _products(a, b)
    slopes = _sum(_scaled(a.slopes, b.middle), _scaled(b.slopes, a.middle))
    reaches = [boxes.reach(x.slopes or ()) + x.miss for x in (a, b)]
    miss = np.abs(a.middle) * b.miss + np.abs(b.middle) * a.miss + reaches[0] * reaches[1]
    return settled(boxes, low, high, a.middle * b.middle, slopes, miss, doubt)


def divided_one(boxes: Boxes, x: Enclosed) -> Enclosed:
    """Return 1 / x by a chord: it is convex above 0 and concave below."""
    open_ = (x.low < _SMALL) & (x.high > -_SMALL)
    low, high = np.where(open_, 1.0, x.low), np.where(open_, 1.0, x.high)
    first, last = 1 / high, 1 / low  # the least and the largest
    doubt = x.doubt
    steep = -last * last, -first * first
    least, most = np.minimum(*steep), np.maximum(*steep)
    bend = np.where(low > 0, 1.0, -1.0)
    found = chord(boxes, Enclosed(low, high, x.middle, x.slopes, x.miss), last, first, least, most, bend)
    if not open_.any():
        return Enclosed(found.low, found.high, found.middle, found.slopes, found.miss, doubt)
    lost = either(doubt, open_)
    ends = np.where(open_, -np.inf, found.low), np.where(open_, np.inf, found.high)
    middle, miss = np.where(open_, np.nan, found.middle), found.miss
    return settled(boxes, *ends, middle, found.slopes or (), miss, lost)


def divide(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return a / b as a times 1 / b; one infinity over another is no number."""
    found = multiply(boxes, a, divided_one(boxes, b))
    if _endless(a) and _endless(b):
        found.doubt = either(found.doubt, a.endless & b.endless)
    return found


def chord(  # noqa: PLR0917
    boxes: Boxes,
    x: Enclosed,
    start: Array,
    end: Array,
    least: Array,
    most: Array,
    bend: Array | float,
    off: float = 2.0**-40,
) -> Enclosed:
    """Return a function of x by its chord between the ends of x, moved to the middle of its miss.

    ``start`` and ``end`` are its values at the ends, up to ``off`` of them, and its slope lies
    between ``least`` and ``most``. A chord of slope c over a width w misses by at most

        w (most - c) (c - least) / (most - least)

    below it where the function is convex (bend 1), above it where it is concave (-1).
    """
    width = x.high - x.low
    with np.errstate(all="ignore"):
        slope = np.where(width > 0, (end - start) / width, least)
        slope = np.minimum(np.maximum(slope, least), most)
        share = np.where(most > least, (most - slope) / (most - least), 0.0)
        share = np.where(np.isinf(most), 1.0, share)
        depth = width * (slope - least) * share
        steep = np.maximum(np.abs(least), np.abs(slope))
        fuzz = off * (np.maximum(np.abs(start), np.abs(end)) + steep * width)
        fuzz = fuzz + 2.0**-50 * steep * (np.abs(x.middle) + np.abs(x.low))
        middle = start + slope * (x.middle - x.low) - bend * depth / 2
        miss = np.abs(slope) * x.miss + depth * (1 - np.abs(bend) / 2) + fuzz
        low, high = np.minimum(start, end), np.maximum(start, end)
        low, high = low - off * np.abs(low), high + off * np.abs(high)
        slopes = _scaled(x.slopes, slope)
    return settled(boxes, low, high, middle, slopes, miss, x.doubt)


def absolute(boxes: Boxes, x: Enclosed) -> Enclosed:
    """Return |x|: a chord over 0 misses most there."""
    return _bent(boxes, x, -1.0)


def above_zero(boxes: Boxes, x: Enclosed) -> Enclosed:
    """Return max(x, 0)."""
    return _bent(boxes, x, 0.0)


def _bent(boxes: Boxes, x: Enclosed, left: float) -> Enclosed:
    """Return left * x below 0 and x above."""
    positive, across = x.low >= 0, (x.low < 0) & (x.high > 0)
    start, end = np.where(positive, x.low, left * x.low), np.where(x.high > 0, x.high, left * x.high)
    with np.errstate(all="ignore"):
        slope = np.where(across, (end - start) / (x.high - x.low), np.where(positive, 1.0, left))
        depth = np.where(across, start - slope * x.low, 0.0)
        base = np.where(across, start - slope * x.low - depth / 2, 0.0)
        middle = base + slope * x.middle
        size = np.maximum(np.abs(x.low), np.abs(x.high))
        miss = np.abs(slope) * x.miss + depth / 2 + 2.0**-48 * np.where(across, size, 0.0)
        slopes = _scaled(x.slopes, slope)
    low = np.where(across, 0.0, np.minimum(start, end))
    return settled(boxes, low, np.maximum(start, end), middle, slopes, miss, x.doubt)


def maximum(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return the larger of two: a + max(b - a, 0), as lines; which one it is, is not rounded."""
    if a.fixed:
        a, b = b, a
    doubt = either(a.doubt, b.doubt)
    ends = np.maximum(a.low, b.low), np.maximum(a.high, b.high)
    if _endless(a) or _endless(b):
        return flat(*ends, doubt, boxes)
    found = add(boxes, a, above_zero(boxes, add(boxes, b, negative(a))))
    return settled(boxes, *ends, found.middle, found.slopes or (), found.miss, doubt)


def minimum(boxes: Boxes, a: Enclosed, b: Enclosed) -> Enclosed:
    """Return the smaller of two."""
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


def _endless(x: Enclosed) -> bool:
    return x.slopes is not None and not np.isfinite(np.max(x.miss, initial=0.0))


def _holds_zero(x: Enclosed) -> Mask:
    return np.asarray((x.low <= 0) & (x.high >= 0))


def _products(a: Enclosed, b: Enclosed) -> tuple[Array, Array]:
    """Return the ends of an interval times an interval; 0 times an open end is 0."""
    with np.errstate(all="ignore"):
        four = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    if _endless(a) or _endless(b):
        four = [np.where(np.isnan(v), 0.0, v) for v in four]
    low, high = np.minimum(four[0], four[1]), np.maximum(four[0], four[1])
    return (
        np.minimum(low, np.minimum(four[2], four[3])),
        np.maximum(high, np.maximum(four[2], four[3])),
    )


def _scaled(slopes: Slopes | None, factor: Array) -> Slopes:
    return tuple(None if s is None else s * factor for s in slopes or ())


def _sum(a: Slopes | None, b: Slopes | None) -> Slopes:
    if not a or not b:
        return a or b or ()
    return tuple(
        t if s is None else s if t is None else s + t for s, t in zip(a, b, strict=True)
    )
