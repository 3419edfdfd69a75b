"""An envelope for walks past intervals, summed by dynamic programming.

theta_1 <= ... <= theta_m, and the exponent of theta is the length of the shortest walk from 0, past
an interval for each coordinate, back to 0:

    gamma(theta) = least of  sum_j |z_j - z_(j-1)|,      z_j in [low_j(theta_j), high_j(theta_j)]

Who walks only as far as needed walks least: z_j is z_(j-1), moved into the next interval. Lattice
points with the same interval are a run, and b coordinates stand in a run of c points in
C(c + b - 1, b) ways. Where the walk stands in a wide interval is known up to a cell. So all walks
are paths through nodes, a node for each cell, and

    weight of a path  =  product of ways * exp(slack - length)

is at least exp(-gamma) for each of its thetas. Floats weigh nodes; they decide what is proposed and
how often, never what is accepted (docs/proofs/samplers/together.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, log

import numpy as np

from kng.core.capabilities import WalkField
from kng.samplers.exact.choices import Choices, Choose
from kng.samplers.exact.range_sums import range_sums
from kng.samplers.exact.walk_windows import Array, Blocks, Whole, Windows

# Sums of nodes are kept near this, half way between the ends of float64 that they come near to.
_SIZE = 400

# A block, and how many coordinates stand in it.
Group = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stage:
    """The nodes of one coordinate: cells of the blocks ``start .. start + len(low) - 1``.

    ``rows[b - 1]`` weighs the paths up to here whose last b coordinates are in the node's block.
    """

    start: int
    low: Array
    high: Array
    cells: Whole
    nodes: Whole  # the first node of each block, and one more
    block: Whole  # of each node
    z: Array
    lift: Array
    rows: Array
    total: Array

    def landing(self, z: Array, block: Whole) -> tuple[Whole, Array]:
        """Return where a walk from z stands in a block, as a node, and exp(-how far that is)."""
        at = block - self.start
        low, high = self.low[at], self.high[at]
        width = (high - low) / self.cells[at]
        cell = np.floor((z - low) / np.where(width > 0, width, 1.0))
        cell = np.clip(cell, 0, self.cells[at] - 1).astype(np.int64)
        far = np.maximum(np.maximum(low - z, z - high), 0.0)
        return self.nodes[at] + cell, np.exp(-far)


class WalkEnvelope:
    """All paths of walks up to ``reach`` from 0, where gamma is 2 reach or more beyond.

    ``rate`` is the exponent of a rank. ``mass`` is the sum of all weights.
    """

    def __init__(self, field: WalkField, rate: Fraction, reach: float) -> None:
        self.windows = Windows(field, rate, reach)
        self.blocks = self.windows.blocks
        self._scale = 0
        self.stages = [_origin()]
        for level in field.levels:
            self.stages.append(self._next(level))
        end = self.stages[-1]
        self._home = end.total * np.exp(-np.abs(end.z))
        self.mass = Fraction(float(self._home.sum())) * Fraction(2) ** self._scale
        self.log_mass = log(self.mass)

    def _next(self, level: Fraction) -> Stage:
        before, bare = self.stages[-1], self._nodes(level)
        enter = _entering(before, bare)
        size = self.blocks.size[bare.block].astype(np.float64)
        rows = np.zeros((len(before.rows) + 1, len(bare.z)))
        rows[0] = enter * size * bare.lift
        stays = (before.block >= bare.start) & (before.block < bare.start + len(bare.low))
        if len(self.stages) > 1 and stays.any():
            node, near = bare.landing(before.z[stays], before.block[stays])
            there, starts = np.unique(node, return_index=True)
            moved = np.add.reduceat(before.rows[:, stays] * near, starts, axis=1)
            b = np.arange(1, len(rows))[:, None]
            rows[1:, there] = moved * ((size[there] + b) / (b + 1) * bare.lift[there])
        exponent = int(np.frexp(rows.max())[1]) - _SIZE
        rows = np.ldexp(rows, -exponent)
        self._scale += exponent
        return _weighed(bare, rows)

    def _nodes(self, level: Fraction) -> Stage:
        """Return the nodes of a coordinate, not yet weighed."""
        start, low, high, joined, length = self.windows.intervals(level)
        cells = np.maximum(np.ceil((high - low) / self.windows.slack), 1).astype(np.int64)
        nodes = np.concatenate(([0], np.cumsum(cells)))
        at = np.repeat(np.arange(len(low)), cells)
        width = (high - low) / cells
        z = low[at] + (np.arange(len(at)) - nodes[at] + 0.5) * width[at]
        lift = np.exp(np.where(joined, length, width / 2))[at]
        none = np.zeros((0, len(at)))
        return Stage(start, low, high, cells, nodes, at + start, z, lift, none, np.zeros(len(at)))

    def trace(self, choose: Choose) -> tuple[list[Group], Fraction]:
        """Choose a path from its end; return its groups in order, and its probability.

        A group's points are still to be chosen, each set of them alike.
        """
        choices = Choices(choose)
        chosen = choices.weighed
        at = len(self.stages) - 1
        stage = self.stages[at]
        node = chosen(self._home)
        b = 1 + chosen(stage.rows[:, node])
        groups = [(int(stage.block[node]), b)]
        while at > 1:
            before = self.stages[at - 1]
            block = stage.block[node]
            end = int(np.searchsorted(before.block, block, side="left"))
            if b > 1:
                past = int(np.searchsorted(before.block, block, side="right"))
                part, weights = slice(end, past), before.rows[b - 2, end:past]
            else:
                part, weights = slice(0, end), before.total[:end]
            there, near = stage.landing(before.z[part], np.broadcast_to(block, len(weights)))
            found = part.start + chosen(np.where(there == node, weights * near, 0.0))
            if b > 1:
                b -= 1
            else:
                b = 1 + chosen(before.rows[:, found])
                groups.append((int(before.block[found]), b))
            node, stage, at = found, before, at - 1
        for block, size in groups:
            choices.one_of(comb(int(self.blocks.size[block]) + size - 1, size))
        return groups[::-1], choices.share


def _origin() -> Stage:
    """Return the one node where every walk begins, before all blocks."""
    one, at = np.ones(1), np.zeros(1)
    index = np.array([-1])
    return Stage(-1, at, at, np.array([1]), np.array([0, 1]), index, at, one, one[:0, None], one)


def _weighed(stage: Stage, rows: Array) -> Stage:
    return Stage(
        stage.start, stage.low, stage.high, stage.cells, stage.nodes, stage.block, stage.z,
        stage.lift, rows, rows.sum(axis=0),
    )  # fmt: skip


def _entering(before: Stage, stage: Stage) -> Array:
    """Return, for each node, the weight of paths that come from an earlier block.

    From below they stand at a block's low end, from above at its high end, and a walk that is
    within the block already stands where it is.
    """
    z, weights = before.z, before.total
    blocks = np.arange(stage.start, stage.start + len(stage.low))
    end = np.searchsorted(before.block, blocks, side="left")
    below = np.minimum(np.searchsorted(z, stage.low, side="right"), end)
    above = np.maximum(np.minimum(np.searchsorted(z, stage.high, side="left"), end), below)
    rising = np.concatenate(([0.0], np.cumsum(weights * np.exp(z))))
    found = np.zeros(len(stage.z))
    found[stage.nodes[:-1]] = rising[below] * np.exp(-stage.low)
    falling = range_sums(weights * np.exp(-z), above, end)
    found[stage.nodes[1:] - 1] += falling * np.exp(stage.high)
    at = np.searchsorted(stage.high, z, side="right")
    inside = np.minimum(at, len(blocks) - 1)
    stays = (at < len(blocks)) & (stage.low[inside] < z) & (blocks[inside] > before.block)
    if stays.any():
        node, _ = stage.landing(z[stays], blocks[inside[stays]])
        found += np.bincount(node, weights[stays], minlength=len(found))
    return found


def points_of(
    blocks: Blocks, groups: Sequence[Group], multiset: Callable[[int, int], list[int]]
) -> tuple[int, ...]:
    """Return the lattice points of groups; ``multiset(c, b)`` chooses b of c points, in order."""
    return tuple(
        int(blocks.first[block]) + k
        for block, size in groups
        for k in multiset(int(blocks.size[block]), size)
    )
