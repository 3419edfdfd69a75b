"""A table where it lives: its public columns, the number of its records, and blocks of cells.

An engine reads; it does not know what the cells are for. Which columns are wanted, and how they
become whole numbers, is said by a recipe (`kng.data.recipe`) and by an encoding. What is public of
a table (names, kinds, whether a cell can be missing) is known when it is opened, from headers,
footers, schemas and types. No cell is looked at for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import SchemaError
from kng.core.events import watched
from kng.core.privacy import Assumption
from kng.core.promise import Promise
from kng.core.records import USUAL_MEMORY

if TYPE_CHECKING:
    import pyarrow as pa

    from kng.data.kinds import Declared
    from kng.data.table import Table

Floats = NDArray[np.float64]
# Seconds of a unit of time: so many times its number, over so many.
SECONDS = {
    **{"W": (604800.0, 1.0), "D": (86400.0, 1.0), "h": (3600.0, 1.0), "m": (60.0, 1.0)},
    **{"s": (1.0, 1.0), "ms": (1.0, 1e3), "us": (1.0, 1e6), "ns": (1.0, 1e9)},
}
Result = TypeVar("Result")


class Kind(StrEnum):
    """What the cells of a column are, as the container declares it."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    TEXT = "text"
    CELLS = "cells"  # nothing declares it: a CSV file, a list, an array of objects
    OTHER = "other"

    @property
    def held(self) -> str:
        """What a column of this kind holds, in a message."""
        return {"cells": "cells", "text": "text", "other": "other values"}.get(self, f"{self}s")


# How a column that is no number becomes one.
_REMEDIES = {
    Kind.TEXT: "Declare it as a category or a boolean, or convert it to a number first",
    Kind.DATE: "Give its bounds as dates, as in ('2020-01-01', '2024-12-31')",
    Kind.OTHER: "Choose a column of numbers",
}


@dataclass(frozen=True, slots=True)
class Column:
    """What is public of a column; ``declared`` is its type in the container's own words."""

    name: str | None
    kind: Kind = Kind.CELLS
    optional: bool = True  # whether a cell can be missing
    declared: str = ""

    def require_number(self, called: str) -> None:
        """Refuse a column that is declared to be something else; ``called`` is its table."""
        if self.kind not in _REMEDIES:
            return
        name = "a column" if self.name is None else f"column {self.name!r}"
        declared = f" ({self.declared})" if self.declared else ""
        raise SchemaError(
            f"{name} of {called} holds {self.kind.held}{declared}, and a number is needed. "
            f"{_REMEDIES[self.kind]}."
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """Which columns are wanted, by position: as numbers, and as text.

    ``levels`` has, for each column of text, the only texts that are told apart: an engine may
    return such a column as a dictionary, null where it is none of them. None: all are wanted.
    """

    numbers: tuple[int, ...]
    texts: tuple[int, ...] = ()
    levels: tuple[tuple[str, ...] | None, ...] = ()

    @property
    def texts_with_levels(self) -> list[tuple[int, tuple[str, ...] | None]]:
        """The columns of text, each with its levels."""
        unstated = (None,) * (len(self.texts) - len(self.levels))
        return list(zip(self.texts, (*self.levels, *unstated), strict=True))


@dataclass(frozen=True, slots=True)
class Block:
    """Some records: columns of numbers, in tables side by side, and columns of text.

    What is missing, or is no number, is NaN. Dates are seconds since the beginning of 1970. Text is
    bytes, null where it is missing.
    """

    numbers: Sequence[Floats]
    texts: Sequence[pa.BinaryArray] = ()

    def __len__(self) -> int:
        return len(self.numbers[0]) if self.numbers else len(self.texts[0])

    def part(self, first: int, end: int) -> Block:
        """Return some of the records; nothing is copied."""
        return Block(
            [table[first:end] for table in self.numbers],
            [column.slice(first, end - first) for column in self.texts],
        )


Blocks = Iterator[Block]


class Engine(Protocol):
    """A table; every method may be called again and then sees the same records."""

    called: str  # what messages call it: the name of a file, or "the data"
    memory: int  # bytes that what is made of its records may take
    room: int  # bytes in which whole numbers may be kept from one pass to the next; 0 for none
    origin: Table | None = None  # the declaration that it was opened by
    # What the caller has stated and nobody checks.
    assumptions: tuple[Assumption, ...] = ()
    # What is declared for every release from it.
    promise: Promise | None = None
    # Of a query that can drop or multiply rows: how many one record adds or removes, at most.
    rows_per_record: int | None = None
    # What the caller declares of columns, by their names.
    stated: Mapping[str, Declared] = MappingProxyType({})

    def columns(self) -> tuple[Column, ...]:
        """Return what is public of its columns; reads no record."""
        ...

    def advice(self, wanted: Sequence[str]) -> str:
        """Return a sentence that helps where columns are not found; empty if there is none."""
        ...

    def prepare(self, asked: Asked) -> None:
        """Load what reading these columns needs, and refuse what cannot be read; reads no record.

        Called before anything is counted or charged.
        """
        ...

    def count(self) -> int:
        """Return the number of records; before the charge only where it is public."""
        ...

    def run(self, asked: Asked, task: Callable[[Blocks], Result]) -> Iterable[Result]:
        """Run a task over all records, where they are; one result for each share of them.

        Together the shares are all records, each once, in whatever order.
        """
        ...

    def close(self) -> None:
        """Let go of what was held since the table was opened."""
        ...


def state_schema(engine: Engine, kinds: Sequence[Kind]) -> None:
    """State on the receipt that the container's types decide how cells are read."""
    if Kind.BOOLEAN in kinds or Kind.DATE in kinds:
        both = (*engine.assumptions, Assumption.PUBLIC_SCHEMA)
        engine.assumptions = tuple(dict.fromkeys(both))


def kinds_of(engine: Engine) -> Mapping[str, Declared]:
    """Return what the caller declares of columns; an engine of others says nothing."""
    return getattr(engine, "stated", MappingProxyType({}))


class LocalEngine(Engine, Protocol):
    """An engine whose blocks come into this process."""

    memory: int = USUAL_MEMORY

    def blocks(self, asked: Asked) -> Blocks:
        """Yield all records, each once."""
        ...

    def advice(self, wanted: Sequence[str]) -> str:  # noqa: ARG002
        """Know no more than the names."""
        return ""

    def prepare(self, asked: Asked) -> None:  # noqa: ARG002
        """Need nothing."""
        return

    def run(self, asked: Asked, task: Callable[[Blocks], Result]) -> Iterable[Result]:
        """Run a task over all records in one go."""
        yield task(watched(self.blocks(asked)))

    def close(self) -> None:
        """Hold nothing, so let go of nothing."""
        return


@runtime_checkable
class WholeColumns(Protocol):
    """An engine that can show a column of numbers as one array, without copying it."""

    def whole(self, position: int) -> NDArray[Any] | None:
        """Return the array; None where a column is not one."""
        ...
