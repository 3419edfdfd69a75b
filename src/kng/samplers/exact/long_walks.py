"""The envelope of `exact.walks` for more ways than float64 can count: weights are logarithms.

Paths and their weights are those of `exact.walks`, with two changes. Cells are fine only where
walks are near 0, and coarse beyond: as far out as it takes for paths through coarse cells to weigh
next to nothing. And how many coordinates stand in a block is not part of a node: in a block of one
point it changes nothing, and in others it follows from the stage at which a path came.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, exp, floor, log

import numpy as np

from kng.core.capabilities import WalkField
from kng.core.compiled import load
from kng.samplers.exact import walk_loop
from kng.samplers.exact.choices import Choices, Choose
from kng.samplers.exact.walk_windows import SLACK, Array, Whole, Windows
from kng.samplers.exact.walks import Group

# Which part of all paths may go through coarse cells.
_COARSE = 2.0**-5
# Where fine cells end at first, in exponents.
_NEAR = 32.0
# A cell of just this length may have become a little longer in floats.
_ROUNDED = 1 + 2.0**-30
_LOG2 = log(2)


@dataclass(frozen=True, slots=True)
class Stage:
    """The nodes of one coordinate: cells of the blocks ``start .. start + len(low) - 1``."""

    start: int
    low: Array
    high: Array
    edge: Whole  # the first number of the grid above each ``low``
    nodes: Whole  # the first node of each block, and one more
    block: Whole  # of each node
    z: Array
    lift: Array

    def landing(self, z: Array, at: int, grid: Array) -> tuple[Whole, Array]:
        """Return in which node of a block walks from z stand, and how far away that is."""
        cell = np.searchsorted(grid, z, side="right") - self.edge[at]
        node = self.nodes[at] + np.clip(cell, 0, self.nodes[at + 1] - self.nodes[at] - 1)
        return node, np.maximum(np.maximum(self.low[at] - z, z - self.high[at]), 0.0)


class LongWalks:
    """All paths of walks up to ``reach`` from 0, where gamma is 2 reach or more beyond.

    ``rate`` is the exponent of a rank. ``mass`` is the sum of all weights.
    """

    def __init__(self, field: WalkField, rate: Fraction, reach: float) -> None:
        self.windows, self._levels = Windows(field, rate, reach), field.levels
        self.blocks = self.windows.blocks
        self._many = self.blocks.size > 1
        # How many blocks of many points come before each block, and these blocks themselves.
        self._before = np.concatenate(([0], np.cumsum(self._many)))
        self._crowd = _Crowd(self.windows, self._levels, np.flatnonzero(self._many), self._before)
        near = min(_NEAR, reach)
        while self._weigh(near) < 1 - _COARSE and near < reach:
            near = min(2 * near, reach)
        powers = floor(self.log_mass / _LOG2)
        self.mass = Fraction(exp(self.log_mass - powers * _LOG2)) * Fraction(2) ** powers

    @staticmethod
    def load() -> None:
        """Load what weighs walks; above the charge."""
        load(walk_loop.enter, walk_loop.gather)

    def _weigh(self, near: float) -> float:
        """Weigh all paths, with fine cells up to ``near``; return which part of them is fine."""
        self._grid = _grid(near, self.windows.reach, self.windows.slack)
        self._crowd.clear()
        self._weights: list[Array] = []
        z, weight, fine, block = np.zeros(1), np.zeros(1), np.ones(1), np.full(1, -1)
        for j in range(len(self._levels)):
            stage = self._stage(j)
            found, part = np.empty(len(stage.z)), np.empty(len(stage.z))
            many = self._many[stage.start : stage.start + len(stage.low)]
            walk_loop.enter(
                *(z, weight, fine, block, stage.low, stage.high, many, stage.start),
                *(stage.nodes, stage.edge, self._grid, found, part),
            )
            crowded = self._many[stage.block]
            here = self._crowd.gather(j, found[crowded], part[crowded])
            found += stage.lift
            part[stage.lift > self.windows.slack / 2 * _ROUNDED] = 0.0
            found[crowded], part[crowded] = here
            self._weights.append(found)
            z, weight, fine, block = stage.z, found, part, stage.block
        self._home = weight - np.abs(z)
        most = float(self._home.max())
        each = np.exp(self._home - most)
        self.log_mass = most + log(each.sum())
        return float((each * fine).sum() / each.sum())

    def _stage(self, j: int) -> Stage:
        """Return the nodes of a coordinate."""
        start, low, high, _, _ = self.windows.intervals(self._levels[j])
        edge = np.searchsorted(self._grid, low, side="right")
        cells = np.maximum(np.searchsorted(self._grid, high, side="left") - edge, 0) + 1
        nodes = np.concatenate(([0], np.cumsum(cells)))
        at = np.repeat(np.arange(len(low)), cells)
        cell = np.arange(len(at)) - nodes[at]
        ends = np.append(self._grid, np.inf)
        left = np.where(cell == 0, low[at], ends[edge[at] + cell - 1])
        right = np.where(cell == cells[at] - 1, high[at], ends[edge[at] + cell])
        z, lift = (left + right) / 2, (right - left) / 2
        return Stage(start, low, high, edge, nodes, at + start, z, lift)

    def trace(self, choose: Choose) -> tuple[list[Group], Fraction]:
        """Choose a path from its end; return its groups in order, and its probability.

        A group's points are still to be chosen, each set of them alike.
        """
        choices = Choices(choose)
        groups: list[Group] = []
        j = len(self._levels) - 1
        stage, node = self._stage(j), choices.logarithmic(self._home)
        while j >= 0:
            block, b = int(stage.block[node]), 1
            if self._many[block]:
                b = 1 + choices.logarithmic(self._crowd.terms(j, int(self._before[block])))
                choices.one_of(comb(int(self.blocks.size[block]) + b - 1, b))
                j -= b - 1
                stage = self._stage(j) if b > 1 else stage
                node = int(stage.nodes[block - stage.start])
            groups.append((block, b))
            j -= 1
            if j >= 0:
                before = self._stage(j)
                end = int(np.searchsorted(before.block, block + (not self._many[block])))
                there, far = stage.landing(before.z[:end], block - stage.start, self._grid)
                from_here = np.flatnonzero(there == node)
                weights = self._weights[j][from_here] - far[from_here]
                node = int(from_here[choices.logarithmic(weights)])
                stage = before
        return groups[::-1], choices.share


class _Crowd:
    """Blocks of many points: walks that came to each of them at each stage, and are there still."""

    def __init__(
        self, windows: Windows, levels: tuple[Fraction, ...], many: Whole, before: Whole
    ) -> None:
        blocks = windows.blocks
        self._reach, self._half = windows.reach, windows.half
        self._ranks = blocks.below[many] + blocks.upto[many]
        self._size = blocks.size[many].astype(np.float64)
        length = self._half * (blocks.upto[many] - blocks.below[many])
        self._lift = np.where(blocks.several[many], length, 0.0)
        targets = [windows.target(level) for level in levels]
        self._target = np.array([target for target, _ in targets])
        self._share = np.array([share for _, share in targets])
        spans = [windows.span(level) for level in levels]
        self._first = np.array([before[start] for start, _ in spans])
        self._end = np.array([before[end] for _, end in spans])
        self._ends = np.concatenate(([0], np.cumsum(self._end - self._first)))
        self._offset = self._ends[:-1] - self._first

    def clear(self) -> None:
        """Forget all walks."""
        self._entered, self._fine = np.empty(self._ends[-1]), np.empty(self._ends[-1])
        self._oldest = np.full(len(self._ranks), len(self._first))

    def gather(self, j: int, entered: Array, fine: Array) -> tuple[Array, Array]:
        """Let walks come at stage j; return all that are there, and which part of them is fine."""
        new = slice(self._ends[j], self._ends[j + 1])
        self._entered[new], self._fine[new] = entered, fine
        oldest = self._oldest[self._first[j] : self._end[j]]
        np.minimum(oldest, j, out=oldest)
        found, part = np.empty(len(entered)), np.empty(len(entered))
        walk_loop.gather(
            *(j, self._first[j], self._ranks, self._size, self._lift, self._target, self._share),
            *(self._half, self._reach, self._offset, self._entered, self._fine, self._oldest),
            *(found, part),
        )
        return found, part

    def terms(self, j: int, k: int) -> Array:
        """Return what walks weigh that have been in block k for 1, 2, ... stages, at stage j."""
        stages = np.arange(j, -1, -1)
        stages = stages[(self._first[stages] <= k) & (k < self._end[stages])]
        b = np.arange(1, len(stages) + 1)
        ways = np.cumsum(np.log((self._size[k] + b - 1) / b) + self._lift[k])
        z = self._half * ((self._ranks[k] - 2 * self._target[stages]) / 2 - self._share[stages])
        z = np.clip(z, -self._reach, self._reach)
        found: Array = self._entered[self._offset[stages] + k] + ways - (z - z[0])
        return found


def _grid(near: float, reach: float, slack: float) -> Array:
    """Return where cells may end: each ``slack`` up to ``near``, each `SLACK` beyond."""
    fine = slack * np.arange(np.ceil(near / slack) + 1)
    coarse = fine[-1] + SLACK * np.arange(1, np.ceil((reach - fine[-1]) / SLACK) + 1)
    half = np.concatenate((fine, coarse))
    return np.concatenate((-half[:0:-1], half))
