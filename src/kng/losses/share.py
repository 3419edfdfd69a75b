"""A proportion by two counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kng.core.bodies import Body
from kng.core.parts import Point
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import Source
from kng.losses.location_sum import counted
from kng.losses.tally import Tally

_BOTH = Tally(2)


@dataclass(frozen=True, slots=True)
class Share:
    """The share of the first of two counts, of yes and of no.

        number of present records public     yes / n
        private                              yes / (yes + no)

    Both counts are drawn together, in the norm that fits what one record can do to them.

    Paper    Section 4.1, the remark on location families.
    Privacy  That of the counts. docs/proofs/losses/tally.md.
    Cost     One pass.
    """

    @property
    def dim(self) -> int:
        """One share."""
        return 1

    def body(self, unit: PrivacyUnit) -> Body:
        """Return what a record adds to the counts."""
        return _BOTH.body(unit)

    def steps(self, unit: PrivacyUnit) -> tuple[Fraction, ...]:
        """Return 1 for each count."""
        return _BOTH.steps(unit)

    def read(self, source: Source, unit: PrivacyUnit) -> Point:
        """Return the counts; below the charge."""
        return _BOTH.read(source, unit)

    def minimiser(self, total: Point, problem: Problem) -> tuple[Fraction, ...]:
        """Return the share that noisy counts stand for, between 0 and 1."""
        unit, yes = problem.unit, total[0]
        if not counted(unit):
            assert isinstance(unit.neighbours, ReplaceOne)
            n = unit.neighbours.n
        else:
            neighbours = unit.neighbours
            most = neighbours.n if isinstance(neighbours, ReplaceOne) else neighbours.n_max
            n = min(max(sum(total), 1), most)
        return (Fraction(min(max(yes, 0), n), n),)
