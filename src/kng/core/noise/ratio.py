"""Noise on a sum and on the count that it is divided by (Fieller).

Both noisy parts are released, S = s + u and M = m + v. The mean mu = s / m satisfies

    S - mu M = u - mu v

whose law is known for each mu. So mu is one of those with  |S - mu M| <= q(mu),  where q(mu) is the
quantile of |u - mu v|. Given v, u is symmetric and falls from 0, so q grows with |mu|, and the set
lies in what is left when the following is done until nothing more is cut off:

    m = the largest |mu| that is left;    keep the mu with  |S - mu M| <= q(m)

Sums are taken from the middle of the bounds, so |mu| is at most half the range. Without any record
there is no mean, and the interval says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import Any, ClassVar

import numpy as np

from kng.core.exact import as_float, as_stored
from kng.core.noise.interval import Ends, Kind, Released
from kng.core.noise.tails import Array, Tail, gauss, least_with, upper_gamma

# What is left holds the set after each round; these end where little more would be cut off.
_ROUNDS, _LITTLE = 50, 1e-2


@dataclass(frozen=True, slots=True)
class RatioNoise:
    """Noisy sums, the noisy count, and their laws; the last coordinate is the count.

    ``parts`` are whole steps of the coordinates, ``middles`` are where sums are taken from and
    ``reach`` how far a mean can be from there.
    """

    parts: tuple[int, ...]
    tails: tuple[Tail, ...]
    middles: tuple[Fraction, ...]
    reach: tuple[Fraction, ...]
    form: ClassVar[str] = "ratio"
    kind: ClassVar[Kind] = "exact"

    def fits(self, numbers: int) -> bool:
        """Whether it is about so many numbers."""
        sizes = {len(self.parts), len(self.tails), len(self.middles) + 1, len(self.reach) + 1}
        laws = {tail.law for tail in self.tails}
        same = len(laws) == 1 and len({tail.dim for tail in self.tails}) == 1
        known = not any(isinf(as_float(v)) for v in (*self.middles, *self.reach))
        return sizes == {numbers + 1} and same and known and all(r >= 0 for r in self.reach)

    @property
    def unit(self) -> str:
        """What the ends are measured in."""
        return "the units of the answer"

    def ends(self, released: Released, level: float) -> Ends:
        """Return the interval of each mean, within the bounds."""
        found = [self._between(j, level) for j in range(len(self.middles))]
        low, high = (tuple(side) for side in zip(*found, strict=True))
        sides = zip(low, high, map(float, released.exact_value), strict=True)
        return Ends(low, high, tuple(max(v - a, b - v, 0.0) for a, b, v in sides))

    def _between(self, j: int, level: float) -> tuple[float, float]:
        # In units of the reach, so that bounds of any size have numbers of ordinary size.
        unit = self.reach[j] or Fraction(1)
        noise, count = self.tails[j].times(1 / unit), self.tails[-1]
        total = as_float(self.parts[j] * noise.step)
        number = as_float(self.parts[-1] * count.step)
        high = 1.0 if self.reach[j] else 0.0
        low, middle, size = -high, float(self.middles[j]), float(unit)
        for _ in range(_ROUNDS):
            q = _quantile(noise, count, max(-low, high), level)
            ends = solved(total, number, q)
            cut = max(low, ends[0]), min(high, ends[1])
            if cut[0] > cut[1]:  # nothing fits: noise was larger than the level allows for
                nearest = min(max(total / number if number else 0.0, low), high)
                return middle + size * nearest, middle + size * nearest
            done = (high - low) - (cut[1] - cut[0]) <= _LITTLE * (high - low)
            low, high = cut
            if done:
                break
        return middle + size * low, middle + size * high

    def to_mapping(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "form": self.form,
            "noisy": list(self.parts),
            "coordinates": [tail.to_mapping() for tail in self.tails],
            "middles": [str(m) for m in self.middles],
            "reach": [str(r) for r in self.reach],
        }

    @classmethod
    def from_mapping(cls, facts: Any) -> RatioNoise:
        """Read it from JSON."""
        if not all(type(part) is int for part in facts["noisy"]):
            raise ValueError("parts are whole numbers")
        tails = tuple(Tail.from_mapping(tail) for tail in facts["coordinates"])
        middles = tuple(as_stored(m) for m in facts["middles"])
        reach = tuple(as_stored(r) for r in facts["reach"])
        return cls(tuple(facts["noisy"]), tails, middles, reach)


def solved(total: float, number: float, q: float) -> tuple[float, float]:
    """Return the ends of all mu with |total - mu number| <= q; of two rays, everything between."""
    if number == 0:
        return (-np.inf, np.inf) if abs(total) <= q else (np.inf, -np.inf)
    ends = sorted(((total - q) / number, (total + q) / number))
    return ends[0], ends[1]


def _quantile(noise: Tail, count: Tail, mu: float, level: float) -> float:
    """Return a quantile of |u - mu v|, or a number not below it; mu >= 0."""
    rounding = noise.rounding + mu * count.rounding
    size, b = as_float(noise.scale), mu * as_float(count.scale / noise.scale)
    if noise.law == "box":
        t = least_with(lambda t: box_sum_tail(noise.dim, 1.0, b, t), 1 - level)
        return size * t + rounding
    if noise.law == "hull":
        t = least_with(lambda t: hull_sum_tail(noise.dim, 1.0, b, t), 1 - level)
        return size * t + rounding
    # Either of both is beyond its own quantile at half the chance.
    half = (1 + level) / 2
    return noise.within(half) + mu * count.within(half)


def box_sum_tail(dim: int, a: float, b: float, t: float) -> float:
    """Return P(R |a V + b W| > t): V, W uniform in [-1, 1], R ~ Gamma(d + 1).

    With a >= b the density of |a V + b W| is 1 / a up to a - b and falls to 0 at a + b.
    """
    a, b = max(a, b), min(a, b)
    nodes, weights = gauss(0.0, a - b)
    flat = float((weights * upper_gamma(dim + 1, _over(t, nodes))).sum()) / a if a > b else 0.0
    if b < 1e-12 * a:
        return flat
    nodes, weights = gauss(a - b, a + b)
    falling = (a + b - nodes) / (2 * a * b) * weights
    return flat + float((falling * upper_gamma(dim + 1, _over(t, nodes))).sum())


def hull_sum_tail(dim: int, a: float, b: float, t: float) -> float:
    """Return P(R |a s + b c| > t) for (s, c) in the ball  |c| <= 1, |s_j| <= 2 - |c|.

    That ball holds what one record does to sums and count if it may be absent. c has a density
    proportional to (2 - |c|)^(d - 1), s is uniform given c, R ~ Gamma(d + 1).
    """
    c, weights = gauss(0.0, 1.0)
    side, share = gauss(-1.0, 1.0)
    density = weights * (2 - c) ** (dim - 1)
    size = np.abs(a * (2 - c)[:, None] * side + (b * c)[:, None])
    tails = (upper_gamma(dim + 1, _over(t, size)) * share / 2).sum(axis=1)
    return float((density * tails).sum() / density.sum())


def _over(t: float, sizes: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(sizes > 0, t / sizes, np.inf))
