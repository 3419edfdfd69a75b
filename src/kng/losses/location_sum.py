"""Means by their sums: what one record does to them, and the mean that a noisy sum stands for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kng.core.bodies import Body, Cuboid, Hull, Spread
from kng.core.encoding import Encoding
from kng.core.parts import Norm, Point
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import Source


@dataclass(frozen=True, slots=True)
class LocationSum:
    """The sum of records, whose mean minimises the squared loss.

        number of records public    sum of x - low
        private                     sum of x - middle, and the number of records

    With a private number the sums are taken from the middle of the bounds, so that one record moves
    (sums, count) by at most (half widths, 1); the count costs nothing in a sup norm.

    Paper    Section 4.1, the remark on location families.
    Privacy  docs/proofs/mechanisms/knorm.md.
    Cost     One pass.
    """

    records: Encoding

    def body(self, unit: PrivacyUnit) -> Body:
        """Return what holds the part of any record in the sum, in the caller's units."""
        ranges = tuple(s * k for s, k in zip(self.records.step, self.records.last, strict=True))
        if not counted(unit):
            zero = (Fraction(0),) * len(ranges)
            return Spread(Cuboid(zero, ranges), Cuboid(tuple(-w for w in ranges), ranges))
        half, one = tuple(width / 2 for width in ranges), Fraction(1)
        return Hull((Cuboid((*(-w for w in half), one), (*half, one)),))

    def steps(self, unit: PrivacyUnit) -> tuple[Fraction, ...]:
        """Return the size of one whole step of each coordinate of the sum."""
        if not counted(unit):
            return self.records.step
        return (*(step / 2 for step in self.records.step), Fraction(1))

    def read(self, source: Source, unit: PrivacyUnit, norm: Norm) -> SumField:
        """Return the sum of the records in whole steps, centred and counted if n is private."""
        n, sums = source.sums()
        total = sums
        if counted(unit):
            total = (*(2 * s - n * k for s, k in zip(sums, self.records.last, strict=True)), n)
        return SumField(total, n, sums, self.records.step, norm)

    def minimiser(self, total: Point, problem: Problem) -> tuple[Fraction, ...]:
        """Return the mean that a sum stands for, in the caller's units."""
        records, neighbours = self.records, problem.unit.neighbours
        low, steps = records.bounds.low, self.steps(problem.unit)
        if counted(problem.unit):
            *sums, noisy = total
            most = neighbours.n if isinstance(neighbours, ReplaceOne) else neighbours.n_max
            n = min(max(noisy, 1), most)
            middle = [
                a + s * k / 2 for a, s, k in zip(low, records.step, records.last, strict=True)
            ]
            return tuple(m + h * s / n for m, h, s in zip(middle, steps, sums, strict=False))
        assert isinstance(neighbours, ReplaceOne)
        return tuple(a + h * s / neighbours.n for a, h, s in zip(low, steps, total, strict=True))


def counted(unit: PrivacyUnit) -> bool:
    """Whether the number of records that are present is private."""
    return not isinstance(unit.neighbours, ReplaceOne) or unit.presence == "optional"


@dataclass(frozen=True, slots=True)
class SumField:
    """A sum in whole steps, and the gradient that it makes: n theta - sum of x."""

    total: Point
    n: int
    sums: Point
    step: tuple[Fraction, ...]
    norm: Norm

    def score(self, theta: Point) -> Fraction:
        """Return the norm of the gradient at a lattice point of the records."""
        both = zip(theta, self.sums, self.step, strict=True)
        return self.norm.value([h * (self.n * k - s) for k, s, h in both])
