"""The one door: records become whole numbers here, one by one, and nothing they hold can raise.

    k = clamp( round_half_even( (x - low) / step ), 0, last ),     missing -> default

Only correctly rounded float64 operations are used, so the same record gives the same integers on
every engine, in every batch and in every position. Text that is not a number, None, NaN and rows
of the wrong width are missing; infinities are clipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.encoding import Encoding
from kng.core.protocols import Integers

Floats = NDArray[np.float64]


class Ingest:
    """Turn blocks of float64 into integers, in a buffer of its own."""

    __slots__ = ("_buffer", "_default", "_inverse", "_last", "_low", "_shifted", "_step")

    def __init__(self, encoding: Encoding) -> None:
        # One column is computed with scalars: broadcasting over a width of one is far slower.
        wide = len(encoding) > 1
        low, step, last, default = (
            np.array([float(v) for v in values]) if wide else np.float64(float(values[0]))
            for values in (encoding.bounds.low, encoding.step, encoding.last, encoding.missing)
        )
        self._low, self._step, self._last, self._default = low, step, last, default
        # Dividing by a power of two is multiplying by its inverse, exactly and faster.
        powers = np.all(np.frexp(step)[0] == 0.5)
        self._inverse = 1.0 / step if powers else None
        self._shifted = bool(np.any(low))
        self._buffer = np.empty((0, len(encoding)))

    def __call__(self, block: Floats) -> Integers:
        """Return the block's integers, valid until the next call."""
        if len(self._buffer) < len(block):
            self._buffer = np.empty(block.shape)
        rows = self._buffer[: len(block)]
        x, k = (block, rows) if block.shape[1] > 1 else (block[:, 0], rows[:, 0])
        with np.errstate(all="ignore"):
            if self._shifted:  # x - 0 is x
                x = np.subtract(x, self._low, out=k)
            if self._inverse is None:
                np.divide(x, self._step, out=k)
            else:
                np.multiply(x, self._inverse, out=k)
            np.clip(k, 0.0, self._last, out=k)
            np.rint(k, out=k)
            # The minimum is NaN exactly if something is missing; looking is cheaper than replacing.
            if np.isnan(k.min(initial=0.0)):
                np.copyto(k, self._default, where=np.isnan(k))
        return rows


def number(cell: Any) -> float:
    """Read one cell, whatever it is; what is not a number is missing.

    Only types whose conversion is silent are converted: a warning that one record provokes
    would be an output.
    """
    if type(cell) is float:
        return cell
    if isinstance(cell, list | tuple):
        return number(cell[0]) if len(cell) == 1 else np.nan
    if isinstance(cell, np.ndarray):
        return number(cell[0]) if cell.shape == (1,) else np.nan
    if not isinstance(cell, Real | Decimal | str | bytes | np.bool_):
        return np.nan
    try:
        return float(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf  # type: ignore[operator]
    except Exception:
        return np.nan


def numbers(cells: Iterable[Any]) -> Floats:
    """Read a column of cells."""
    return np.fromiter((number(cell) for cell in cells), dtype=np.float64)


def rows_of(rows: Sequence[Any], columns: int) -> Floats:
    """Read a sequence of rows; a row of another width is missing throughout."""
    block = np.full((len(rows), columns), np.nan)
    for i, row in enumerate(rows):
        if isinstance(row, list | tuple | np.ndarray) and len(row) == columns:
            block[i] = [number(cell) for cell in row]
    return block
