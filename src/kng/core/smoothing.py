"""Fact C: a draw with a certified error, made exactly epsilon-private by a pinch of uniform.

Let p be epsilon-private on M points and let q satisfy |q - p| <= phi at every point, for every
dataset. Release from q, but with probability beta from the uniform law instead. If

    kappa = (1 - beta) * phi * M / beta  <=  tanh(epsilon / 2)

the release is exactly epsilon-private (`docs/proofs/lemmas/smoothing.md`). phi here has two parts,

    phi = miss**attempts + M * exp(-depth),

no acceptance in a fixed number of attempts, each of which misses with probability at most
``miss``; and the points left out of the envelope because their exponent exceeds the best one by
``depth``. Both are public, so a sampler that runs exactly that many attempts and looks exactly
that deep can neither fail nor show a count that depends on the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from kng.core.errors import SpecError

# One release in 2**40 is a uniform draw: far rarer than a failing disk.
BETA = Fraction(1, 2**40)
# kappa <= 2**-40 < 1e-12, so that the range of the privacy loss grows by less than 1e-11.
KAPPA = Fraction(1, 2**40)
EXTRA_RANGE = Fraction(1, 10**11)
# Powers up to this many bits are computed as they are.
_LONGEST = 2**16


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How many attempts, how deep, and how often uniform, from public facts alone."""

    points: int
    miss: Fraction
    attempts: int
    depth: int
    beta: Fraction = BETA

    @property
    def phi(self) -> Fraction:
        """Upper bound on the error of the draw at any point; exp(-1) < 3/8 makes it rational."""
        return _power(self.miss, self.attempts) + self.points * Fraction(3, 8) ** self.depth

    @property
    def kappa(self) -> Fraction:
        """The left side of the lemma's condition."""
        return (1 - self.beta) * self.phi * self.points / self.beta


@lru_cache(maxsize=256)
def smoothing(points: int, epsilon: Fraction, miss: Fraction) -> Smoothing:
    """Return small attempts and depth for which the lemma holds, half of phi for each.

    tanh(x) >= x / (1 + x), so epsilon / (2 + epsilon) may stand for tanh(epsilon / 2).
    """
    if not 0 <= miss < 1:
        raise SpecError(f"a miss probability lies in [0, 1), got {miss}.")
    phi = min(KAPPA, epsilon / (2 + epsilon)) * BETA / ((1 - BETA) * points)
    attempts = _power_below(miss, phi / 2)
    depth = _power_below(Fraction(3, 8), phi / (2 * points))
    result = Smoothing(points, miss, attempts, depth)
    assert result.kappa <= min(KAPPA, epsilon / (2 + epsilon))
    return result


def _power(base: Fraction, k: int) -> Fraction:
    """Return base**k, or a bound on it where that would be a very long number.

    (1 - a)**k  <=  exp(-a k)  <=  (3/8)**floor(a k)
    """
    if k * base.denominator.bit_length() <= _LONGEST:
        return base**k
    return Fraction(3, 8) ** int((1 - base) * k)


def _power_below(base: Fraction, target: Fraction) -> int:
    """Return a small k with ``_power(base, k) <= target``."""
    high = 1
    while _power(base, high) > target:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(base, middle) <= target else (middle, high)
    return high
