"""Geometric variables with exactly the stated rate, from uniform digits and exponential coins."""

from __future__ import annotations

from fractions import Fraction

from kng.core.bits import Bits
from kng.samplers.exact.coins import bernoulli_exp, uniform


def geometric(bits: Bits, rate: Fraction) -> int:
    """Return a whole number k >= 0 with probability proportional to exp(-rate k).

    One of rate 1/t is cut from uniform digits and exponential coins, and thinned to rate s/t by
    division. docs/proofs/samplers/noise.md.
    """
    s, t = rate.numerator, rate.denominator
    while True:
        digit = uniform(bits, t)
        if bernoulli_exp(bits, Fraction(digit, t)):
            break
    rounds = 0
    while bernoulli_exp(bits, Fraction(1)):
        rounds += 1
    return (digit + t * rounds) // s
