"""Boxes of theta: where each coordinate lies, and how far linear terms reach over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.covering import Leaning

Array = NDArray[np.float64]
# Products of factors below this may have lost what large terms would show.
_SMALL = 2.0**-900
# A number for each coordinate of theta in lattice steps; None where it is 0.
Terms = tuple[Array | None, ...]


@dataclass(frozen=True, slots=True)
class Boxes:
    """Rows of boxes around ``centre``, in lattice steps; with ``lean`` also within a sheared one.

    Points of a sheared box are  centre + V xi + f  with  |xi_j| <= half_j,  |f_j| <= slack_j.
    """

    centre: Array
    low: Array
    high: Array
    half: Array
    slack: Array | None = None
    shear: Array | None = None

    @classmethod
    def upright(cls, centre: Array, half: Array) -> Boxes:
        """Return boxes along the axes."""
        return cls(centre, centre - half, centre + half, half)

    @classmethod
    def leaning(cls, centre: Array, half: Array, lean: Leaning) -> Boxes:
        """Return sheared boxes within boxes along the axes."""
        sides = lean.sides() * (1 + 2.0**-48)
        low = np.maximum(centre - half, lean.centre - sides)
        high = np.minimum(centre + half, lean.centre + sides)
        return cls(lean.centre, low, np.maximum(low, high), lean.half, lean.slack, lean.shear)

    def rows(self, some: slice) -> Boxes:
        """Return some of the boxes."""
        slack = None if self.slack is None else self.slack[some]
        ends = self.low[some], self.high[some]
        return Boxes(self.centre[some], *ends, self.half[some], slack, self.shear)

    def reach(self, terms: Terms) -> Array | float:
        """Return how far  sum_j term_j delta_j  moves over each box, at most."""
        if self.shear is None or self.slack is None:
            return _total([_size(s, self.half, j) for j, s in enumerate(terms)])
        parts = [_size(s, self.slack, j) for j, s in enumerate(terms)]
        for k in range(len(terms)):
            turned = _total(
                [
                    None if s is None or not self.shear[j, k] else s * self.shear[j, k]
                    for j, s in enumerate(terms)
                ]
            )
            parts.append(None if isinstance(turned, float) else _size(turned, self.half, k))
        return _total(parts)


@dataclass(frozen=True, slots=True)
class Slopes:
    """Slopes along each coordinate: one factor times terms whose reach over the boxes is known.

    Most operations change the factor alone: a function of x'theta has the slopes of x'theta times
    its own.
    """

    terms: Terms
    reach: Array | float
    factor: Array | None = None

    @classmethod
    def none(cls, boxes: Boxes) -> Slopes:
        """Return no slope along any coordinate."""
        return cls((None,) * boxes.centre.shape[1], 0.0)

    @property
    def size(self) -> Array | float:
        """How far they move a number over each box, at most."""
        return self.reach if self.factor is None else np.abs(self.factor) * self.reach

    def times(self, factor: Array) -> Slopes:
        """Return them times a number; a factor that would vanish goes into the terms."""
        if self.factor is None:
            return Slopes(self.terms, self.reach, factor)
        both = self.factor * factor
        if ((np.abs(both) < _SMALL) & (self.factor != 0) & (factor != 0)).any():
            return Slopes(self.written(), self.size, factor)
        return Slopes(self.terms, self.reach, both)

    def plus(self, other: Slopes, boxes: Boxes) -> Slopes:
        """Return the sum with others."""
        if not other.any:
            return self
        if not self.any:
            return other
        if self.terms is other.terms:
            return Slopes(self.terms, self.reach, self._factor() + other._factor())
        pairs = zip(self.written(), other.written(), strict=True)
        terms = tuple(b if a is None else a if b is None else a + b for a, b in pairs)
        return Slopes(terms, boxes.reach(terms))

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return any(term is not None for term in self.terms)

    def written(self) -> Terms:
        """Return the slope along each coordinate."""
        if self.factor is None:
            return self.terms
        return tuple(None if term is None else self.factor * term for term in self.terms)

    def _factor(self) -> Array:
        return np.ones((1, 1)) if self.factor is None else self.factor


def _size(slope: Array | None, lengths: Array, j: int) -> Array | None:
    return None if slope is None else np.abs(slope) * lengths[:, j : j + 1]


def _total(terms: Sequence[Array | None]) -> Array | float:
    found: Array | float = 0.0
    for term in terms:
        if term is not None:
            found = term if isinstance(found, float) else found + term
    return found
