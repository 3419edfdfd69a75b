"""Records in memory: arrays, lists, series and data frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kng.core.encoding import BATCH_RECORDS, Encoding
from kng.core.errors import SchemaError
from kng.core.parts import Point
from kng.data.ingest import Floats, Ingest, numbers, prepare, rows_of
from kng.data.source import Batches, BatchSource
from kng.data.sums import MANY, ColumnSum

# What turns a kind of column into numbers, by NumPy's letter for it.
_CONVERSIONS = {
    "c": "column.real",
    "M": "(column - start) / np.timedelta64(1, 'D')",
    "m": "column / np.timedelta64(1, 'D')",
    "V": "column['name'] for one field of a structured array",
}


class MemorySource(BatchSource):
    """Records held by the caller, read in batches and never copied whole.

    ``parts`` are columns, or tables of rows, that stand side by side. What is checked here is
    their shape; no record is looked at.
    """

    def __init__(self, parts: list[Part], encoding: Encoding) -> None:
        self._parts, self._encoding = parts, encoding
        self._column_sum: ColumnSum | None = None
        prepare(encoding)

    @classmethod
    def of(cls, data: Any, encoding: Encoding) -> MemorySource:
        """Open an array, list, series, data frame or mapping of columns."""
        return cls(_layout(data, encoding.bounds.columns, len(encoding.step)), encoding)

    @classmethod
    def regression(cls, X: Any, y: Any, encoding: Encoding) -> Self:
        """Open covariates and a response that stand side by side."""
        covariates = _layout(X, encoding.bounds.columns, len(encoding.step) - 1)
        response = _layout(y, None, 1)
        if len(covariates[0].cells) != len(response[0].cells):
            raise SchemaError("X and y differ in their number of records.")
        return cls([*covariates, *response], encoding)

    def count(self) -> int:
        """Return the number of records."""
        return len(self._parts[0].cells)

    def batches(self) -> Batches:
        """Yield the records as integers."""
        return self._stream(0, self.count())

    def prepare_sums(self, records: int) -> None:
        """Load a compiled sum for many numbers in one array."""
        if len(self._encoding.step) == 1 and records >= MANY and self._parts[0].numeric:
            self._column_sum = ColumnSum(self._encoding, self._parts[0].cells.dtype)

    def sums(self) -> tuple[int, Point]:
        """Return the number of records and the exact sum of each column."""
        if self._column_sum is None:
            return super().sums()
        return self.count(), (self._column_sum(self._parts[0].cells),)

    def streams(self) -> Sequence[Batches]:
        """Return two halves of a large table, whose loops are compiled and free of the lock.

        One column stays in one piece: NumPy's steps hand the lock back and forth too often.
        """
        n = self.count()
        if len(self._encoding.step) == 1 or n < BATCH_RECORDS:
            return (self.batches(),)
        return self._stream(0, n // 2), self._stream(n // 2, n)

    def _stream(self, first: int, end: int) -> Batches:
        ingest = Ingest(self._encoding)
        # The wider the table the fewer its rows: about a megabyte, which stays in the cache.
        size = max(1, BATCH_RECORDS // len(self._encoding.step))
        for at in range(first, end, size):
            rows = slice(at, min(at + size, end))
            yield ingest(*self._blocks(rows))

    def _blocks(self, rows: slice) -> list[Floats]:
        """Return some rows, column by column or table by table."""
        return [part.block(rows) for part in self._parts]


def covariates_of(data: Any, width: int) -> Floats:
    """Return covariates as float64, each cell read as a record's is; what is missing is NaN.

    For predictions, which nothing is charged for: the result stays with whoever holds the data.
    """
    parts = _layout(data, None, width)
    rows = slice(0, len(parts[0].cells))
    first, *rest = (part.block(rows) for part in parts)
    # Column after column, as a data frame holds them.
    return np.concatenate([first.T, *(block.T for block in rest)]).T if rest else first


@dataclass(frozen=True, slots=True)
class Part:
    """A column of cells, or a table of ``width`` > 1 columns."""

    cells: Any
    width: int = 1

    @property
    def numeric(self) -> bool:
        """Whether the cells are an array of numbers."""
        return isinstance(self.cells, np.ndarray) and self.cells.dtype.kind in "fiub"

    def block(self, rows: slice) -> Floats:
        """Return some rows as a table of float64."""
        cells = self.cells[rows]
        if self.width == 1:
            column = cells.astype(np.float64, copy=False) if self.numeric else numbers(cells)
            return column.reshape(-1, 1)
        return cells.astype(np.float64, copy=False) if self.numeric else rows_of(cells, self.width)


def _layout(data: Any, names: tuple[str, ...] | None, width: int) -> list[Part]:
    """Return the data as columns, or as one table of rows."""
    # Asked of the type: a series answers for the labels of its records as well.
    if isinstance(data, Mapping) or hasattr(type(data), "columns"):
        if not hasattr(type(data), "__len__"):
            raise SchemaError(
                f"data must be a table in memory, got {type(data).__name__}. Collect it first."
            )
        return [_part(column, 1) for column in _named(data, names, width)]
    if names is not None:
        raise SchemaError(
            f"bounds name columns ({', '.join(names)}), but the data have no column names. "
            "Give a data frame, or bounds as a pair."
        )
    return [_part(data, width)]


def _part(data: Any, width: int) -> Part:
    """Return one column or table, by its shape alone."""
    data = _cells(data)
    if isinstance(data, np.ndarray):
        return _array(data, width)
    if isinstance(data, str | bytes | deque) or not isinstance(data, Sequence):
        # A set would be a trap: it drops equal records, so n would depend on their content. A
        # queue cannot be cut into batches.
        raise SchemaError(
            f"data must be an array, a list, a series or a data frame, got {type(data).__name__}."
        )
    return Part(data, width)


def _named(data: Any, names: tuple[str, ...] | None, width: int) -> list[Any]:
    if isinstance(data, Mapping):
        available = list(data)
    else:
        arrow = hasattr(type(data), "column_names")
        available = list(data.column_names if arrow else data.columns)
    if names is None:
        if len(available) != width:
            raise SchemaError(
                f"the data have {len(available)} columns, the bounds describe {width}. "
                "Give bounds as {column: (low, high)} to choose columns."
            )
        wanted = available
    else:
        known = {str(name): name for name in available}
        absent = [name for name in names if name not in known]
        if absent:
            raise SchemaError(
                f"no column named {absent[0]!r}; the data have "
                f"{', '.join(repr(str(name)) for name in available)}."
            )
        wanted = [known[name] for name in names]
    twice = [name for name in wanted if available.count(name) > 1]
    if twice:
        raise SchemaError(f"two columns are named {str(twice[0])!r}; rename one of them.")
    columns = [data[name] for name in wanted]
    if any(not hasattr(column, "__len__") for column in columns):
        raise SchemaError("a column must be an array, a list or a series.")
    if len({len(column) for column in columns}) > 1:
        raise SchemaError("the columns differ in length; give columns of one table.")
    return columns


def _array(data: np.ndarray[Any, Any], width: int) -> Part:
    if data.ndim == 1 and width == 1:
        return Part(data)
    if data.ndim == 2 and data.shape[1] == width:
        return Part(data[:, 0]) if width == 1 else Part(data, width)
    if data.ndim == 1:
        raise SchemaError(
            f"the data have one column, the bounds describe {width}. "
            "Give one row per record and one column per bound."
        )
    remedy = "bounds with one low and one high per column" if data.ndim == 2 else "a flat table"
    raise SchemaError(
        f"data must have one row per record and {width} column{'s'[: width > 1]}, as the bounds "
        f"do; got an array of shape {' x '.join(map(str, ('n', *data.shape[1:])))}. Give {remedy}."
    )


def _cells(data: Any) -> Any:
    """Return an array or a list; the kind of a column is public, so a wrong one may be named."""
    if hasattr(data, "to_pylist"):
        data = np.asarray(data)  # Arrow's own to_numpy raises where an array has nulls
    elif hasattr(data, "to_numpy"):
        data = data.to_numpy()
    if isinstance(data, np.ma.MaskedArray):
        # Cell by cell through objects: a conversion of the whole array would raise on content.
        data = np.ma.filled(data.astype(object), None)
    if isinstance(data, np.ndarray):
        data = np.asarray(data)  # a matrix would stay a matrix when a column is taken
    if isinstance(data, np.ndarray) and data.dtype.kind not in "fiubOUST":
        raise SchemaError(
            f"a column must hold numbers, got {data.dtype}. Convert it first, as in "
            f"{_CONVERSIONS.get(data.dtype.kind, 'column.astype(float)')}."
        )
    return data
