"""Choices in proportion to floats, made in whole numbers: it is known how likely each one is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from kng.samplers.exact.walk_windows import Array, Mask, Whole

# Whole weights of a choice add up to about this.
_WHOLE = 2.0**60

# Picks one of several, given their running sums in whole numbers.
Choose = Callable[[Whole], int]


class Choices:
    """Several choices, and how likely all of them together are."""

    __slots__ = ("_choose", "_over", "_under")

    def __init__(self, choose: Choose) -> None:
        self._choose, self._over, self._under = choose, 1, 1

    @property
    def share(self) -> Fraction:
        """The probability of what was chosen."""
        return Fraction(self._over, self._under)

    def one_of(self, ways: int) -> None:
        """Note that one of so many ways is chosen elsewhere, each of them alike."""
        self._under *= ways

    def weighed(self, weights: Array) -> int:
        """Return an index, in proportion to weights."""
        return self._one(weights / weights.max(), weights > 0)

    def logarithmic(self, weights: Array) -> int:
        """Return an index, in proportion to exp(weights)."""
        return self._one(np.exp(weights - weights.max()), weights > -np.inf)

    def _one(self, scaled: Array, possible: Mask) -> int:
        """Return an index; each that is possible has its share of `_WHOLE`, rounded up."""
        whole = (scaled * (_WHOLE / scaled.sum())).astype(np.int64) + possible
        running = np.cumsum(whole)
        index = self._choose(running)
        self._over *= int(whole[index])
        self._under *= int(running[-1])
        return index
