"""Tables in memory whose columns have names: data frames, and mappings from names to columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import SchemaError
from kng.data.column_types import kind_of
from kng.data.engine import Asked, Blocks, Column, Kind, LocalEngine, Result
from kng.data.memory import MemoryEngine, column_part, frame_names
from kng.data.table import Table


class FrameEngine(LocalEngine):
    """A data frame or a mapping of columns; only the columns that are asked for are looked at."""

    called = "the data"
    room = 0

    def __init__(self, data: Any) -> None:
        self._data = data
        self._names = list(data) if isinstance(data, Mapping) else frame_names(data)
        self._chosen: tuple[dict[int, int], MemoryEngine] | None = None

    def columns(self) -> tuple[Column, ...]:
        """Return names and kinds; objects declare none, and categories inside the data neither."""
        return tuple(
            Column(str(name), *_declared(self._data, name, at))
            for at, name in enumerate(self._names)
        )

    def prepare(self, asked: Asked) -> None:
        """Take the columns, as arrays or lists, by their shape and type alone."""
        # A release may open the table twice, as a model does that looks at its response first.
        before = () if self._chosen is None else self._chosen[0]
        wanted = list(dict.fromkeys([*before, *asked.numbers, *asked.texts]))
        names = [self._names[at] for at in wanted]
        columns = [self._data[name] for name in names]
        if any(not hasattr(column, "__len__") for column in columns):
            raise SchemaError("a column must be an array, a list or a series.")
        if len({len(column) for column in columns}) > 1:
            raise SchemaError("the columns differ in length; give columns of one table.")
        places = {at: k for k, at in enumerate(wanted)}
        self._chosen = places, MemoryEngine([column_part(column) for column in columns])

    def count(self) -> int:
        """Return the number of records."""
        return self._engine[1].count()

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records in order."""
        places, engine = self._engine
        return engine.blocks(_moved(asked, places))

    def run(self, asked: Asked, task: Callable[[Blocks], Result]) -> Iterable[Result]:
        """Run a task over all records."""
        places, engine = self._engine
        return engine.run(_moved(asked, places), task)

    def whole(self, position: int) -> NDArray[Any] | None:
        """Return a column of numbers as one array, where it is one."""
        places, engine = self._engine
        return engine.whole(places[position])

    @property
    def _engine(self) -> tuple[dict[int, int], MemoryEngine]:
        assert self._chosen is not None  # by `prepare`
        return self._chosen


def _moved(asked: Asked, places: Mapping[int, int]) -> Asked:
    return Asked(tuple(places[at] for at in asked.numbers), tuple(places[at] for at in asked.texts))


def _declared(data: Any, name: Any, at: int) -> tuple[Kind, bool, str]:
    """Return what the type of a column says: its kind, whether cells can be missing, its name."""
    if isinstance(data, Mapping):
        dtype = getattr(data[name], "dtype", None)
    else:
        types = getattr(data, "dtypes", None)
        dtype = None if types is None else types.iloc[at] if hasattr(types, "iloc") else types[at]
    if dtype is None:
        return Kind.CELLS, True, ""
    # NumPy's own whole numbers and booleans have no way to be missing.
    never = isinstance(dtype, np.dtype) and dtype.kind in "iub"
    return kind_of(dtype), not never, str(dtype)


def open_table(table: Table) -> FrameEngine:
    """Open a data frame or a mapping of columns."""
    table.refuse("tables in memory", takes=())
    return FrameEngine(table.source)
