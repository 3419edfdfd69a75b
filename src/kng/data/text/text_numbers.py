r"""One grammar of numbers in text, compiled: from bytes to the nearest float64, never raising.

    number   = blanks  sign?  (digits point? digits? | point digits) (e sign? digits)?  blanks
             | blanks  sign?  (inf | infinity | nan)                                    blanks
    digits   = 0-9, one underscore between two of them allowed

Blanks are the six of ASCII (space, \t, \n, \v, \f, \r), letters are of either case. It is what
Python's ``float`` reads in ASCII text, and the result has the same bits. All else is missing: NaN.

A number of more than 19 digits may be too close to the middle between two floats to be told by its
first 19. Such a cell is left *undecided*, and the caller asks ``float``.
"""

from __future__ import annotations

import numpy as np

from kng.core.compiled import compiled
from kng.data.text.decimal_floats import nearest
from kng.data.text.eight_bytes import eight_at

# Bytes of any buffer, which may be read-only.
BYTES = "Array(u1, 1, 'C', readonly=True)"
# A cell's number, and whether it is undecided.
DECIDED, UNDECIDED = False, True

_TEN = np.uint64(10)
_ONE = np.uint64(1)
# Eight digits at a time: Lemire, "Quickly parsing eight digits", 2018.
_UPPER_HALVES, _LOWER_HALVES = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x0F0F0F0F0F0F0F0F)
_SIXES, _THREES = np.uint64(0x0606060606060606), np.uint64(0x3333333333333333)
_BYTES, _WORDS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_PAIRS, _FOURS = np.uint64(10 * 2**8 + 1), np.uint64(100 * 2**16 + 1)
_EIGHTS = np.uint64(10_000 * 2**32 + 1)
_FOUR, _EIGHT, _SIXTEEN, _THIRTY_TWO = (np.uint64(k) for k in (4, 8, 16, 32))
_HUNDRED_MILLION = np.uint64(10**8)
# As many decimal digits as always fit into 64 bits.
_DIGITS = 19
# An exponent beyond the length of any cell, from which it is not counted further.
_HUGE = 10**15


@compiled("b1(u1)", nogil=True)
def blank(c):  # type: ignore[no-untyped-def]
    """Whether a byte is white space."""
    return c == 32 or 9 <= c <= 13


@compiled("b1(u1)", nogil=True)
def digit(c):  # type: ignore[no-untyped-def]
    """Whether a byte is a decimal digit."""
    return 48 <= c <= 57


@compiled(f"Tuple((u8, i8, i8))({BYTES}, i8, i8, u8)", nogil=True, forceinline=True)
def digits(data, at, end, w):  # type: ignore[no-untyped-def]
    """Append a run of digits to w modulo 2^64; return it, their number, and where they end."""
    many = 0
    while at + 8 <= end:
        eight = eight_at(data, at)
        # Bytes whose upper half is 3, now and when 6 is added.
        if (eight & _UPPER_HALVES) | ((eight + _SIXES & _UPPER_HALVES) >> _FOUR) != _THREES:
            break
        # Neighbours are put together: to numbers of two digits, of four, of eight.
        eight = (eight & _LOWER_HALVES) * _PAIRS >> _EIGHT
        eight = (eight & _BYTES) * _FOURS >> _SIXTEEN
        eight = (eight & _WORDS) * _EIGHTS >> _THIRTY_TWO
        w = w * _HUNDRED_MILLION + eight
        at, many = at + 8, many + 8
    while at < end:
        c = data[at]
        if digit(c):
            w = w * _TEN + np.uint64(c - 48)
            many += 1
        elif not (c == 95 and many and data[at - 1] != 95 and at + 1 < end and digit(data[at + 1])):
            break
        at += 1
    return w, many, at


@compiled(f"f8({BYTES}, i8, i8)", nogil=True)
def word(data, at, end):  # type: ignore[no-untyped-def]
    """Return infinity if it is written out, NaN for every other text."""
    if end - at != 3 and end - at != 8:
        return np.nan
    for k in range(end - at):
        if data[at + k] | 32 != _INFINITY[k]:
            return np.nan
    return np.inf


_INFINITY = np.frombuffer(b"infinity", dtype=np.uint8)


@compiled(f"Tuple((u8, i8, b1))({BYTES}, i8, i8)", nogil=True)
def first_digits(data, at, end):  # type: ignore[no-untyped-def]
    """Return the first 19 digits that count, how many follow, and whether these are all 0."""
    w, found, left, zeros = np.uint64(0), 0, 0, True
    for k in range(at, end):
        c = data[k]
        if not digit(c) or (c == 48 and not found):
            continue
        if found < _DIGITS:
            w = w * _TEN + np.uint64(c - 48)
            found += 1
        else:
            left += 1
            zeros = zeros and c == 48
    return w, left, zeros


@compiled(f"Tuple((i8, b1))({BYTES}, i8, i8)", nogil=True)
def exponent(data, at, end):  # type: ignore[no-untyped-def]
    """Return the exponent that takes the rest of a cell, and whether it does."""
    below = at < end and data[at] == 45
    if below or (at < end and data[at] == 43):
        at += 1
    _, many, stop = digits(data, at, end, np.uint64(0))
    e = 0
    for k in range(at, stop):
        if e < _HUGE and data[k] != 95:
            e = 10 * e + data[k] - 48
    return -e if below else e, many > 0 and stop == end


@compiled(f"Tuple((f8, b1))({BYTES}, i8, i8, u1)", nogil=True, forceinline=True)
def number_in(data, start, end, point):  # type: ignore[no-untyped-def]
    """Return the number in ``data[start:end]``, or NaN, and whether it is undecided."""
    while start < end and blank(data[start]):
        start += 1
    while start < end and blank(data[end - 1]):
        end -= 1
    if start == end:
        return np.nan, DECIDED
    negative = data[start] == 45
    start += np.int64(negative) + np.int64(data[start] == 43)
    w, whole, at = digits(data, start, end, np.uint64(0))
    parts = 0
    if at < end and data[at] == point:
        w, parts, at = digits(data, at + 1, end, w)
    if whole + parts == 0:
        value = word(data, start, end)
        return -value if negative else value, DECIDED
    q, stop = -parts, at
    if at < end:
        if data[at] | 32 != 101:
            return np.nan, DECIDED
        e, fits = exponent(data, at + 1, end)
        if not fits:
            return np.nan, DECIDED
        q += e
    if whole + parts <= _DIGITS:
        value = nearest(w, q)
        return -value if negative else value, DECIDED
    w, left, zeros = first_digits(data, start, stop)
    value = nearest(w, q + left)
    if not zeros and value != nearest(w + _ONE, q + left):
        return np.nan, UNDECIDED
    return -value if negative else value, DECIDED


@compiled(f"i8({BYTES}, i8[::1], i8[::1], u1, f8[::1], i8[::1])", nogil=True)
def numbers_in(data, starts, ends, point, out, undecided):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Read one cell after the other; note the undecided ones and return how many there are."""
    many = 0
    for i in range(len(starts)):
        out[i], left = number_in(data, starts[i], ends[i], point)
        if left:
            undecided[many] = i
            many += 1
    return many
