"""Counts of records in bins: what one record does to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kng.core.bodies import Body, Gauged, Piece
from kng.core.parts import Point
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import Integers, Source
from kng.core.shapes import ExchangeShape, SumShape
from kng.losses.location_sum import counted


@dataclass(frozen=True, slots=True)
class Tally:
    """How many records are in each of ``bins`` bins; a record is in one of them, or absent.

        number of present records public     counts of all bins but the last, which is the rest
        private                              counts of all bins

    A record in bin j adds e_j, one in the last bin of a public number adds nothing. Coded records
    are whole numbers from 0 on; numbers from ``bins`` on are absent.

    Paper    Section 4.1, the remark on location families.
    Privacy  Changes are e_i - e_j and +-e_i, or +-e_i alone if records are added or removed; Delta
             is 1 in the norm whose ball is their hull. docs/proofs/losses/tally.md.
    Cost     One pass.
    """

    bins: int

    @property
    def dim(self) -> int:
        """One number for each bin."""
        return self.bins

    def body(self, unit: PrivacyUnit) -> Body:
        """Return the hull of what a record adds to the counts that are drawn."""
        one, drawn = Fraction(1), self.drawn(unit)
        if isinstance(unit.neighbours, ReplaceOne):
            return Exchanged(Gauged(ExchangeShape(), one, drawn))
        return Exchanged(Gauged(SumShape(), one, drawn))

    def drawn(self, unit: PrivacyUnit) -> int:
        """Return how many counts get noise."""
        return self.bins - (not counted(unit))

    def steps(self, unit: PrivacyUnit) -> tuple[Fraction, ...]:
        """Return 1 for each count."""
        return (Fraction(1),) * self.drawn(unit)

    def read(self, source: Source, unit: PrivacyUnit) -> Point:
        """Return the counts; below the charge."""
        return source.reduce(Bins(self.bins))[: self.drawn(unit)]

    def minimiser(self, total: Point, problem: Problem) -> tuple[Fraction, ...]:
        """Return counts that can be: none below 0 or above the public number of records."""
        neighbours = problem.unit.neighbours
        most = neighbours.n if isinstance(neighbours, ReplaceOne) else neighbours.n_max
        rest = () if counted(problem.unit) else (most - sum(total),)
        return tuple(Fraction(min(max(count, 0), most)) for count in (*total, *rest))


@dataclass(frozen=True, slots=True)
class Exchanged:
    """All that one record can do to counts, by the norm whose unit ball is its hull.

    Under add-remove that is the hull of +-e_j. Else it holds e_i - e_j, and e_j as well: a record
    may be absent, or in the bin that is left out.
    """

    piece: Gauged

    def scores(self) -> Sequence[Piece]:
        """Return the ball."""
        return [self.piece]

    differences = scores


@dataclass(frozen=True, slots=True)
class Bins:
    """How many records have each code; those with others are not counted."""

    bins: int

    def zero(self) -> Point:
        """No records."""
        return (0,) * self.bins

    def partial(self, batch: Integers) -> Point:
        """Count one batch."""
        found = np.bincount(batch[:, 0].astype(np.int64), minlength=self.bins)
        return tuple(int(count) for count in found[: self.bins])

    def merge(self, left: Point, right: Point) -> Point:
        """Add."""
        return tuple(a + b for a, b in zip(left, right, strict=True))
