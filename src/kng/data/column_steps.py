"""The ingestion rule for tables, compiled: one pass over each record, or over each column."""

from __future__ import annotations

import numpy as np

from kng.core.compiled import compiled

# A column of numbers side by side, which may be read-only; its four numbers; and where to write.
COLUMN = "void(Array(f8, 1, 'C', readonly=True, aligned=False), f8, f8, f8, f8, f8[::1])"
# A block of any layout, which may be read-only; four numbers a column; columns to write, and where.
TABLE = (
    "void(Array(f8, 2, 'A', readonly=True, aligned=False), f8[::1], f8[::1], f8[::1], f8[::1],"
    " f8[:,::1], i8)"
)

# Records that are turned at a time, for few columns and for more, as measured.
_FEW, _SOME, _MORE = 16, 32, 96


@compiled("f8(f8, f8, f8)", nogil=True)
def whole(value, last, default):  # type: ignore[no-untyped-def]
    """Return round_half_even(value), clamped, or the default."""
    value = 0.0 if value < 0.0 else value
    value = last if value > last else value
    value = np.rint(value)
    return default if np.isnan(value) else value


@compiled(COLUMN, nogil=True)
def divide_column(cells, low, step, last, default, out):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write round_half_even((x - low) / step), clamped, or the default."""
    for i in range(cells.size):
        out[i] = whole((cells[i] - low) / step, last, default)


@compiled(COLUMN, nogil=True)
def scale_column(cells, low, inverse, last, default, out):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write the same for a step that is a power of two, whose inverse is exact."""
    for i in range(cells.size):
        out[i] = whole((cells[i] - low) * inverse, last, default)


@compiled(TABLE, nogil=True)
def divide_columns(block, low, step, last, default, out, at):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write the same for the columns of a table into rows of ``out``.

    The same correctly rounded operations as the NumPy path of `kng.data.ingest`. Some records at a
    time are turned in the nearest cache, so that columns are computed and written many at a time.
    """
    rows, columns = block.shape
    some = _SOME if columns <= _FEW else _MORE
    turned = np.empty((columns, some))
    for start in range(0, rows, some):
        size = min(rows - start, some)
        for i in range(size):
            for j in range(columns):
                turned[j, i] = block[start + i, j]
        for j in range(columns):
            a, s, k, d = low[j], step[j], last[j], default[j]
            cells, found = turned[j, :size], out[at + j, start : start + size]
            for i in range(size):
                found[i] = whole((cells[i] - a) / s, k, d)


@compiled(TABLE, nogil=True)
def scale_columns(block, low, inverse, last, default, out, at):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write the same for steps that are powers of two."""
    rows, columns = block.shape
    some = _SOME if columns <= _FEW else _MORE
    turned = np.empty((columns, some))
    for start in range(0, rows, some):
        size = min(rows - start, some)
        for i in range(size):
            for j in range(columns):
                turned[j, i] = block[start + i, j]
        for j in range(columns):
            a, s, k, d = low[j], inverse[j], last[j], default[j]
            cells, found = turned[j, :size], out[at + j, start : start + size]
            for i in range(size):
                found[i] = whole((cells[i] - a) * s, k, d)
