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


def ceiling(number: Fraction, digits: int) -> Fraction:
    """Return the least multiple of 2**-digits that is not below a number."""
    scaled = number * Fraction(2) ** digits
    return -(-scaled.numerator // scaled.denominator) / Fraction(2) ** digits


def length_on(vector: Iterable[Fraction], digits: int) -> Fraction:
    """Return the Euclidean length of a vector, rounded up to a multiple of 2**-digits.

    ceil(sqrt(q)) is the least whole number whose square is not below q.
    """
    square = sum((v * v for v in vector), Fraction(0)) * Fraction(4) ** digits
    root = isqrt(-(-square.numerator // square.denominator))
    return (root + (root * root < square)) / Fraction(2) ** digits


def length_up(vector: Iterable[Fraction]) -> Fraction:
    """Return the Euclidean length of a vector, rounded up as `root_up` does."""
    return root_up(sum((v * v for v in vector), Fraction(0)))
