"""Records of a linear model in public cells, counted and summed where they are: one pass.

A cell is a part of every covariate, and a bin of the residual  e = x'pilot - y  at a plane. Bins
are narrow next to the kinks of psi, at |e| = bend, and grow in proportion to the distance from
them: what cells leave open is then a part of how far a plane is from the pilot, at every scale.
There are as many cells as the number of columns says, however many records there are.

All sums are whole numbers, so neither order nor batches change them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kng.core.records import Integers
from kng.losses.kernels.linear_rows import ENDS, LinearRows

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Parts of a covariate, and log2 of the bins of an octave, by the number of covariates. Parts are
# even, so that no cell has a covariate on both sides of 0.
_PARTS = {0: 1, 1: 64, 2: 16}
_FINE = {0: 6, 1: 4, 2: 3}
# So many covariates are served.
MOST_COVARIATES = 2
# Octaves of a distance from a kink, which is below 2**52; on either side of two kinks.
_OCTAVES, ZONES = 53, 4
# Sums of products with residuals are kept in two numbers, the lower one of so many bits.
CARRY = 32


@dataclass(frozen=True, slots=True)
class Grid:
    """Which cells there are, from public numbers alone."""

    covariates: int
    bend: float

    @property
    def parts(self) -> int:
        """How many parts a covariate has."""
        return _PARTS[self.covariates]

    @property
    def fine(self) -> int:
        """log2 of the bins of an octave."""
        return _FINE[self.covariates]

    @property
    def bins(self) -> int:
        """Bins of a zone."""
        return _OCTAVES << self.fine

    @property
    def cells(self) -> int:
        """All cells."""
        return int(self.parts**self.covariates) * ZONES * self.bins

    @property
    def columns(self) -> int:
        """What is kept of a cell: see `cell_sums.add`."""
        p = self.covariates
        return 3 + 3 * p + p * (p + 1) // 2 + 2 * p + 2

    def references(self, cells: Whole) -> Array:
        """Return the residual that those of a cell are counted from: the end of its bin."""
        zone, place = np.divmod(cells % (ZONES * self.bins), self.bins)
        octave = np.maximum((place >> self.fine) - 1, 0)
        step = np.where(place >> self.fine, place - (octave << self.fine), place)
        edge = np.ldexp(step.astype(np.float64), octave)
        size = np.where(zone & 1, self.bend - edge, self.bend + edge)
        return np.asarray(np.rint(np.where(zone & 2, -size, size)))


@dataclass(slots=True)
class CellSums:
    """Sums over the records of every cell; a batch that is not added yet has rows instead."""

    table: Whole | None
    rows: Array | None = None

    @property
    def filled(self) -> Whole:
        """The sums."""
        assert self.table is not None
        return self.table


@dataclass(frozen=True)
class ResidualCells:
    """Sums over cells around a pilot."""

    rows: LinearRows
    pilot: tuple[int, ...]
    bend: float

    @cached_property
    def grid(self) -> Grid:
        """Which cells there are."""
        return Grid(self.rows.design.dim - int(self.rows.design.intercept), self.bend)

    def zero(self) -> CellSums:
        """No records."""
        from kng.losses.kernels.cell_sums import FAR, extremes

        table = np.zeros((self.grid.cells, self.grid.columns), np.int64)
        low, high = extremes(self.grid.covariates)
        table[:, low], table[:, high] = FAR, -FAR
        return CellSums(table)

    def partial(self, batch: Integers) -> CellSums:
        """Keep the batch until it is merged: a table of all cells for each would be too slow."""
        return CellSums(None, self.rows.select(batch))

    def merge(self, left: CellSums, right: CellSums) -> CellSums:
        """Add to the left sums, which are given up."""
        from kng.losses.kernels.cell_sums import add, combine

        if left.table is None:
            left, right = right, left
        if left.table is None:
            left = self.merge(self.zero(), left)
        if right.table is not None:
            combine(left.filled, right.table, self.grid.covariates)
        elif right.rows is not None:
            pilot = np.array(self.pilot, np.float64)
            grid, first = self.grid, int(self.rows.design.intercept)
            add(right.rows, pilot, first, grid.parts, grid.fine, grid.bend, left.filled)
        return left


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells with records, in float64: sums of x, of x e and of xx', and ranges of x and e.

    Numbers of records and sums of x are exact, the others rounded once or twice.
    """

    pilot: tuple[int, ...]
    count: Array
    first: Array  # sums of x (cells, d)
    cross: Array  # sums of x e (cells, d)
    second: Array  # sums of xx' (cells, d, d)
    low: Array  # least x, then least e (cells, d + 1)
    high: Array

    @classmethod
    def of(cls, kernel: ResidualCells, sums: CellSums) -> Self:
        """Return the cells that hold records."""
        grid, p, d = kernel.grid, kernel.grid.covariates, kernel.rows.design.dim
        at = np.flatnonzero(sums.filled[:, 0])
        table = sums.filled[at].astype(np.float64)
        given = d - p  # the intercept's column, whose entries are ENDS
        count = table[:, 0]
        plain, e = table[:, 1 : 1 + p], 1 + p
        reference = grid.references(at)
        first = np.column_stack([count * ENDS, plain])[:, 1 - given :]
        total = table[:, e] * 2.0**CARRY + table[:, e + 1] + reference * count
        products = table[:, e + 2 : e + 2 + 2 * p]
        products = products[:, ::2] * 2.0**CARRY + products[:, 1::2] + reference[:, None] * plain
        cross = np.column_stack([ENDS * total, products])[:, 1 - given :]
        squares = table[:, e + 2 + 2 * p :]
        second = np.zeros((len(at), d, d))
        second[:, given:, given:] = _symmetric(squares[:, : p * (p + 1) // 2], p)
        if given:
            second[:, 0] = second[:, :, 0] = ENDS * first
        ranges = squares[:, p * (p + 1) // 2 :]
        fixed = np.full((len(at), given), float(ENDS))
        low = np.column_stack([fixed, ranges[:, : p + 1]])
        high = np.column_stack([fixed, ranges[:, p + 1 :]])
        return cls(kernel.pilot, count, first, cross, second, low, high)


def _symmetric(entries: Array, p: int) -> Array:
    """Return matrices from their entries on and above the diagonal."""
    found = np.zeros((len(entries), p, p))
    for at, (j, k) in enumerate(zip(*np.triu_indices(p), strict=True)):
        found[:, j, k] = found[:, k, j] = entries[:, at]
    return found
