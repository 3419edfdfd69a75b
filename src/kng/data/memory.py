"""Records in memory: arrays, lists, series and data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kng.core.encoding import BATCH_RECORDS, Encoding
from kng.core.errors import SchemaError
from kng.data.batches import Batches, BatchSource
from kng.data.ingest import Floats, Ingest, numbers, rows_of


class MemorySource(BatchSource):
    """Records held by the caller, read in batches and never copied whole.

    What is checked here is shape: columns and their number. No record is looked at.
    """

    def __init__(self, data: Any, encoding: Encoding) -> None:
        self._encoding = encoding
        self._columns, self._rows = _layout(data, encoding)

    def count(self) -> int:
        """Return the number of records."""
        return len(self._rows if self._rows is not None else self._columns[0])

    def batches(self) -> Batches:
        """Yield the records as integers."""
        ingest, n = Ingest(self._encoding), self.count()
        for at in range(0, n, BATCH_RECORDS):
            yield ingest(self._block(slice(at, at + BATCH_RECORDS)))

    def _block(self, part: slice) -> Floats:
        if self._rows is not None:
            return _floats_2d(self._rows[part], len(self._encoding))
        columns = [_floats_1d(column[part]) for column in self._columns]
        return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)


def _layout(data: Any, encoding: Encoding) -> tuple[list[Any], Any]:
    """Return the data as a list of columns, or as one sequence of rows."""
    names, width = encoding.bounds.columns, len(encoding)
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        return [_cells(column) for column in _named(data, names, width)], None
    if names is not None:
        raise SchemaError(
            f"bounds name columns ({', '.join(names)}), but the data have no column names. "
            "Give a data frame, or bounds as a pair."
        )
    data = _cells(data)
    if isinstance(data, np.ndarray):
        return _array(data, width)
    if isinstance(data, str | bytes) or not isinstance(data, Sequence):
        # A set would be a trap: it drops equal records, so n would depend on their content.
        raise SchemaError(
            f"data must be an array, a list, a series or a data frame, got {type(data).__name__}."
        )
    return ([data], None) if width == 1 else ([], data)


def _named(data: Any, names: tuple[str, ...] | None, width: int) -> list[Any]:
    labels = getattr(data, "column_names", None) or getattr(data, "columns", None)
    available = list(data.keys() if isinstance(data, Mapping) or labels is None else labels)
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
    columns = [data[name] for name in wanted]
    if len({len(column) for column in columns}) > 1:
        raise SchemaError("the columns differ in length; give columns of one table.")
    return columns


def _array(data: np.ndarray[Any, Any], width: int) -> tuple[list[Any], Any]:
    if data.ndim == 1 and width == 1:
        return [data], None
    if data.ndim == 2 and data.shape[1] == width:
        return ([data[:, 0]], None) if width == 1 else ([], data)
    if data.ndim == 1:
        raise SchemaError(
            f"the data have one column, the bounds describe {width}. "
            "Give one row per record and one column per bound."
        )
    raise SchemaError(
        f"data must have one row per record and {width} column{'s'[: width > 1]}, as the bounds "
        f"do; got an array of shape {' x '.join(map(str, ('n', *data.shape[1:])))}."
    )


def _cells(data: Any) -> Any:
    """Return an array or a list; the kind of a column is public, so a wrong one may be named."""
    if hasattr(data, "to_numpy"):
        data = data.to_numpy()
    if isinstance(data, np.ma.MaskedArray):
        # Cell by cell through objects: a conversion of the whole array would raise on content.
        data = np.ma.filled(data.astype(object), None)
    if isinstance(data, np.ndarray) and data.dtype.kind not in "fiubOUST":
        raise SchemaError(
            f"a column must hold numbers, got {data.dtype}. Convert it first, as in "
            "(column - start) / np.timedelta64(1, 'D')."
        )
    return data


def _floats_1d(cells: Any) -> Floats:
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub":
        return cells.astype(np.float64, copy=False)
    return numbers(cells)


def _floats_2d(rows: Any, columns: int) -> Floats:
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub":
        return rows.astype(np.float64, copy=False)
    return rows_of(rows, columns)
