"""Rigorous enclosures of exp and log, from Arb's ball arithmetic, and of square roots.

An enclosure at b bits is a pair of integers with ``low <= 2**b * value <= high``. Decisions are
made only when it decides them; otherwise b grows. The tests check these against the correctly
rounded ``decimal`` module, which shares no code with Arb.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import isqrt
from threading import RLock

from flint import arb, ctx, fmpq

# Arb's working precision is one global number; two threads must not change it under each other.
_PRECISION = RLock()
# gamma stays below 0.77 * bits, so its rounding costs fewer than 32 bits, as does everything else.
_GUARD = 64
# Logarithms are rounded to steps of 2**-64.
_LOG_BITS = 64


def _after_fork() -> None:
    """Give a child a lock of its own; another thread may have held it across the fork."""
    global _PRECISION  # noqa: PLW0603
    _PRECISION = RLock()


os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with at least ``bits`` bits inside the block."""
    with _PRECISION:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def ball(number: Fraction) -> arb:
    """Return a ball that holds the rational number, at the precision in force."""
    return arb(fmpq(number.numerator, number.denominator))


def floor_ceil(value: arb, bits: int) -> tuple[int, int]:
    """Enclose ``2**bits * value`` between two integers; call inside ``precision``."""
    scaled = value * arb(2) ** bits
    low, high = scaled.lower().floor().unique_fmpz(), scaled.upper().ceil().unique_fmpz()
    if low is None or high is None:  # the ends of a ball are exact numbers, so this cannot be
        raise AssertionError("an enclosure could not be rounded outwards")
    return int(low), int(high)


def exp_minus(gamma: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``2**bits * exp(-gamma)`` for gamma >= 0; never negative, never above 2**bits."""
    # exp(-gamma) < 2**(-1.3 gamma): so far below the last bit there is nothing to compute.
    if 13 * gamma > 10 * bits:
        return 0, 1
    with precision(bits + _GUARD):
        low, high = floor_ceil((-ball(gamma)).exp(), bits)
    return max(low, 0), min(high, 1 << bits)


def log_below(number: Fraction, times: Fraction) -> Fraction:
    """Return ``times * log(number)`` for a number of at least 1, rounded down to a step of 2**-64.

    A rational number other than 1 has an irrational logarithm, so that some precision decides.
    """
    if number == 1:
        return Fraction(0)
    low, high, bits = 0, 2, 192
    while high - low > 1:
        with precision(bits):
            low, high = floor_ceil(ball(times) * ball(number).log(), _LOG_BITS)
        bits *= 2
    return Fraction(low, 2**_LOG_BITS)


def root_above(square: Fraction) -> Fraction:
    """Return a number that is not below the square root, and above it by 2**-60 of it at most."""
    if square <= 0:
        return Fraction(0)
    bits = 128 + square.denominator.bit_length() - square.numerator.bit_length()
    bits += bits % 2  # an even number of bits, of which the root keeps half
    scaled = square * Fraction(2) ** bits
    root = isqrt(-(-scaled.numerator // scaled.denominator))
    return (root + 1) / Fraction(2) ** (bits // 2)
