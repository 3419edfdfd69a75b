"""A level t whose density is exp(-c t) times a polynomial: how large the body of a level is.

    exp(-c t) * sum over k of c_k * product over i of (base_i + slope_i t)^power_ik,    t >= start

With x = t - start every factor is a sum of powers of x with coefficients that are not negative,
so the whole is a mixture of gamma laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log

import numpy as np
from scipy.special import comb, gammaincinv, gammaln

from kng.core.bits import Bits
from kng.core.quadratic import Vector

# base, slope, power
Factor = tuple[float, float, int]


def _powers(fixed: float, moving: float, power: int) -> Vector:
    """Return the coefficients of (fixed + moving x)^power."""
    i = np.arange(power + 1)
    return np.asarray(_binomials(power) * fixed ** (power - i) * moving**i)


@cache
def _binomials(power: int) -> Vector:
    return np.asarray(comb(power, np.arange(power + 1)))


@dataclass(frozen=True)
class Levels:
    """The mixture; one row of ``log_terms`` for each k, one column for each power of x."""

    rate: float  # c
    start: float
    log_terms: Vector
    powers: Vector
    kinds: Vector  # k of each term

    @classmethod
    def of(
        cls, rate: float, start: float, log_shares: Vector, factors: Sequence[Sequence[Factor]]
    ) -> Levels:
        """Expand the product for each k in powers of c x."""
        terms, powers, kinds = [], [], []
        for k, (log_share, several) in enumerate(zip(log_shares, factors, strict=True)):
            total, expanded = float(log_share), np.ones(1)
            for base, slope, power in several:
                fixed, moving = max(base + slope * start, 0.0), slope / rate
                size = max(fixed + moving, 1e-300)
                total += power * log(size)
                if slope and power:
                    expanded = np.convolve(expanded, _powers(fixed / size, moving / size, power))
            i = np.flatnonzero(expanded)
            terms.append(total + np.log(expanded[i]) + gammaln(i + 1) - rate * start)
            powers.append(i)
            kinds.append(np.full(len(i), k))
        return cls(
            rate,
            start,
            np.concatenate(terms),
            np.concatenate(powers).astype(np.float64),
            np.concatenate(kinds),
        )

    @property
    def log_mass(self) -> float:
        """Return the log of c times the integral."""
        return float(np.logaddexp.reduce(self.log_terms))

    def draw(self, bits: Bits, size: int) -> tuple[Vector, Vector]:
        """Return k and t: a term by its mass, then a gamma by inversion."""
        shares = np.cumsum(np.exp(self.log_terms - self.log_mass))
        term = np.searchsorted(shares[:-1], bits.uniforms(size) * shares[-1], side="right")
        x = gammaincinv(self.powers[term] + 1, bits.uniforms(size)) / self.rate
        return self.kinds[term], self.start + x
