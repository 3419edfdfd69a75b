"""Which bin a cell is in: declared edges of numbers, or declared levels.

    code = position of the bin,     NaN -> the cell is in no bin

What a missing cell becomes is not said here. Bins are public. A cell is looked at by itself, so
neighbouring data stay neighbouring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kng.data.engine import Column, Floats, Kind

_TRUTH = np.array([0.0, 1.0])


@dataclass(frozen=True, slots=True)
class Edges:
    """Half-open intervals between numbers that grow; the last one holds its upper end as well."""

    edges: tuple[float, ...]
    text: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.edges) - 1

    def covers(self, column: Column) -> bool:
        """Whether every cell that is there is in a bin, by what a column declares."""
        whole = self.edges[0] == -np.inf and self.edges[-1] == np.inf
        return whole or (column.kind is Kind.BOOLEAN and not np.isnan(self.codes(_TRUTH)).any())

    def codes(self, cells: Floats) -> Floats:
        """Return the bin of each number; those outside the edges are in none."""
        at = np.searchsorted(np.array(self.edges), cells, side="right") - 1
        found: Floats = at.astype(np.float64)
        found[cells == self.edges[-1]] = len(self) - 1
        found[~((cells >= self.edges[0]) & (cells <= self.edges[-1]))] = np.nan
        return found


@dataclass(frozen=True, slots=True)
class Levels:
    """Values, all of them numbers or all of them text, each once; others have one bin or none."""

    levels: tuple[float, ...] | tuple[str, ...]
    others: bool = False

    def __len__(self) -> int:
        return len(self.levels) + self.others

    @property
    def text(self) -> bool:
        """Whether levels are text."""
        return isinstance(self.levels[0], str)

    @property
    def truths(self) -> bool:
        """Whether levels are True and False."""
        return all(isinstance(level, bool) for level in self.levels)

    def covers(self, column: Column) -> bool:
        """Whether every cell that is there is in a bin, by what a column declares."""
        return self.others or (column.kind is Kind.BOOLEAN and {0.0, 1.0} <= set(self.levels))

    def codes(self, cells: Any) -> Floats:
        """Return the position of each cell: of floats, or of an Arrow array of bytes."""
        other = float(len(self.levels)) if self.others else np.nan
        if self.text:
            # Imported here: Arrow takes longer to load than a count takes to draw.
            import pyarrow as pa
            import pyarrow.compute as pc

            known = pa.array([str(level).encode() for level in self.levels], cells.type)
            at = pc.index_in(cells, value_set=known).fill_null(-1).to_numpy(zero_copy_only=False)
            return np.where(at >= 0, at.astype(np.float64), other)
        numbers = np.array(self.levels, dtype=np.float64)
        order = np.argsort(numbers)
        at = np.minimum(np.searchsorted(numbers[order], cells), len(numbers) - 1)
        return np.where(numbers[order][at] == cells, order[at].astype(np.float64), other)


Rule = Edges | Levels
