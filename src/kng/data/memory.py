"""Records in memory: arrays, lists, series and data frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kng.core.encoding import BATCH_RECORDS
from kng.core.errors import SchemaError
from kng.data.column_types import KINDS, Typed
from kng.data.engine import (
    SECONDS,
    Asked,
    Block,
    Blocks,
    Column,
    Floats,
    Kind,
    LocalEngine,
    Result,
)
from kng.data.ingest import numbers, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

# What turns a kind of column into numbers, by NumPy's letter for it.
_CONVERSIONS = {
    "c": "column.real",
    "m": "column / np.timedelta64(1, 'D')",
    "V": "column['name'] for one field of a structured array",
}
_NO_TEXTS = frozenset((int, float, bool, type(None)))
_SPACES = " \t\n\r\x0b\x0c"


class MemoryEngine(LocalEngine):
    """Records held by the caller, read in blocks and never copied whole.

    ``parts`` are columns, or tables of rows, that stand side by side. What is checked here is
    their shape; no record is looked at.
    """

    called = "the data"
    room = 0  # they are in memory as they are

    def __init__(self, parts: Sequence[Part], names: Sequence[str] | None = None) -> None:
        self._parts = parts
        widths = [part.width for part in parts]
        self._at = [(i, j) for i, width in enumerate(widths) for j in range(width)]
        self._names = [None] * len(self._at) if names is None else list(names)

    def columns(self) -> tuple[Column, ...]:
        """Return names and kinds; an array of objects declares none."""
        parts = [self._parts[i] for i, _ in self._at]
        pairs = zip(self._names, parts, strict=True)
        return tuple(Column(name, part.kind, part.optional, part.declared) for name, part in pairs)

    def count(self) -> int:
        """Return the number of records."""
        return len(self._parts[0].cells)

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records in order."""
        return self._stream(asked, 0, self.count())

    def run(self, asked: Asked, task: Callable[[Blocks], Result]) -> Iterable[Result]:
        """Run over two halves of a large table, whose loops are compiled and free of the lock.

        One column stays in one piece: NumPy's steps hand the lock back and forth too often.
        """
        n, wide = self.count(), len(asked.numbers) + len(asked.texts)
        if wide == 1 or n < BATCH_RECORDS:
            return [task(self.blocks(asked))]
        halves = self._stream(asked, 0, n // 2), self._stream(asked, n // 2, n)
        with ThreadPoolExecutor(len(halves)) as threads:
            futures = [threads.submit(task, half) for half in halves]
        return [future.result() for future in futures]

    def whole(self, position: int) -> NDArray[Any] | None:
        """Return a column of numbers as one array, where it is one."""
        i, j = self._at[position]
        part = self._parts[i]
        if not part.numeric:
            return None
        found: NDArray[Any] = part.cells if part.width == 1 else part.cells[:, j]
        return found

    def _stream(self, asked: Asked, first: int, end: int) -> Iterator[Block]:
        size = max(1, BATCH_RECORDS // max(1, len(asked.numbers)))
        wanted, texts = self._wanted(asked.numbers), [self._at[k] for k in asked.texts]
        for at in range(first, end, size):
            rows = slice(at, min(at + size, end))
            yield Block(
                [part.block(rows) if j is None else part.column(rows, j) for part, j in wanted],
                [self._parts[i].text(rows, j) for i, j in texts],
            )

    def _wanted(self, positions: Sequence[int]) -> list[tuple[Part, int | None]]:
        """Return parts, whole where all of their columns are wanted in order."""
        wanted: list[tuple[Part, int | None]] = []
        at = 0
        while at < len(positions):
            i, j = self._at[positions[at]]
            part = self._parts[i]
            run = [self._at[k] for k in positions[at : at + part.width]]
            whole = run == [(i, k) for k in range(part.width)]
            wanted.append((part, None if whole else j))
            at += part.width if whole else 1
        return wanted


def covariates_of(data: Any, width: int) -> Floats:
    """Return covariates as float64, each cell read as a record's is; what is missing is NaN.

    For predictions, which nothing is charged for: the result stays with whoever holds the data.
    """
    parts = layout(data, width)
    for column in MemoryEngine(parts).columns():
        if column.kind is Kind.DATE:
            column.require_number("X")
    rows = slice(0, len(parts[0].cells))
    first, *rest = (part.block(rows) for part in parts)
    # Column after column, as a data frame holds them.
    return np.concatenate([first.T, *(block.T for block in rest)]).T if rest else first


@dataclass(frozen=True, slots=True)
class Part:
    """A column of cells, or a table of ``width`` > 1 columns."""

    cells: Any
    width: int = 1
    # What the caller's own type says, where it is no type of NumPy.
    typed: Typed | None = None

    @property
    def numeric(self) -> bool:
        """Whether the cells are an array of numbers."""
        return isinstance(self.cells, np.ndarray) and self.cells.dtype.kind in "fiub"

    @property
    def kind(self) -> Kind:
        """What the type declares its cells to be."""
        if self.typed is not None:
            return self.typed.kind
        return KINDS.get(self._letter, Kind.CELLS)

    @property
    def declared(self) -> str:
        """The type of an array, where cells have one."""
        if self.typed is not None:
            return self.typed.name
        return "" if self.kind is Kind.CELLS else str(self.cells.dtype)

    @property
    def optional(self) -> bool:
        """Whether a cell can be missing: not in NumPy's whole numbers and booleans."""
        return self.typed is not None or not (self.numeric and self._letter in "iub")

    @property
    def _letter(self) -> str:
        """NumPy's letter for what is held, O for lists."""
        return str(getattr(getattr(self.cells, "dtype", None), "kind", "O"))

    def block(self, rows: slice) -> Floats:
        """Return some rows as a table of float64."""
        cells = self.cells[rows]
        if self.width == 1:
            return self._floats(cells).reshape(-1, 1)
        plain = self.numeric or self._letter == "M"
        return self._floats(cells) if plain else rows_of(cells, self.width)

    def _floats(self, cells: Any) -> Floats:
        """Return an array or a list as float64."""
        if self.numeric:
            return np.asarray(cells.astype(np.float64, copy=False))
        return _seconds(cells) if self._letter == "M" else numbers(cells)

    def column(self, rows: slice, j: int) -> Floats:
        """Return some rows of one column."""
        if self.width == 1 or not self.numeric:
            return self.block(rows)[:, j : j + 1]
        return np.asarray(self.cells[rows, j : j + 1].astype(np.float64, copy=False))

    def text(self, rows: slice, j: int) -> pa.BinaryArray:
        """Return some rows of one column as text; what is no text is null."""
        import pyarrow as pa

        cells = self.cells[rows]
        if self.width > 1:
            cells = [
                row[j] if np.ndim(row) == 1 and len(row) == self.width else None for row in cells
            ]
        found = _plain_texts(cells)
        return pa.array([_bytes(cell) for cell in cells], pa.binary()) if found is None else found


def _plain_texts(cells: Any) -> pa.BinaryArray | None:
    """Return an array of texts and missing cells by Arrow's own loop; None if it holds others.

    It gives what `_bytes` gives, ten times as fast.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(cells, np.ndarray) or cells.dtype.kind != "O":
        return None
    try:
        texts = pa.array(cells, pa.string(), from_pandas=True)
        return pc.ascii_trim(texts, _SPACES).cast(pa.binary())
    except Exception:  # of Arrow, of characters that are none, of a cell's own code
        return None


def _seconds(cells: NDArray[np.datetime64]) -> Floats:
    """Return dates as seconds since the beginning of 1970, rounded once; NaN where one lacks."""
    unit, count = np.datetime_data(cells.dtype)
    if unit not in SECONDS or count != 1:
        # Months and years are no number of seconds, but days; finer than ns is no time of a record.
        unit = "D" if unit in ("Y", "M", "W") else "s" if unit in ("h", "m", "s") else "ns"
    cells = cells.astype(f"datetime64[{unit}]", copy=False)
    found = cells.view(np.int64) * SECONDS[unit][0] / SECONDS[unit][1]
    found[np.isnat(cells)] = np.nan
    return np.asarray(found)


def _bytes(cell: Any) -> bytes | None:
    """Return a cell that is text as bytes, without spaces around it; None for any other.

    A date is text, too, as it is written in files.
    """
    kind = type(cell)
    if kind is str:
        # Spaces of other scripts stay, as in files.
        return cell.encode("utf-8", "replace").strip()  # type: ignore[no-any-return]
    return None if kind in _NO_TEXTS else _alone(cell)


def _alone(cell: Any) -> bytes | None:
    """Read a cell as Arrow's loop would: another one decides whether that reads a whole block."""
    one = np.empty(1, dtype=object)
    one[0] = cell
    found = _plain_texts(one)
    if found is not None:
        return found[0].as_py()  # type: ignore[no-any-return]
    if isinstance(cell, str):
        return str.encode(cell, "utf-8", "replace").strip()
    if isinstance(cell, bytes):
        return bytes.strip(cell)
    return _iso(cell) if isinstance(cell, date) else None


def _iso(cell: date) -> bytes | None:
    """Write a date; a class of the caller's may fail to."""
    try:
        return cell.isoformat().encode()
    except Exception:
        return None


def layout(data: Any, width: int) -> list[Part]:
    """Return the columns of a frame, or one table of rows, by their shapes alone."""
    if not is_named(data):
        return [_part(data, width)]
    names = list(data) if isinstance(data, Mapping) else frame_names(data)
    if len(names) != width:
        raise SchemaError(
            f"the data have {len(names)} columns, the bounds describe {width}. "
            "Give bounds as {column: (low, high)} to choose columns."
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SchemaError(f"two columns are named {str(twice[0])!r}; rename one of them.")
    return [column_part(data[name]) for name in names]


def is_named(data: Any) -> bool:
    """Tell a table with named columns; asked of the type, because a series answers for records."""
    return isinstance(data, Mapping) or hasattr(type(data), "columns")


def frame_names(data: Any) -> list[Any]:
    """Return the names of a data frame's columns, whatever they are."""
    if not hasattr(type(data), "__len__"):
        raise SchemaError(
            f"data must be a table in memory, got {type(data).__name__}. Collect it first."
        )
    # Arrow's tables call their arrays columns.
    return list(data.column_names if hasattr(type(data), "column_names") else data.columns)


def column_part(column: Any) -> Part:
    """Return one column."""
    return _part(column, 1)


def _part(data: Any, width: int) -> Part:
    """Return one column or table, by its shape and type alone."""
    if type(data).__module__.startswith("polars."):
        try:
            data = data.to_arrow()
        except (TypeError, ValueError):  # Arrow's errors are of these kinds; the type decides
            raise SchemaError(
                f"a column is of type {data.dtype}, which Arrow does not have. Cast it first."
            ) from None
    # Soon told, for small releases.
    typed = None if isinstance(data, np.ndarray | list) else Typed.of(data)
    data = _cells(data)
    if isinstance(data, np.ndarray):
        return replace(_array(data, width), typed=typed)
    if isinstance(data, str | bytes | deque) or not isinstance(data, Sequence):
        # A set would be a trap: it drops equal records, so n would depend on their content. A
        # queue cannot be cut into batches.
        raise SchemaError(
            f"data must be an array, a list, a series or a data frame, got {type(data).__name__}."
        )
    return Part(data, width)


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
    elif hasattr(getattr(data, "dtype", None), "pyarrow_dtype"):
        data = _of_arrow(data)
    elif getattr(getattr(data, "dtype", None), "tz", None) is not None:
        data = data.to_numpy(dtype=f"datetime64[{data.dtype.unit}]")  # instants, without their zone
    elif hasattr(data, "to_numpy"):
        data = data.to_numpy()
    if isinstance(data, np.ma.MaskedArray):
        # Cell by cell through objects: a conversion of the whole array would raise on content.
        data = np.ma.filled(data.astype(object), None)
    if isinstance(data, np.ndarray):
        data = np.asarray(data)  # a matrix would stay a matrix when a column is taken
    if isinstance(data, np.ndarray) and data.dtype.kind not in "fiubOUSTM":
        raise SchemaError(
            f"a column must hold numbers, got {data.dtype}. Convert it first, as in "
            f"{_CONVERSIONS.get(data.dtype.kind, 'column.astype(float)')}."
        )
    return data


def _of_arrow(data: Any) -> Any:
    """Return a column of pandas that Arrow holds; its dates would be objects where one lacks."""
    import pyarrow as pa

    kinds = pa.types
    arrow = data.dtype.pyarrow_dtype
    if kinds.is_date(arrow) or kinds.is_timestamp(arrow):
        return np.asarray(pa.chunked_array(pa.array(data), type=arrow))
    return data.to_numpy()
