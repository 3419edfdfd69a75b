"""The ingestion rule for tables, compiled: one pass over each record."""

from __future__ import annotations

import numpy as np

from kng.core.compiled import compiled

# A block of any layout, which may be read-only; four numbers a column; columns to write, and where.
TABLE = (
    "void(Array(f8, 2, 'A', readonly=True, aligned=False), f8[::1], f8[::1], f8[::1], f8[::1],"
    " f8[:,::1], i8)"
)


@compiled("f8(f8, f8, f8)", nogil=True)
def whole(value, last, default):  # type: ignore[no-untyped-def]
    """Return round_half_even(value), clamped, or the default."""
    value = 0.0 if value < 0.0 else value
    value = last if value > last else value
    value = np.rint(value)
    return default if np.isnan(value) else value


@compiled(TABLE, nogil=True)
def divide_columns(block, low, step, last, default, out, at):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write round_half_even((x - low) / step), clamped, or the default, into rows of ``out``.

    The same correctly rounded operations as the NumPy path of `kng.data.ingest`. Four records at
    a time: a row of ``out`` is a column of the table, and neighbours in it are written together.
    """
    rows, columns = block.shape
    fours = rows - rows % 4
    for i in range(0, fours, 4):
        for j in range(columns):
            a, s, k, d = low[j], step[j], last[j], default[j]
            out[at + j, i] = whole((block[i, j] - a) / s, k, d)
            out[at + j, i + 1] = whole((block[i + 1, j] - a) / s, k, d)
            out[at + j, i + 2] = whole((block[i + 2, j] - a) / s, k, d)
            out[at + j, i + 3] = whole((block[i + 3, j] - a) / s, k, d)
    for i in range(fours, rows):
        for j in range(columns):
            out[at + j, i] = whole((block[i, j] - low[j]) / step[j], last[j], default[j])


@compiled(TABLE, nogil=True)
def scale_columns(block, low, inverse, last, default, out, at):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write the same for steps that are powers of two, whose inverse is exact."""
    rows, columns = block.shape
    fours = rows - rows % 4
    for i in range(0, fours, 4):
        for j in range(columns):
            a, s, k, d = low[j], inverse[j], last[j], default[j]
            out[at + j, i] = whole((block[i, j] - a) * s, k, d)
            out[at + j, i + 1] = whole((block[i + 1, j] - a) * s, k, d)
            out[at + j, i + 2] = whole((block[i + 2, j] - a) * s, k, d)
            out[at + j, i + 3] = whole((block[i + 3, j] - a) * s, k, d)
    for i in range(fours, rows):
        for j in range(columns):
            out[at + j, i] = whole((block[i, j] - low[j]) * inverse[j], last[j], default[j])
