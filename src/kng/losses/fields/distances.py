"""Records as points, measured in the l2 norm: the distance of 0 to all subgradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.boxes.covering import Covering
from kng.core.parts import Point, Walled
from kng.core.records import Integers

# With coordinates below 2**25 the squared distance in up to eight coordinates is a whole number
# below 2**53, which float64 adds exactly; with unit vectors in steps of 2**-25 a truncated one
# cannot be longer than 1, rounding of the root and the quotient included.
STEPS = 2**25
UNIT = 2**25
# Records whose temporaries stay in the processor's cache.
_BLOCK = 2**14


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Keep the records as they are."""

    def select(self, batch: Integers) -> Integers:
        """Return all of them, point after point."""
        return np.ascontiguousarray(batch)


@dataclass(frozen=True, slots=True)
class Distances:
    """Records as points, and what is weighed of them; a `CurvedField` of the enclosures.

        gradient   || sum trunc( UNIT (theta - x) / r ) || / UNIT - #{r = 0},  not below 0
        value      sum floor(r),              r = ||theta - x|| in whole steps

    The norm is rounded up to a multiple of 2**-89; steps of 1 survive that exactly.
    """

    rows: NDArray[np.float64]
    weighed: Literal["gradient", "value"]
    # What a whole step of a distance is worth in the score; unit vectors have no unit.
    unit: Fraction = Fraction(1)
    grain: ClassVar[float] = 1.0
    shape: ClassVar[Literal["distance", "huber"]] = "distance"

    @property
    def response(self) -> NDArray[np.float64]:
        """A point has none."""
        return np.empty(0)

    @property
    def bend(self) -> float:
        """Distances have no threshold."""
        return 0.0

    @property
    def most(self) -> float:
        """No unit vector is longer than 1."""
        return float(len(self.rows))

    def guess(self, every: int) -> NDArray[np.float64]:
        """Return the median of each column, then a few steps of Weiszfeld's weighted means."""
        part = self.rows[::every]
        point = np.median(part, axis=0)
        for _ in range(20):
            root = np.sqrt(((part - point) ** 2).sum(axis=1))
            apart = root > 0
            pull = ((part - point)[apart] / root[apart, None]).sum(axis=0)
            if np.sqrt((pull * pull).sum()) <= np.count_nonzero(~apart):
                break
            point = point + pull / (1 / root[apart]).sum()
        return np.asarray(point)

    def shifted(self, bits: Bits) -> Distances:  # noqa: ARG002
        """Return the records as they are; ties need no shift."""
        return self

    def covers(self, domain: Walled, rate: Fraction) -> Sequence[Covering]:
        """Return a cover by expansions of the gradient, whose boxes lean as the loss does."""
        from kng.losses.enclosures.smooth_cover import SmoothCover, shear_of

        return [SmoothCover(domain, self, rate, shear_of)]

    def later_covers(self, domain: Walled, rate: Fraction) -> Sequence[Callable[[], Covering]]:
        """Return one with a better bound beside many records, for which they are read twice."""
        from kng.losses.enclosures.smooth_cover import SmoothCover, shear_of

        return [lambda: SmoothCover(domain, self, rate, shear_of, 1.0)]

    def score(self, theta: Point) -> Fraction:
        """Return the score at one lattice point, from all records."""
        centre, total, value, here = np.array([float(k) for k in theta]), 0.0, 0, 0
        for at in range(0, len(self.rows), _BLOCK):
            away = centre - self.rows[at : at + _BLOCK]
            root = np.sqrt((away * away).sum(axis=1))
            value += int(np.floor(root).sum())
            apart = root > 0
            here += int(np.count_nonzero(~apart))
            total = total + np.trunc(away[apart] / root[apart, None] * UNIT).sum(axis=0)
        if self.weighed == "value":
            return value * self.unit
        square = sum(int(v) ** 2 for v in np.atleast_1d(total))
        length = Fraction(1 + isqrt((square << 128) - 1), UNIT << 64) if square else Fraction(0)
        return max(length - here, Fraction(0))
