"""The sum of a column: what one record does to it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from kng.core.bodies import Body, Cuboid, Hull
from kng.core.encoding import Encoding
from kng.core.parts import Point
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import Source
from kng.losses.location_sum import counted


@dataclass(frozen=True, slots=True)
class ColumnTotal:
    """The sum of one column.

        number of present records public     sum of x - low,   to which n low is added afterwards
        private                              sum of x

    A record's part lies in [0, high - low], or in [low, high]: Delta is the range where a record is
    replaced, the farther bound where it is added or removed, and the larger of both where a
    replaced record may be absent.

    Paper    Section 4.1, the remark on location families.
    Privacy  docs/proofs/losses/column_total.md.
    Cost     One pass.
    """

    records: Encoding

    @property
    def dim(self) -> int:
        """One sum."""
        return 1

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return "ColumnTotal()"

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest number that a record is read as."""
        low, step, last = self.records.bounds.low[0], self.records.step[0], self.records.last[0]
        return low, low + step * last

    def body(self, unit: PrivacyUnit) -> Body:
        """Return what holds the part of any record."""
        low, high = self.ends
        if not counted(unit):
            low, high = Fraction(0), high - low
        return Hull((Cuboid((low,), (high,)),))

    def steps(self, unit: PrivacyUnit) -> tuple[Fraction, ...]:
        """Return the step of the sum: that of the column, or what divides its low bound as well."""
        low, step = self.records.bounds.low[0], self.records.step[0]
        if not counted(unit):
            return (step,)
        whole = lcm(low.denominator, step.denominator)
        return (Fraction(gcd(int(low * whole), int(step * whole)), whole),)

    def read(self, source: Source, unit: PrivacyUnit) -> Point:
        """Return the sum in whole steps; below the charge."""
        n, (total,) = source.sums()
        if not counted(unit):
            return (total,)
        (unit_step,) = self.steps(unit)
        low, step = self.records.bounds.low[0], self.records.step[0]
        return (int(low / unit_step) * n + int(step / unit_step) * total,)

    def minimiser(self, total: Point, problem: Problem) -> tuple[Fraction, ...]:
        """Return the sum in the caller's units."""
        unit, (low, _) = problem.unit, self.ends
        start = Fraction(0)
        if not counted(unit):
            assert isinstance(unit.neighbours, ReplaceOne)
            start = unit.neighbours.n * low
        return (start + self.steps(unit)[0] * total[0],)

    def between(self, most: int, unit: PrivacyUnit) -> tuple[Fraction, Fraction]:
        """Return between which numbers a sum of at most so many records lies."""
        low, high = self.ends
        ends = most * low, most * high
        return ends if not counted(unit) else (min(ends[0], Fraction(0)), max(ends[1], Fraction(0)))
