"""Groups that a release answers for, one after the other: declared levels of one column or more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

# A text, a number or a truth value, as the caller has written it.
Level = str | int | float


@dataclass(frozen=True, slots=True)
class Groups:
    """Columns and the levels of each; a group is one level of every column.

    Public through and through: which groups there are is never read from the data. The last column
    changes fastest.
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[Level, ...], ...]

    def __len__(self) -> int:
        size = 1
        for each in self.levels:
            size *= len(each)
        return size

    @property
    def rows(self) -> list[tuple[Level, ...]]:
        """The levels of each group."""
        return list(product(*self.levels))

    @property
    def names(self) -> list[str]:
        """What each group is called: its levels."""
        found = [", ".join(map(str, row)) for row in self.rows]
        if len(set(found)) == len(found):
            return found
        # Levels that hold commas themselves.
        return [", ".join(map(repr, row)) for row in self.rows]

    @property
    def described(self) -> str:
        """The columns and their levels, for people."""
        parts = zip(self.columns, self.levels, strict=True)
        return "; ".join(f"{column} ({_some(levels)})" for column, levels in parts)


def _some(levels: Sequence[Level]) -> str:
    """List a few levels, and say how many there are if they are many."""
    texts = list(map(str, levels))
    if len(texts) <= 8:
        return ", ".join(texts)
    return f"{', '.join(texts[:5])}, ..., {texts[-1]}: {len(texts)} levels"
