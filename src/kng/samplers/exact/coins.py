"""Decisions with exactly the stated probabilities, from uniform bits.

A uniform U is drawn as a growing binary expansion. A probability p is known through enclosures
of any precision. The answer "U < p" is given as soon as the bits seen so far decide it, and more
bits are bought while they do not; ties have probability zero, so this ends with certainty, on
average after a little over one word.

Paper    none: the paper draws in floating point.
Privacy  No decision rounds, so a sampler built from these has the law it states.
         docs/proofs/samplers/coins.md.
Cost     A few microseconds each, one where a float near the probability is known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction

from kng.core.bits import Bits
from kng.core.enclosures import exp_minus

# What a decision by `exp_near` must keep clear of: its error, and the roundings of a comparison.
MARGIN = 2.0**-44
# 1/10, 1/9, ... 1/1
_SHARES = tuple(1 / k for k in range(10, 0, -1))

# low <= 2**b * p <= high at b bits
Enclosure = Callable[[int], tuple[int, int]]


def uniform(bits: Bits, size: int) -> int:
    """Return a uniform whole number in ``0 .. size - 1``, by rejection."""
    width = (size - 1).bit_length()
    while (value := bits.take(width)) >= size:
        pass
    return value


def below(bits: Bits, probability: Enclosure, seen: tuple[int, int] = (0, 0)) -> bool:
    """Return True with exactly the enclosed probability.

    ``seen`` are bits of U that were looked at before, as a number and how many; they decided
    nothing yet.
    """
    value, length = seen
    while True:
        value = (value << bits.word) | bits.take(bits.word)
        length += bits.word
        low, high = probability(length)
        if value + 1 <= low:
            return True
        if value >= high:
            return False


def exp_near(t: float) -> float:
    """Return exp(-t) for 0 <= t <= 1/4, off by less than 2**-46: ten terms of its series.

        1 - t (1 - t/2 (1 - t/3 (...)))

    Differences and products only, which IEEE 754 rounds in one way; no library's exp is trusted.
    """
    value = 1.0
    for share in _SHARES:
        value = 1.0 - t * share * value
    return value


def below_near(bits: Bits, near: float, probability: Enclosure) -> bool:
    """Return what `below` returns, from a float less than MARGIN / 2 from the probability.

    The first word decides by the float unless U is within the margin; only then is the
    enclosure asked, about the same word first.
    """
    value, length = bits.take(bits.word), bits.word
    unit = 2.0**-length
    if (value + 1) * unit <= near - MARGIN:
        return True
    if value * unit >= near + MARGIN:
        return False
    low, high = probability(length)
    if value + 1 <= low or value >= high:
        return value + 1 <= low
    return below(bits, probability, (value, length))


def bernoulli(bits: Bits, probability: Fraction) -> bool:
    """Return True with exactly a rational probability."""

    def enclosure(length: int) -> tuple[int, int]:
        scaled, rest = divmod(probability.numerator << length, probability.denominator)
        return scaled, scaled + (rest > 0)

    return below(bits, enclosure)


def bernoulli_exp(bits: Bits, gamma: Fraction) -> bool:
    """Return True with probability exactly ``exp(-gamma)``, gamma >= 0."""
    return gamma == 0 or below(bits, lambda length: exp_minus(gamma, length))


def choose(bits: Bits, cumulative: Sequence[int], seen: tuple[int, int] = (0, 0)) -> int:
    """Return i with probability ``(cumulative[i] - cumulative[i-1]) / cumulative[-1]``.

    U * total is known up to an interval; it is refined until both ends lie in one cell. ``seen``
    is as for `below`.
    """
    total = cumulative[-1]
    value, length = seen
    while True:
        value = (value << bits.word) | bits.take(bits.word)
        length += bits.word
        cell = bisect_right(cumulative, (value * total) >> length)
        # the interval is half open: its last point is below (value + 1) * total / 2**length
        if ((value + 1) * total - 1) >> length < cumulative[cell]:
            return cell
