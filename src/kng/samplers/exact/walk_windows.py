"""Where the walks of `exact.walks` go: blocks of neighbouring runs, a window for each coordinate.

A run is a set of neighbouring lattice points with the same interval of ranks. Neighbouring runs in
one cell of a few ranks are a block. In units of the exponent, a coordinate's block has the interval

    half * ( [ranks below, ranks up to] - level * total ),      half = rate / 2

which is cut off at +-reach; its window holds the blocks that come within 2 reach / rate ranks.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kng.core.capabilities import Runs, WalkField

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]

# What envelope and law may differ by: a factor e^SLACK a coordinate, e^_ALL in all.
SLACK, _ALL = 0.25, 2.25


def slack_of(coordinates: int) -> float:
    """Return what each of so many coordinates may add."""
    return min(SLACK, _ALL / coordinates)


class Blocks(NamedTuple):
    """Neighbouring runs as one: lattice points, the ends of their ranks, and whether several."""

    first: Whole
    size: Whole
    below: Whole
    upto: Whole
    several: Mask


def blocks_of(runs: Runs, widest: int) -> Blocks:
    """Join neighbouring runs that lie in one cell of so many ranks; wider ones stay alone."""
    if widest < 1:
        return Blocks(*runs, np.zeros(len(runs.first), dtype=bool))
    cell = runs.below // widest
    within = runs.upto <= (cell + 1) * widest
    joined = within[1:] & within[:-1] & (cell[1:] == cell[:-1])
    joined &= runs.first[1:] == runs.first[:-1] + runs.size[:-1]
    starts = np.flatnonzero(np.concatenate(([True], ~joined)))
    ends = np.append(starts[1:], len(runs.first)) - 1
    count = np.add.reduceat(runs.size, starts)
    return Blocks(runs.first[starts], count, runs.below[starts], runs.upto[ends], ends > starts)


class Intervals(NamedTuple):
    """The blocks of a window: the first of them, their intervals, and how long joined ones are."""

    start: int
    low: Array
    high: Array
    joined: Mask
    length: Array


class Windows:
    """The windows of all coordinates, up to ``reach`` from 0; a rank has the exponent ``rate``."""

    def __init__(self, field: WalkField, rate: Fraction, reach: float) -> None:
        self.slack = slack_of(len(field.levels))
        widest = min(int(Fraction(self.slack) / rate), field.total + 1)
        self.blocks = blocks_of(field.runs, widest)
        # Ranks so far from the wanted one are a walk of 2 reach.
        self.ranks = min(int(Fraction(2 * reach) / rate) + 2, field.total + 1)
        self.half, self.reach, self._total = float(rate / 2), reach, field.total

    def span(self, level: Fraction) -> tuple[int, int]:
        """Return the blocks of a coordinate's window, the first and one after the last."""
        target = level.numerator * self._total // level.denominator
        start = int(np.searchsorted(self.blocks.upto, target - self.ranks, side="left"))
        end = int(np.searchsorted(self.blocks.below, target + self.ranks, side="right"))
        return start, end

    def target(self, level: Fraction) -> tuple[int, float]:
        """Return the wanted rank as a whole number, and what is left of it."""
        target, rest = divmod(level.numerator * self._total, level.denominator)
        return target, float(Fraction(rest, level.denominator))

    def intervals(self, level: Fraction) -> Intervals:
        """Return the intervals of a coordinate's window; a joined block stands in its middle."""
        start, end = self.span(level)
        part = slice(start, end)
        target, share = self.target(level)
        ends = [
            self.half * ((ranks[part] - target).astype(np.float64) - share)
            for ranks in (self.blocks.below, self.blocks.upto)
        ]
        joined = self.blocks.several[part]
        middle = (ends[0] + ends[1]) / 2
        low, high = (np.where(joined, middle, end) for end in ends)
        low, high = (np.clip(end, -self.reach, self.reach) for end in (low, high))
        return Intervals(start, low, high, joined, ends[1] - ends[0])
