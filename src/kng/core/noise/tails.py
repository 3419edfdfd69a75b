"""How likely one coordinate of K-norm noise is to be large.

With d coordinates and a rate c, in units of the ball's half width in that coordinate over c,

    laplace   whole steps k with probability proportional to exp(-a |k|):   sum norms, or d = 1
    box       |u| = R |V|,  R ~ Gamma(d + 1), V uniform in [-1, 1]:         sup norms
              P(|u| > x) = Q(d + 1, x) - (x / d) Q(d, x)
    exchange  whole steps in the norm `Exchange`: `kng.core.noise.exchange`
    round     |u| = R |S|,  R ~ Gamma(d), S a coordinate of a uniform unit vector:  l2
    radius    |u| <= ||u||_K ~ Gamma(d),  P(|u| > x) <= Q(d, x):            any other norm

where Q(d, x) = exp(-x) sum_{i < d} x^i / i!. The last is a bound, the others are the laws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, lgamma, log, log1p, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import SpecError
from kng.core.exact import as_float, as_stored
from kng.core.noise.exchange import MOST, exchange_steps

Array = NDArray[np.float64]

# Laws by name, as receipts have them. "hull" is that of a sum beside a count: `ratio`.
LAWS = ("laplace", "exchange", "box", "round", "radius", "hull")
_WHOLE = ("laplace", "exchange")
_NODES = 96
# Quantiles are rounded up by this share at most; the error of sums and quadratures is far smaller.
_UP = 1e-6
# Rates below which whole steps are not counted.
_FINE = 1e-9


@dataclass(frozen=True, slots=True)
class Tail:
    """The law of one coordinate of noise, in the units of what it is added to.

    Attributes
    ----------
    law : str
        One of `LAWS`.
    scale : Fraction
        Half width of the norm's ball in this coordinate, over the rate.
    step : Fraction
        Noise is a whole number of these.
    dim : int
        Coordinates that were drawn together.
    """

    law: str
    scale: Fraction
    step: Fraction
    dim: int

    def __post_init__(self) -> None:
        sizes = self.law in LAWS and self.scale > 0 and self.step > 0
        most = MOST if self.law == "exchange" else 2**20
        if not sizes or type(self.dim) is not int or not 0 < self.dim <= most:
            raise SpecError("this release holds noise of a law that is none of ours.")

    def times(self, factor: Fraction) -> Tail:
        """Return the law of the noise times a number."""
        return Tail(self.law, factor * self.scale, factor * self.step, self.dim)

    @property
    def rounding(self) -> float:
        """How far whole steps are from the law on real numbers, at most; some are discrete."""
        return 0.0 if self.law in _WHOLE else as_float(self.step) / 2

    def within(self, level: float) -> float:
        """Return the least m with P(|noise| <= m) >= level, or a number not below it."""
        if self.law == "laplace":
            rate = float(self.step / self.scale)
            if rate < _FINE:  # as good as a law on real numbers, which is never below it
                return as_float(self.scale) * log(1 / (1 - level)) * (1 + _FINE)
            return float(self.step) * laplace_steps(rate, level)
        if self.law == "exchange":
            rate = float(self.step / self.scale)
            return float(self.step) * exchange_steps(self.dim, rate, level)
        return as_float(self.scale) * standard_quantile(self.law, self.dim, level) + self.rounding

    @property
    def deviation(self) -> float:
        """The standard deviation, or a bound on it; before rounding."""
        d = self.dim
        square = {"laplace": 2.0, "box": (d + 1) * (d + 2) / 3, "round": d + 1.0}
        return as_float(self.scale) * sqrt(square.get(self.law, d * (d + 1.0)))

    def to_mapping(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        scale, step = str(self.scale), str(self.step)
        return {"law": self.law, "scale": scale, "step": step, "coordinates": self.dim}

    @classmethod
    def from_mapping(cls, facts: Any) -> Tail:
        """Read it from JSON."""
        sizes = as_stored(facts["scale"]), as_stored(facts["step"])
        return cls(facts["law"], *sizes, facts["coordinates"])


def laplace_steps(rate: float, level: float) -> int:
    """Return the least k with P(|K| <= k) >= level, K with weights exp(-rate |k|).

    P(|K| > k) = 2 exp(-rate (k + 1)) / (1 + exp(-rate))
    """
    least = log(2 / (1 - level)) - log1p(exp(-rate))
    return max(0, ceil(least / rate * (1 - 1e-12)) - 1)


def upper_gamma(shape: int, x: Any) -> Array:
    """Return Q(shape, x), the chance that a Gamma variable of whole shape exceeds x >= 0."""
    at = np.asarray(x, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        logs = np.log(at)
        terms = sum((np.exp(i * logs - at - lgamma(i + 1)) for i in range(1, shape)), np.exp(-at))
    return np.asarray(np.where(np.isinf(at), 0.0, np.where(at == 0, 1.0, np.minimum(terms, 1.0))))


def least_with(tail: Callable[[float], float], chance: float) -> float:
    """Return the least x whose tail is at most a chance, rounded up; the tail falls."""
    high = 1.0
    while tail(high) > chance:
        high *= 2
    low = 0.0
    while high - low > _UP * high:
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= chance else (middle, high)
    return high


@lru_cache(maxsize=256)
def standard_quantile(law: str, dim: int, level: float) -> float:
    """Return the quantile of |u| in units of the scale."""
    tails: dict[str, Callable[[float], float]] = {
        "box": lambda x: box_tail(dim, x),
        "round": lambda x: _round_tail(dim, x),
    }
    tail = tails.get(law, lambda x: float(upper_gamma(dim, x)))
    return least_with(tail, 1 - level)


def box_tail(dim: int, x: float) -> float:
    """Return P(R |V| > x), R ~ Gamma(d + 1), V uniform in [-1, 1]."""
    return float(upper_gamma(dim + 1, x) - x / dim * upper_gamma(dim, x))


def _round_tail(dim: int, x: float) -> float:
    """Return P(R |S| > x): S = sin(phi), phi with density proportional to cos(phi)^(d - 2)."""
    if dim == 1:
        return exp(-x)
    nodes, weights = gauss(0.0, pi / 2)
    density = np.cos(nodes) ** (dim - 2) * weights
    return float((density * upper_gamma(dim, x / np.sin(nodes))).sum() / density.sum())


def gauss(low: float, high: float) -> tuple[Array, Array]:
    """Return nodes and weights of a quadrature between two ends."""
    nodes, weights = _gauss()
    return (high - low) / 2 * nodes + (low + high) / 2, (high - low) / 2 * weights


@lru_cache(maxsize=1)
def _gauss() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(_NODES)
