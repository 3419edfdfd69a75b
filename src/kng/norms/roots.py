"""Square roots of rational numbers, rounded up."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import isqrt

# Binary digits that are kept behind the first one, or behind the point if there are digits before.
_BITS = 96


def root_up(square: Fraction) -> Fraction:
    """Return the root if it is rational; else a number above it by 2**-95 of it at most."""
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(top, bottom)
    small = max(0, square.denominator.bit_length() - square.numerator.bit_length())
    bits = _BITS + (small + 1) // 2
    root = isqrt((square.numerator << 2 * bits) // square.denominator)
    return Fraction(root + 1, 1 << bits)


def length_up(vector: Iterable[Fraction]) -> Fraction:
    """Return the Euclidean length of a vector, rounded up as `root_up` does."""
    return root_up(sum((v * v for v in vector), Fraction(0)))
