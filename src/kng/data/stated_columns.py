"""Columns that are read as their declarations say, each as one column of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kng.data.engine import Asked, Block, Column, Floats
from kng.data.kinds import Asks, Declared


@dataclass(frozen=True, slots=True)
class StatedColumn:
    """A column of a table, and how it is asked for and read."""

    name: str
    position: int
    asks: Asks
    declared: Declared


@dataclass(frozen=True, slots=True)
class StatedColumns:
    """A recipe: each column as its declaration reads it."""

    columns: tuple[StatedColumn, ...]

    @property
    def asked(self) -> Asked:
        """The columns that are read, some of them as numbers and as text."""
        return Asked(
            tuple(column.position for column in self.columns if column.asks.numbers),
            tuple(column.position for column in self.columns if column.asks.texts),
        )

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Tell whether a cell can be missing: in any column that its type says nothing of."""
        found = [(columns[each.position], each.declared.kind) for each in self.columns]
        return [column.optional or column.kind.value != kind for column, kind in found]

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return one column of numbers for each; NaN is missing."""
        numbers = iter([cells for table in block.numbers for cells in table.T])
        texts = iter(block.texts)
        found = []
        with np.errstate(all="ignore"):
            for column in self.columns:
                cells = next(numbers) if column.asks.numbers else None
                spelled = next(texts) if column.asks.texts else None
                found.append(column.declared.floats(cells, spelled).reshape(-1, 1))
        return found
