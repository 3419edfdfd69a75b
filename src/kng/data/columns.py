"""The ingestion rule for tables, compiled: one pass over each record."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def _whole(value, last, default):  # type: ignore[no-untyped-def]
    """Return round_half_even(value), clamped, or the default."""
    value = 0.0 if value < 0.0 else value
    value = last if value > last else value
    value = np.rint(value)
    return default if np.isnan(value) else value


@njit(cache=True, nogil=True, error_model="numpy")
def divide_columns(block, low, step, last, default, out, at):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write round_half_even((x - low) / step), clamped, or the default, into columns of ``out``.

    The same correctly rounded operations as the NumPy path of `kng.data.ingest`. Four records at
    a time: ``out`` holds column after column, and neighbours in a column are written together.
    """
    rows, columns = block.shape
    fours = rows - rows % 4
    for i in range(0, fours, 4):
        for j in range(columns):
            a, s, k, d = low[j], step[j], last[j], default[j]
            out[i, at + j] = _whole((block[i, j] - a) / s, k, d)
            out[i + 1, at + j] = _whole((block[i + 1, j] - a) / s, k, d)
            out[i + 2, at + j] = _whole((block[i + 2, j] - a) / s, k, d)
            out[i + 3, at + j] = _whole((block[i + 3, j] - a) / s, k, d)
    for i in range(fours, rows):
        for j in range(columns):
            out[i, at + j] = _whole((block[i, j] - low[j]) / step[j], last[j], default[j])


@njit(cache=True, nogil=True, error_model="numpy")
def scale_columns(block, low, inverse, last, default, out, at):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write the same for steps that are powers of two, whose inverse is exact."""
    rows, columns = block.shape
    fours = rows - rows % 4
    for i in range(0, fours, 4):
        for j in range(columns):
            a, s, k, d = low[j], inverse[j], last[j], default[j]
            out[i, at + j] = _whole((block[i, j] - a) * s, k, d)
            out[i + 1, at + j] = _whole((block[i + 1, j] - a) * s, k, d)
            out[i + 2, at + j] = _whole((block[i + 2, j] - a) * s, k, d)
            out[i + 3, at + j] = _whole((block[i + 3, j] - a) * s, k, d)
    for i in range(fours, rows):
        for j in range(columns):
            out[i, at + j] = _whole((block[i, j] - low[j]) * inverse[j], last[j], default[j])
