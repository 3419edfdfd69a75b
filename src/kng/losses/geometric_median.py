"""The distance to a point, whose minimiser is the geometric median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, sqrt
from typing import ClassVar, Literal

from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts
from kng.core.plan import DensityPlan
from kng.core.privacy import Neighbours, ReplaceOne
from kng.core.protocols import EVERY, Norm, Sensitivity, Source
from kng.core.sensitivity import Constant
from kng.core.shapes import RoundShape
from kng.losses.fields.distances import STEPS, UNIT, Distances, Unchanged

_MOST = 8


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
        if norm.shape != RoundShape():
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
        return [Distances(source.collect(Unchanged(), EVERY), "gradient")] * len(plans)

    def read_value(self, source: Source, plans: Sequence[DensityPlan]) -> list[Distances]:
        """Read the records once, for all plans."""
        return [Distances(source.collect(Unchanged(), EVERY), "value")] * len(plans)


def _refuse_fine(records: Encoding) -> None:
    if len(records) > _MOST:
        raise IncompatibleParts(
            f"Distances are exact in up to {_MOST} columns, these are {len(records)}. Use fewer."
        )
    if max(records.last) >= STEPS:
        raise IncompatibleParts(
            "Distances are exact up to 2**25 steps along each column; give a larger granularity."
        )


__all__ = ["STEPS", "UNIT", "Distances", "GeometricMedian"]
