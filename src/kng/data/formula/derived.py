"""Covariates of a formula as a recipe: cells are read, clipped and combined, record by record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from kng.data.engine import Asked, Block, Column, Floats
from kng.data.formula.calculation import cells_of
from kng.data.formula.covariates import Covariate, Covariates, Indicator, Part
from kng.data.formula.tree import names_in
from kng.data.kinds import Category
from kng.data.recipe import Recipe
from kng.data.stated_columns import StatedColumns


@dataclass(frozen=True, slots=True)
class Derived:
    """The covariates of a formula; ``clipped`` to the bounds of their columns, as for a fit."""

    read: StatedColumns
    made: Covariates
    clipped: bool

    @property
    def asked(self) -> Asked:
        """The columns that are read."""
        return self.read.asked

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Tell of each covariate whether a cell of its columns can be missing."""
        missing = dict(zip(self.made.columns, self.read.optional(columns), strict=True))
        return [any(missing[n] for n in _columns(c)) for c in self.made.covariates]

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return a column for each covariate; NaN where a cell is missing."""
        read = [table[:, 0] for table in self.read.tables(block)]
        with np.errstate(all="ignore"):
            cells = {
                name: np.clip(column, *ends) if self.clipped and ends is not None else column
                for name, column, ends in zip(
                    self.made.columns, read, self.made.ranges, strict=True
                )
            }
            return [
                reduce(np.multiply, [self._part(p, cells, len(block)) for p in c.parts])
                .astype(np.float64, copy=False)
                .reshape(-1, 1)
                for c in self.made.covariates
            ]

    def _part(self, part: Part, cells: Mapping[str, Floats], size: int) -> Floats:
        if not isinstance(part, Indicator):
            return cells_of(part, cells, size)
        kind = self.made.kinds[self.made.columns.index(part.column)]
        assert isinstance(kind, Category)  # only they have levels
        return kind.indicator(cells[part.column], part.level)


@dataclass(frozen=True, slots=True)
class Beside:
    """Two recipes whose columns stand side by side: covariates, and a response or labels."""

    left: Recipe
    right: Recipe

    @property
    def asked(self) -> Asked:
        """The columns of both."""
        left, right = self.left.asked, self.right.asked
        return Asked((*left.numbers, *right.numbers), (*left.texts, *right.texts))

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Ask both."""
        return [*self.left.optional(columns), *self.right.optional(columns)]

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return what both make of their parts of the block."""
        columns = [column.reshape(-1, 1) for table in block.numbers for column in table.T]
        numbers, texts = len(self.left.asked.numbers), len(self.left.asked.texts)
        left = Block(columns[:numbers], block.texts[:texts])
        right = Block(columns[numbers:], block.texts[texts:])
        return [*self.left.tables(left), *self.right.tables(right)]


def _columns(covariate: Covariate) -> tuple[str, ...]:
    """Return the columns that a covariate is made of."""
    return tuple(
        name
        for part in covariate.parts
        for name in ((part.column,) if isinstance(part, Indicator) else names_in(part))
    )
