"""What a sampler of boxes asks of a loss, of its field, and of the covers that the field builds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.parts import EnclosedField, Expansion, Field, Point, Walled

if TYPE_CHECKING:
    from kng.core.boxes.sheared import ShearedBoxes  # compiled, and losses are read without it

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class Scores(Protocol):
    """Scores at some points of boxes."""

    @property
    def least(self) -> Array:
        """The exponents of the scores in float64, too small if anything."""
        ...

    def exact(self, index: int, point: Point) -> Fraction:
        """Return one of the scores."""
        ...


@runtime_checkable
class DistantScores(Scores, Protocol):
    """Scores that cost a pass over the records; bounds at points cost little."""

    def closer(self, chosen: Whole) -> Array:
        """Return the exponents at some of the points as well as they are known without a pass.

        In float64, too small if anything.
        """
        ...

    def foresee(self, chosen: Whole) -> None:
        """Compute some of the scores in one pass, because they will be asked for."""
        ...


class Covering(Protocol):
    """Disjoint boxes that hold the domain, with bounds on the exponent; offsets from a pilot."""

    boxes: ShearedBoxes
    running: Array

    def refine(self, goal: int) -> None:
        """Halve boxes until there are so many, or enough to accept most attempts."""
        ...

    def scores(self, boxes: Whole, t: Whole) -> Scores:
        """Return the scores at one point of each box."""
        ...


@runtime_checkable
class ShiftedField(Protocol):
    """A field that moves each record by a random amount before a draw."""

    def shifted(self, bits: Bits) -> Field:
        """Return the field with a random shift of each record, if the loss asks for one."""
        ...


class Leaning(NamedTuple):
    """Points  e + V xi + f  with  |xi_j| <= half_j  and  |f_j| <= slack_j,  a row for each box.

    Centres e are halves of whole numbers, and the shear V is in multiples of 2**-16.
    """

    centre: Array
    half: Array
    slack: Array
    shear: Array

    def of(self, rows: slice | Whole) -> Leaning:
        """Return some of the rows."""
        return Leaning(self.centre[rows], self.half[rows], self.slack[rows], self.shear)

    def sides(self) -> Array:
        """Return half of the sides of boxes along the axes around the points."""
        return np.asarray(self.half @ np.abs(self.shear).T + self.slack)


@runtime_checkable
class LeaningField(EnclosedField, Protocol):
    """A field that can also expand its score over sheared boxes, at the cost of all its records."""

    def expand_leaning(self, centre: Array, half: Array, lean: Leaning) -> Expansion:
        """Expand about the centres of boxes, as `expand`, at the points that also lean so."""
        ...


@runtime_checkable
class DistantField(EnclosedField, Protocol):
    """A field whose score takes a pass over the records, and whose expansions take none."""

    def foresee(self, points: Sequence[Point]) -> None:
        """Compute the scores at several points in one pass, and remember them."""
        ...


@runtime_checkable
class CoveredField(Field, Protocol):
    """A field that builds its own covers, with bounds on  rate * score."""

    def covers(self, domain: Walled, rate: Fraction) -> Sequence[Covering]:
        """Return covers with one box, for the whole domain; the best of them is taken."""
        ...

    def later_covers(self, domain: Walled, rate: Fraction) -> Sequence[Callable[[], Covering]]:
        """Return covers that join when the first ones have many boxes, where records need them."""
        ...
