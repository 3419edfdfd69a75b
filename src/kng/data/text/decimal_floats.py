"""The float64 nearest to a decimal number w * 10^q, ties to even, compiled.

Small numbers by one exact multiplication or division (Clinger, "How to read floating point numbers
accurately", 1990), all others by a product with 128 bits of the power of five (Lemire, "Number
parsing at a gigabyte per second", 2021). For every w below 2^64 that product decides (Mushtak and
Lemire, "Fast number parsing without fallback", 2023).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kng.core.compiled import compiled

# Below 10^-342 every w < 2^64 is nearest to 0, above 10^308 every w >= 1 is infinite.
_LEAST, _MOST = -342, 308
# 10^0 to 10^22 are float64 numbers, for 5^22 < 2^53.
_TENS = np.array([float(10**k) for k in range(23)])


def _power_of_five(q: int) -> int:
    """Return the first 128 bits of 5^q: cut for q >= 0, of a reciprocal that is a little larger."""
    five: int = 5 ** abs(q)
    if q >= 0:
        return (five << 128) >> five.bit_length()
    bits = (five - 1).bit_length()
    # Up to 5^27 < 2^64 the reciprocal has 128 bits as it is; then it is cut to them.
    long = (1 << (bits + 127 if q >= -27 else 2 * bits + 128)) // five + 1
    return long >> max(long.bit_length() - 128, 0)


def _powers_of_five() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the upper and the lower half of each."""
    powers = [_power_of_five(q) for q in range(_LEAST, _MOST + 1)]
    return (
        np.array([power >> 64 for power in powers], dtype=np.uint64),
        np.array([power & 2**64 - 1 for power in powers], dtype=np.uint64),
    )


_UPPER, _LOWER = _powers_of_five()

_HALF = np.uint64(2**32 - 1)
_NONE, _ONE, _TWO, _THREE = (np.uint64(k) for k in range(4))
_SHIFT32, _SHIFT63, _SHIFT64 = np.uint64(32), np.uint64(63), np.uint64(64)
# A product whose bits 55 to 64 are all ones may still carry: 53 bits, one to round, one to spare.
_UNSETTLED = np.uint64(2**9 - 1)
_HIDDEN, _SIGNIFICAND, _INFINITE = np.uint64(2**52), np.uint64(2**53), np.uint64(0x7FF)
_SHIFT52, _SHIFT9 = np.uint64(52), np.uint64(9)
_EXACT = np.uint64(2**53)


@compiled("UniTuple(u8, 2)(u8, u8)", nogil=True)
def product(a, b):  # type: ignore[no-untyped-def]
    """Return the upper and the lower 64 bits of a * b."""
    a1, a0 = a >> _SHIFT32, a & _HALF
    b1, b0 = b >> _SHIFT32, b & _HALF
    low = a0 * b0
    middle = a1 * b0 + (low >> _SHIFT32)
    other = a0 * b1 + (middle & _HALF)
    return a1 * b1 + (middle >> _SHIFT32) + (other >> _SHIFT32), a * b


@compiled("u8(u8)", nogil=True)
def leading_zeros(w):  # type: ignore[no-untyped-def]
    """Return the number of zero bits before the first one of w > 0."""
    zeros = _NONE
    for step in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - step) == _NONE:
            w <<= np.uint64(step)
            zeros += np.uint64(step)
    return zeros


@compiled("f8(u8, i8)", nogil=True)
def nearest(w, q):  # type: ignore[no-untyped-def]
    """Return w * 10^q, rounded to nearest, ties to even."""
    if w <= _EXACT and -22 <= q <= 22:
        return np.float64(w) / _TENS[-q] if q < 0 else np.float64(w) * _TENS[q]
    if w == _NONE or q < _LEAST:
        return 0.0
    if q > _MOST:
        return np.inf
    zeros = leading_zeros(w)
    w <<= zeros
    high, low = product(w, _UPPER[q - _LEAST])
    if high & _UNSETTLED == _UNSETTLED:
        more, _ = product(w, _LOWER[q - _LEAST])
        low += more
        if more > low:
            high += _ONE
    top = high >> _SHIFT63
    # 54 bits: the significand and one to round by.
    shift = top + _SHIFT9
    m = high >> shift
    # floor(log2(10^q)) by a fixed-point logarithm, which is exact for these q.
    power = ((217706 * q) >> 16) + 63 + np.int64(top) - np.int64(zeros) + 1023
    if power <= 0:  # subnormal
        if power <= -63:
            return 0.0
        m >>= np.uint64(1 - power)
        m += m & _ONE
        m >>= _ONE
        return np.uint64(m).view(np.float64)  # 2^52 is the least normal number, by itself
    # Exactly between two floats: only for these q, as 5^q must divide, or be divided by, 64 bits.
    if low <= _ONE and -4 <= q <= 23 and m & _THREE == _ONE and m << shift == high:
        m &= ~_ONE
    m += m & _ONE
    m >>= _ONE
    if m >= _SIGNIFICAND:
        m = _HIDDEN
        power += 1
    if power >= 0x7FF:
        return np.inf
    return np.uint64((m & ~_HIDDEN) | np.uint64(power) << _SHIFT52).view(np.float64)
