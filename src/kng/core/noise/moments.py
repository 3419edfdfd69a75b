"""Noise on the sums that a variance is read off.

With y from -1 to 1 between the bounds, S = s + u, Q = q + v and, where the count is private,
M = n + w are released for s = sum y, q = sum y^2. The answer without noise is, in half ranges,

    V = (q - s^2 / n) / (n - ddof)

The length of (u, v, w) in the norm that it is drawn in is a Gamma(d) variable. So with at least the
level (u, v, w) lies in r K, r the quantile, and V lies between its least and its largest value at
(S, Q, M) - r K. These are found exactly, because a concave function of (s, q, n) is divided by a
positive linear one:

    the least      at a corner of  r K
    the largest    min over t of the largest  (q - 2 t s + t^2 n) / (n - ddof)  at a corner

since  q - s^2 / n = min over t of q - 2 t s + t^2 n.  Any t gives a bound. The same with n in place
of q holds as well, because q <= n. Where n may be as small as ddof the interval says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from kng.core.exact import as_float, as_stored
from kng.core.noise.interval import Ends, Kind, Released
from kng.core.noise.parabola import CHANGES, corners, dimension
from kng.core.noise.tails import Array, standard_quantile

# t is searched for in rounds of so many points, each around the best of the one before.
_ROUNDS, _POINTS = 6, 17
# More than what is lost to floats, as a share of a variance.
_OUT = 2.0**-48


@dataclass(frozen=True, slots=True)
class MomentNoise:
    """Noisy sums, and what they were drawn from.

    Attributes
    ----------
    parts : tuple of int
        Whole steps of sum y, sum y^2 and, where it is private, of the count.
    change : str
        What one record does: one of `kng.core.noise.parabola.CHANGES`.
    rate : Fraction
        The noise u has a density proportional to exp(-rate ||u||).
    last : int
        Steps between the bounds; those of the sums are 1 / last, 1 / last^2 and 1.
    records : int or None
        The public number of records; None where it is private.
    ddof : int
        What n is reduced by.
    half : Fraction
        Half the range, in the caller's units.
    """

    parts: tuple[int, ...]
    change: str
    rate: Fraction
    last: int
    records: int | None
    ddof: int
    half: Fraction
    form: ClassVar[str] = "moments"
    kind: ClassVar[Kind] = "exact"

    def fits(self, numbers: int) -> bool:
        """Whether it is about so many numbers."""
        wholes = (*self.parts, self.last, self.ddof)
        if numbers != 1 or self.change not in CHANGES or any(type(k) is not int for k in wholes):
            return False
        if self.change == "replaced":
            known = type(self.records) is int and self.records > self.ddof
        else:
            known = self.records is None
        sizes = self.rate > 0 and self.last > 0 and self.ddof >= 0 and self.half > 0
        same = len(self.parts) == dimension(self.change)
        return known and sizes and same and isfinite(as_float(self._most))

    @property
    def unit(self) -> str:
        """What the ends are measured in."""
        return "the units of the answer"

    @property
    def _most(self) -> Fraction:
        return self.half**2 * (self.ddof + 1)

    def ends(self, released: Released, level: float) -> Ends:
        """Return the interval of the variance, between 0 and the largest that there can be."""
        size = standard_quantile("radius", dimension(self.change), level)
        low, high = self.within(size * as_float(1 / self.rate))
        value = float(released.exact_value[0])
        return Ends((low,), (high,), (max(value - low, high - value, 0.0),))

    def within(self, radius: float) -> tuple[float, float]:
        """Return the least and the largest variance if no noise is longer than the radius."""
        first, second = Fraction(self.parts[0], self.last), Fraction(self.parts[1], self.last**2)
        number = Fraction(self.parts[2] if self.records is None else self.records)
        nothing = 0.0, as_float(self._most)
        if number <= self.ddof or not isfinite(as_float(abs(first) + abs(second) + number)):
            return nothing
        # From the noisy mean, so that no digits cancel.
        middle = Fraction(min(max(as_float(first / number), -1.0), 1.0))
        noise, t = self._noise(radius), float(middle)
        n = float(number) - noise[:, 2]
        if not np.isfinite(noise).all() or n.min() <= self.ddof:
            return nothing
        s = as_float(first - middle * number) - (noise[:, 0] - t * noise[:, 2])
        q = as_float(second - 2 * middle * first + middle**2 * number) - (
            noise[:, 1] - 2 * t * noise[:, 0] + t * t * noise[:, 2]
        )
        least = float(((q - s * (s / n)) / (n - self.ddof)).min())
        whole = (1 - t * t) * n - 2 * t * s
        most = min(_largest(q, s, n, self.ddof), _largest(whole, s, n, self.ddof))
        high = min(max(most, 0.0) * (1 + _OUT), self.ddof + 1.0)
        low = min(max(least, 0.0) * (1 - _OUT), high)
        return low * as_float(self.half**2), high * as_float(self.half**2)

    def _noise(self, radius: float) -> Array:
        """Return points whose hull holds the noise: r K, and what whole steps add to it."""
        found = radius * corners(self.change)
        steps = np.array([1 / self.last, 1 / self.last**2, 1.0])
        # Numbers of at most x in size are rounded by at most x.
        off = np.minimum(steps / 2, found.max(axis=0))
        moved = off * np.array(list(product([-1.0, 1.0], repeat=3)))
        return np.asarray((found[:, None] + moved).reshape(-1, 3))

    def to_mapping(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "form": self.form,
            "noisy": list(self.parts),
            "change": self.change,
            "rate": str(self.rate),
            "steps": self.last,
            "records": self.records,
            "ddof": self.ddof,
            "half_range": str(self.half),
        }

    @classmethod
    def from_mapping(cls, facts: Any) -> MomentNoise:
        """Read it from JSON."""
        rate, half = as_stored(facts["rate"]), as_stored(facts["half_range"])
        parts, n = tuple(facts["noisy"]), facts["records"]
        return cls(parts, facts["change"], rate, facts["steps"], n, facts["ddof"], half)


def _largest(q: Array, s: Array, n: Array, ddof: int) -> float:
    """Return the least over t of the largest (q - 2 t s + t^2 n) / (n - ddof), or a bit more."""
    low, high = float((s / n).min()), float((s / n).max())
    best = np.inf
    for _ in range(_ROUNDS):
        t = np.linspace(low, high, _POINTS)[:, None]
        found = ((q - t * (2 * s - t * n)) / (n - ddof)).max(axis=1)
        at, step = int(found.argmin()), (high - low) / (_POINTS - 1)
        best = min(best, float(found[at]))
        low, high = float(t[at, 0]) - step, float(t[at, 0]) + step
    return best
