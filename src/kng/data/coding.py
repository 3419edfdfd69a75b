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
from kng.core.naming import argument
from kng.data.engine import Asked, Block, Column, Engine, Floats, Kind, kinds_of
from kng.data.kinds import Asks, Boolean
from kng.data.labels import Labels
from kng.data.recipe import Recipe
from kng.data.stated_columns import StatedColumn

if TYPE_CHECKING:
    import pyarrow as pa

_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, slots=True)
class Coding:
    """The columns that groups are told from: where each stands, its levels, and how it is read."""

    positions: tuple[int, ...]
    labels: tuple[Labels, ...]
    booleans: tuple[StatedColumn | None, ...]

    @classmethod
    def of(
        cls,
        groups: Groups,
        columns: Sequence[Column],
        positions: Sequence[int],
        engine: Engine,
    ) -> Coding:
        """Check levels against what is declared of their columns; reads no record."""
        found = list(zip(positions, groups.levels, strict=True))
        booleans = tuple(
            boolean_column(engine, at) if _are_truths(levels) else None for at, levels in found
        )
        labels = tuple(
            _labels(columns[at], levels) if as_one is None else Labels(_truths(levels))
            for (at, levels), as_one in zip(found, booleans, strict=True)
        )
        for each in labels:
            each.load()
        return cls(tuple(positions), labels, booleans)

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
        pairs = list(zip(self.positions, self._asks, strict=True))
        told = zip(self.labels, self.booleans, self._asks, strict=True)
        return Asked(
            tuple(at for at, asks in pairs if asks.numbers),
            tuple(at for at, asks in pairs if asks.texts),
            tuple(
                labels.texts if boolean is None else None
                for labels, boolean, asks in told
                if asks.texts
            ),
        )

    def codes(self, numbers: Sequence[Floats], texts: Sequence[pa.BinaryArray]) -> Floats:
        """Return the group of each record, given the columns in the order of ``asked``."""
        as_numbers, as_texts = iter(numbers), iter(texts)
        found = []
        for labels, boolean, asks in zip(self.labels, self.booleans, self._asks, strict=True):
            cells = next(as_numbers) if asks.numbers else None
            spelled = next(as_texts) if asks.texts else None
            if boolean is not None:
                cells = boolean.declared.floats(cells, spelled)
            if labels.text:
                assert spelled is not None  # as `asks` says
                found.append(labels.codes_of_text(spelled))
            else:
                assert cells is not None
                found.append(labels.codes_of_numbers(cells))
        first, *rest = zip(found, self.labels, strict=True)
        code, none = first[0], first[0] == len(first[1].classes)
        for further, labels in rest:
            none |= further == len(labels.classes)
            code = code * len(labels.classes) + further
        code[none] = self.size
        return code

    @property
    def _asks(self) -> list[Asks]:
        return [
            Asks(numbers=not labels.text, texts=labels.text) if boolean is None else boolean.asks
            for labels, boolean in zip(self.labels, self.booleans, strict=True)
        ]


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


def boolean_column(engine: Engine, position: int) -> StatedColumn | None:
    """Return how a column is read where True and False are told apart.

    As it is declared, and by the usual words where nothing declares it; None if its type has them.
    """
    column = engine.columns()[position]
    declared = kinds_of(engine).get(column.name or "")
    if not isinstance(declared, Boolean):
        if column.kind is not Kind.CELLS:
            return None
        declared = Boolean()
    asks = declared.asks(column, engine.called)
    return StatedColumn(column.name or "", position, asks, declared)


def _are_truths(levels: Sequence[Level]) -> bool:
    return all(isinstance(level, bool) for level in levels)


def _truths(levels: Sequence[Level]) -> tuple[float, ...]:
    return tuple(float(level) for level in levels)


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
        Kind.TEXT: f"Give its levels as texts, as in {argument('by', {column.name: ['01', '02']})}",
        Kind.NUMBER: "Give its levels as numbers",
        Kind.BOOLEAN: "Give True and False",
    }.get(column.kind, "Choose a column of texts, numbers or truth values")
    raise SchemaError(
        f"{argument('by')}: column {column.name!r} holds {kind}, and its levels are {given}. "
        f"{remedy}."
    )
