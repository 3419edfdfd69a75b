"""The distance to a point, whose minimiser is the geometric median."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isqrt, sqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.boxes.covering import Covering
from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts
from kng.core.plan import DensityPlan
from kng.core.privacy import Neighbours, ReplaceOne
from kng.core.protocols import EVERY, Integers, Norm, PlaneDomain, Point, Sensitivity, Source
from kng.core.sensitivity import Constant

# With coordinates below 2**25 the squared distance in up to eight coordinates is a whole number
# below 2**53, which float64 adds exactly; with unit vectors in steps of 2**-25 a truncated one
# cannot be longer than 1, rounding of the root and the quotient included.
STEPS = 2**25
UNIT = 2**25
_MOST = 8
# Records whose temporaries stay in the processor's cache.
_BLOCK = 2**14


@dataclass(frozen=True, slots=True)
class GeometricMedian:
    """Sum of Euclidean distances to theta; minimised by the geometric median.

        l(theta; x) = ||theta - x||,      gradient = (theta - x) / ||theta - x||

    At theta = x the subgradients are the whole unit ball. The score is the distance of 0 to the sum
    of all sets: max(0, ||sum of unit vectors|| - number of records at theta). All coordinates have
    the same step.

    Paper    Section 4.4, with a score at every lattice point; docs/paper-map.md.
    Privacy  2 under replace-one and 1 under add-remove, in the l2 norm, whose ball is what unit
             vectors span. docs/proofs/losses/geometric_median.md.
    Cost     One pass; the records are kept.
    """

    shape: ClassVar[Literal["distance", "huber"]] = "distance"
    noun: ClassVar[str] = "columns"
    remedy: ClassVar[str] = "fewer"
    slow_from: ClassVar[int] = 5

    def gradient_sensitivity(
        self, norm: Norm, records: Encoding, neighbours: Neighbours
    ) -> Sensitivity:
        """Return how far one record moves the score: its ball of unit vectors has radius 1."""
        one = Fraction(1)
        if norm.value((3 * one, 4 * one)) != 5:
            raise IncompatibleParts("The geometric median is measured in norms.L2; use that.")
        _refuse_fine(records)
        return Constant(2 * one if isinstance(neighbours, ReplaceOne) else one)

    def value_sensitivity(self, records: Encoding, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002
        """Return the largest distance; distances are >= 0 and reach 0."""
        _refuse_fine(records)
        return Constant(Fraction(floor(sqrt(sum(k * k for k in records.last)))))

    def prepare_covers(self) -> None:
        """Load what covers need, before anything is charged."""
        from kng.losses.enclosures.smooth_cover import load_smooth

        load_smooth()

    def read_gradient(self, source: Source, plans: Sequence[DensityPlan]) -> list[Distances]:
        """Read the records once, for all plans."""
        return [Distances(source.collect(Rows(), EVERY), "gradient")] * len(plans)

    def read_value(self, source: Source, plans: Sequence[DensityPlan]) -> list[Distances]:
        """Read the records once, for all plans."""
        return [Distances(source.collect(Rows(), EVERY), "value")] * len(plans)


@dataclass(frozen=True, slots=True)
class Rows:
    """Keep the records as they are."""

    def select(self, batch: Integers) -> Integers:
        """Return all of them, point after point."""
        return np.ascontiguousarray(batch)


@dataclass(frozen=True, slots=True)
class Distances:
    """Records as points, and what is weighed of them; a `kng.core.protocols.CurvedField`.

        gradient   || sum trunc( UNIT (theta - x) / r ) || / UNIT - #{r = 0},  not below 0
        value      sum floor(r),              r = ||theta - x|| in whole steps

    The norm is rounded up to a multiple of 2**-89; steps of 1 survive that exactly.
    """

    rows: NDArray[np.float64]
    weighed: Literal["gradient", "value"]
    unit: ClassVar[Fraction] = Fraction(1)
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

    def covers(self, domain: PlaneDomain, rate: Fraction) -> Sequence[Covering]:
        """Return a cover by expansions of the gradient, whose boxes lean as the loss does."""
        from kng.losses.enclosures.smooth_cover import SmoothCover, shear_of

        return [SmoothCover(domain, self, rate, shear_of)]

    def later_covers(self, domain: PlaneDomain, rate: Fraction) -> Sequence[Callable[[], Covering]]:
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
            return Fraction(value)
        square = sum(int(v) ** 2 for v in np.atleast_1d(total))
        length = Fraction(1 + isqrt((square << 128) - 1), UNIT << 64) if square else Fraction(0)
        return max(length - here, Fraction(0))


def _refuse_fine(records: Encoding) -> None:
    if len(records) > _MOST:
        raise IncompatibleParts(
            f"Distances are exact in up to {_MOST} columns, these are {len(records)}. Use fewer."
        )
    if max(records.last) >= STEPS:
        raise IncompatibleParts(
            "Distances are exact up to 2**25 steps along each column; give a larger granularity."
        )
