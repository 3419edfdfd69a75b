"""The declared shape of records: bounds, and guesses of where they lie between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Simulator
from kng.core.errors import SpecError
from kng.core.exact import positive
from kng.core.naming import argument

Array = NDArray[np.float64]

# Without a guess a column spreads so far over its range: nearly all of a normal one lies inside.
SIXTH = 1 / 6
_GRID = 4096
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Column:
    """A column that is normal around a centre and clipped to bounds, or uniform between them."""

    low: float
    high: float
    centre: float
    spread: float | None

    @property
    def points(self) -> Array:
        """Equally likely values, in order."""
        shares = (np.arange(_GRID) + 0.5) / _GRID
        return self.at(shares)

    def at(self, shares: Array) -> Array:
        """Return quantiles."""
        if self.spread is None:
            return np.asarray(self.low + (self.high - self.low) * shares)
        return np.clip(self.centre + self.spread * normal_quantile(shares), self.low, self.high)

    @property
    def mean(self) -> float:
        """The mean of clipped records."""
        return float(self.points.mean())

    @property
    def deviation(self) -> float:
        """The standard deviation of clipped records."""
        return float(self.points.std())

    def below(self, at: Array) -> Array:
        """Return the share of records up to each point between the bounds."""
        if self.spread is None:
            return np.clip((at - self.low) / (self.high - self.low), 0, 1)
        return np.where(at >= self.high, 1.0, normal_share((at - self.centre) / self.spread))

    def quantile(self, q: float) -> float:
        """Return a quantile."""
        return float(self.at(np.array([q]))[0])

    def density(self, at: float) -> float:
        """Return the density of records at a point inside the bounds."""
        if self.spread is None:
            return 1 / (self.high - self.low)
        return _NORMAL.pdf((at - self.centre) / self.spread) / self.spread

    def draw(self, rng: Simulator, n: int) -> Array:
        """Simulate records."""
        if self.spread is None:
            return rng.uniform(self.low, self.high, n)
        return np.clip(rng.normal(self.centre, self.spread, n), self.low, self.high)

    def described(self) -> str:
        """Say it in words."""
        if self.spread is None:
            return f"uniform between {self.low:g} and {self.high:g}"
        return f"normal around {self.centre:g} with standard deviation {self.spread:g}"


def columns_of(
    low: Sequence[Any], high: Sequence[Any], centre: Any, spread: Any, usual: float | None = SIXTH
) -> list[Column]:
    """Read guesses for columns: one number for all, one for each, or none.

    Without a spread a column is normal with ``usual`` times its range, or uniform for None.
    """
    width = len(low)
    ends = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    centres = _each(centre, "centre", width, [None] * width)
    usuals = [None if usual is None else usual * (b - a) for a, b in ends]
    spreads = _each(spread, "spread", width, usuals)
    found = []
    for (a, b), c, s in zip(ends, centres, spreads, strict=True):
        at = (a + b) / 2 if c is None else float(c)
        if not a <= at <= b:
            raise SpecError(
                f"{argument('centre')} must lie between the bounds {a:g} and {b:g}; got {at:g}."
            )
        found.append(Column(a, b, at, None if s is None else float(positive(s, "spread"))))
    return found


def _each(value: Any, name: str, width: int, usual: list[Any]) -> list[Any]:
    if value is None:
        return usual
    several = hasattr(value, "__len__") and not isinstance(value, str)
    listed = list(value) if several else [value] * width
    if len(listed) != width:
        raise SpecError(
            f"{argument(name)} must be one number, or one per column; there are {len(listed)} for "
            f"{width}."
        )
    for number in listed:
        if isinstance(number, bool) or not np.isfinite(_number(number, name)):
            raise SpecError(f"{argument(name)} must be a finite number, got {number!r}.")
    return listed


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise SpecError(f"{argument(name)} must be a number, got {value!r}.") from None


def normal_share(z: Array) -> Array:
    """Return the standard normal distribution function, for arrays."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z))


def normal_quantile(shares: Array) -> Array:
    """Return standard normal quantiles, for arrays."""
    from scipy.special import ndtri

    return np.asarray(ndtri(shares))
