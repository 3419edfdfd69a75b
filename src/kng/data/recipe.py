"""Which columns a release uses, and how cells become the numbers that are encoded.

A recipe looks at one record at a time, so neighbouring tables stay neighbouring. It is public and
can be pickled, so that it can travel to where the records are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kng.data.engine import Asked, Block, Column, Floats
from kng.data.labels import Labels
from kng.data.stated_columns import StatedColumn
from kng.data.where.filter import Filter


class Recipe(Protocol):
    """What is asked of a table, and what is made of a block of it."""

    @property
    def asked(self) -> Asked:
        """The columns that are read."""
        ...

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Tell of each column of numbers whether a cell can be missing, from public facts."""
        ...

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return the numbers to be encoded, tables side by side; NaN is missing."""
        ...


def nothing(asked: Asked) -> Block:
    """Return a block of no records."""
    numbers = [np.empty((0, 1)) for _ in asked.numbers]
    if not asked.texts:
        return Block(numbers)
    import pyarrow as pa

    return Block(numbers, [pa.array([], pa.binary()) for _ in asked.texts])


def load(recipe: Recipe) -> None:
    """Load what texts need, by reading none: Arrow loads more when it is used.

    Called before anything is charged.
    """
    if recipe.asked.texts:
        recipe.tables(nothing(recipe.asked))


@dataclass(frozen=True, slots=True)
class Plain:
    """Columns of numbers, as they are."""

    positions: tuple[int, ...]

    @property
    def asked(self) -> Asked:
        """The columns that are read."""
        return Asked(self.positions)

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Ask the columns."""
        return [columns[at].optional for at in self.positions]

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return the numbers."""
        return block.numbers


@dataclass(frozen=True, slots=True)
class Labelled:
    """Covariates and, last, a label: the position of its class, or their number if it is none.

    ``boolean`` reads labels that are True and False where the column is no plain one of them.
    """

    covariates: tuple[int, ...]
    label: int
    labels: Labels
    boolean: StatedColumn | None = None

    @property
    def asked(self) -> Asked:
        """The columns that are read; labels are numbers or text, as the classes are."""
        if self.labels.text:
            return Asked(self.covariates, (self.label,), (self.labels.texts,))
        spelled = self.boolean is not None and self.boolean.asks.texts
        return Asked((*self.covariates, self.label), (self.label,) if spelled else ())

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Ask the covariates; a label has a code whatever it is."""
        return [*(columns[at].optional for at in self.covariates), False]

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return the covariates and the codes of the labels."""
        if self.labels.text:
            tables, codes = list(block.numbers), self.labels.codes_of_text(block.texts[0])
        else:
            *tables, last = block.numbers
            if last.shape[1] > 1:  # covariates and labels in one table
                tables, last = [*tables, last[:, :-1]], last[:, -1:]
            cells = last[:, 0]
            if self.boolean is not None:
                spelled = block.texts[0] if self.boolean.asks.texts else None
                cells = self.boolean.declared.floats(cells, spelled)
            codes = self.labels.codes_of_numbers(cells)
        return [*tables, codes.reshape(-1, 1)]


@dataclass(frozen=True, slots=True)
class Filtered:
    """Another recipe, for the records that a condition holds for; the others are absent."""

    recipe: Recipe
    condition: Filter

    @property
    def asked(self) -> Asked:
        """The columns that are read, and behind them those of the condition."""
        inner = self.recipe.asked
        return Asked(
            (*inner.numbers, *self.condition.numbers.values()),
            (*inner.texts, *self.condition.texts.values()),
        )

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Ask the recipe; the condition decides for whole records."""
        return self.recipe.optional(columns)

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return the numbers of the records that are present."""
        columns = [column for table in block.numbers for column in table.T]
        numbers, texts = len(self.recipe.asked.numbers), len(self.recipe.asked.texts)
        present = self.condition.holds(columns[numbers:], block.texts[texts:])
        inner = Block([column.reshape(-1, 1) for column in columns[:numbers]], block.texts[:texts])
        # NumPy indexes tables by a mask three times as slowly.
        return [table.compress(present, axis=0) for table in self.recipe.tables(inner)]
