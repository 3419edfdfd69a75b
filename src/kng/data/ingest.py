"""The one door: records become whole numbers here, one by one, and nothing they hold can raise.

    k = clamp( round_half_even( (x - low) / step ), 0, last )
    missing -> the record is absent, or a default

Only correctly rounded float64 operations are used, so the same record gives the same integers on
every engine, in every batch and in every position. Text that is not a number, None, NaN and rows
of the wrong width are missing; infinities are clipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.encoding import Encoding
from kng.core.records import Integers

Floats = NDArray[np.float64]

# Stands for a missing cell that makes its record absent; whole numbers of records are 0 or more.
_ABSENT = -1.0


def prepare(encoding: Encoding) -> None:
    """Load what turns records into integers; called before anything is charged."""
    if len(encoding.step) > 1:
        from kng.core.compiled import load
        from kng.data import column_steps as loops

        load(loops.divide_column, loops.scale_column, loops.divide_columns, loops.scale_columns)


class Ingest:
    """Turn blocks of float64 into integers, in a buffer of its own.

    One column goes through NumPy, which needs no compiler; a table goes through compiled loops that
    apply the same operations and give the same integers. A record that lacks a cell without which
    it is absent is left out; ``present`` says after each call which are there, None for all.
    """

    __slots__ = (
        *("_buffer", "_default", "_drops", "_inverse", "_last", "_loops", "_low", "_step"),
        "present",
    )

    def __init__(self, encoding: Encoding) -> None:
        missing = [_ABSENT if value is None else value for value in encoding.missing]
        self._low, self._step, self._last, self._default = (
            np.array([float(v) for v in values])
            for values in (encoding.bounds.low, encoding.step, encoding.last, missing)
        )
        self._drops = bool(encoding.complete)
        self._inverse = inverses(self._step)
        self._loops = self._each() if len(encoding) > 1 else []
        self._buffer = np.empty(0)
        self.present: NDArray[np.bool_] | None = None

    def __call__(self, *blocks: Floats) -> Integers:
        """Return the integers of blocks of columns side by side, valid until the next call."""
        rows, width = len(blocks[0]), len(self._step)
        if self._buffer.size < rows * width:
            self._buffer = np.empty(rows * width)
        # Column after column in memory, as sums over records like it.
        columns = self._buffer[: rows * width].reshape(width, rows)
        self.present = None
        if width == 1:
            self._column(blocks[0][:, 0], columns[0])
            return self._there(columns).T
        at = 0
        for block in blocks:
            if block.strides[0] == block.itemsize:  # its columns are one after the other, too
                for j, cells in enumerate(block.T, start=at):
                    loop, *numbers = self._loops[j]
                    loop(cells, *numbers, columns[j])
            else:
                self._table(block, columns, at)
            at += block.shape[1]
        # Columns are in the cache, so looking costs little.
        if self._drops and columns.min(initial=0.0) <= _ABSENT:
            self.present = columns.min(axis=0) > _ABSENT
        return self._there(columns).T

    def _there(self, columns: Floats) -> Floats:
        """Leave out records that are absent; NumPy indexes by a mask three times as slowly."""
        return columns if self.present is None else columns.compress(self.present, axis=1)

    def _each(self) -> list[tuple[Any, ...]]:
        """Return the loop for each column and its four numbers."""
        # Loaded by `prepare`.
        from kng.data.column_steps import divide_column, scale_column

        scaled = np.where(self._inverse, self._inverse, self._step)
        loops = [scale_column if inverse else divide_column for inverse in self._inverse]
        numbers = np.stack([self._low, scaled, self._last, self._default], axis=1).tolist()
        return [(loop, *four) for loop, four in zip(loops, numbers, strict=True)]

    def _table(self, block: Floats, columns: Floats, at: int) -> None:
        """Go through the records one by one."""
        from kng.data.column_steps import divide_columns, scale_columns

        part = slice(at, at + block.shape[1])
        low, last, default = self._low[part], self._last[part], self._default[part]
        if np.all(self._inverse[part]):
            scale_columns(block, low, self._inverse[part], last, default, columns, at)
        else:
            divide_columns(block, low, self._step[part], last, default, columns, at)

    def _column(self, x: Floats, k: Floats) -> None:
        low, step, inverse, last = (
            v[0] for v in (self._low, self._step, self._inverse, self._last)
        )
        with np.errstate(all="ignore"):
            if low:  # x - 0 is x
                x = np.subtract(x, low, out=k)
            if inverse:
                np.multiply(x, inverse, out=k)
            else:
                np.divide(x, step, out=k)
            np.clip(k, 0.0, last, out=k)
            np.rint(k, out=k)
            # The minimum is NaN exactly if something is missing; looking is cheaper than replacing.
            if np.isnan(k.min(initial=0.0)):
                missing = np.isnan(k)
                if self._drops:
                    self.present = ~missing
                else:
                    np.copyto(k, self._default[0], where=missing)


def inverses(step: Floats) -> Floats:
    """Return 1 / step where that is the same, a power of two, and 0 elsewhere.

    Dividing by a power of two is multiplying by its inverse, exactly and faster.
    """
    with np.errstate(over="ignore"):
        inverse = 1.0 / step
    powers = (np.frexp(step)[0] == 0.5) & np.isfinite(inverse)
    return np.where(powers, inverse, 0.0)


def number(cell: Any) -> float:
    """Read one cell, whatever it is; what is not a number is missing.

    Text is read by the grammar of `kng.data.text.text_numbers`. Only types whose conversion is
    silent are converted: a warning that one record provokes would be an output.
    """
    if type(cell) is float:
        return cell
    try:
        return _read(cell)
    except Exception:  # a cell may bring code of its own
        return np.nan


def _read(cell: Any) -> float:
    if isinstance(cell, list | tuple | np.ndarray):
        alone = np.shape(cell) == (1,) if isinstance(cell, np.ndarray) else len(cell) == 1
        cell = cell[0] if alone else None  # one level: a list may hold itself
    if not isinstance(cell, Real | Decimal | str | bytes | np.bool_):
        return np.nan
    if isinstance(cell, str) and not cell.isascii():
        return np.nan  # digits and spaces of other scripts, as in files
    try:
        return float(cell)
    except OverflowError:
        above: Any = cell > 0  # type: ignore[operator]
        return np.inf if above else -np.inf  # on the side of a number too large for float64


def numbers(cells: Iterable[Any]) -> Floats:
    """Read a column of cells."""
    # A list of plain numbers is looked through faster than read cell by cell.
    if isinstance(cells, list) and set(map(type, cells)) <= {float, int}:
        with suppress(OverflowError):  # a whole number beyond float64
            return np.fromiter(cells, dtype=np.float64, count=len(cells))
    return np.fromiter((number(cell) for cell in cells), dtype=np.float64)


def rows_of(rows: Sequence[Any], columns: int) -> Floats:
    """Read a sequence of rows; a row of another width is missing throughout."""
    block = np.full((len(rows), columns), np.nan)
    for i, row in enumerate(rows):
        if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1):
            cells = [number(cell) for cell in row] if len(row) == columns else []
            block[i, : len(cells)] = cells
    return block
