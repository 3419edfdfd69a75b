"""Which declared group each record is in, told from its own cells.

    code = position of the group among the declared ones,     their number -> none of them

Levels are public, and a record is looked at by itself, so neighbouring tables stay neighbouring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kng.core.errors import SchemaError
from kng.core.groups import Groups, Level
from kng.data.engine import Asked, Block, Column, Floats, Kind
from kng.data.labels import Labels
from kng.data.recipe import Recipe

if TYPE_CHECKING:
    import pyarrow as pa

_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, slots=True)
class Coding:
    """The columns that groups are told from: where each stands, and its levels."""

    positions: tuple[int, ...]
    labels: tuple[Labels, ...]

    @classmethod
    def of(cls, groups: Groups, columns: Sequence[Column], positions: Sequence[int]) -> Coding:
        """Check levels against what is declared of their columns; reads no record."""
        found = [columns[at] for at in positions]
        pairs = zip(found, groups.levels, strict=True)
        labels = tuple(_labels(column, levels) for column, levels in pairs)
        for each in labels:
            each.load()
        return cls(tuple(positions), labels)

    @property
    def size(self) -> int:
        """How many groups there are."""
        size = 1
        for each in self.labels:
            size *= len(each.classes)
        return size

    @property
    def asked(self) -> Asked:
        """The columns that are read, as numbers or as text."""
        pairs = list(zip(self.positions, self.labels, strict=True))
        return Asked(
            tuple(at for at, each in pairs if not each.text),
            tuple(at for at, each in pairs if each.text),
            tuple(each.texts for _, each in pairs if each.text),
        )

    def codes(self, numbers: Sequence[Floats], texts: Sequence[pa.BinaryArray]) -> Floats:
        """Return the group of each record, given the columns in the order of ``asked``."""
        as_numbers, as_texts = iter(numbers), iter(texts)
        found = [
            each.codes_of_text(next(as_texts))
            if each.text
            else each.codes_of_numbers(next(as_numbers))
            for each in self.labels
        ]
        first, *rest = zip(found, self.labels, strict=True)
        code, none = first[0], first[0] == len(first[1].classes)
        for further, labels in rest:
            none |= further == len(labels.classes)
            code = code * len(labels.classes) + further
        code[none] = self.size
        return code


@dataclass(frozen=True, slots=True)
class Coded:
    """Another recipe and, last, the group of each record."""

    recipe: Recipe
    coding: Coding

    @property
    def asked(self) -> Asked:
        """The columns that are read, and behind them those of the groups."""
        inner, groups = self.recipe.asked, self.coding.asked
        levels = [levels for _, levels in inner.texts_with_levels]
        return Asked(
            (*inner.numbers, *groups.numbers),
            (*inner.texts, *groups.texts),
            (*levels, *groups.levels),
        )

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Ask the recipe; a group has a code whatever its cells are."""
        return self.recipe.optional(columns)

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return the numbers of the inner recipe, and the codes of the groups."""
        columns = [column for table in block.numbers for column in table.T]
        numbers, texts = len(self.recipe.asked.numbers), len(self.recipe.asked.texts)
        codes = self.coding.codes(columns[numbers:], block.texts[texts:])
        inner = Block([column.reshape(-1, 1) for column in columns[:numbers]], block.texts[:texts])
        return [*self.recipe.tables(inner), codes.reshape(-1, 1)]


def _labels(column: Column, levels: Sequence[Level]) -> Labels:
    """Return how the cells of a column are compared with its levels; refuse a wrong kind."""
    texts = [level.strip() for level in levels if isinstance(level, str)]
    words = [text.lower() for text in texts]
    if texts and column.kind is Kind.BOOLEAN and set(words) <= set(_TRUTH):
        return Labels(tuple(_TRUTH[word] for word in words))
    if texts and column.kind in (Kind.TEXT, Kind.CELLS):
        return Labels(tuple(texts))
    numbers = [float(level) for level in levels if not isinstance(level, str)]
    if numbers and column.kind in (Kind.NUMBER, Kind.BOOLEAN, Kind.CELLS):
        return Labels(tuple(numbers))
    kind, given = column.kind.value, "texts" if texts else "numbers"
    remedy = {
        Kind.TEXT: "Give its levels as texts",
        Kind.NUMBER: "Give its levels as numbers",
        Kind.BOOLEAN: "Give True and False",
    }.get(column.kind, "Choose a column of texts, numbers or truth values")
    raise SchemaError(
        f"by: column {column.name!r} holds {kind}, and its levels are {given}. {remedy}."
    )
