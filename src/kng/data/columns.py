"""The ingestion rule for tables, compiled: one pass over each record."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def divide_columns(block, low, step, last, default, out, at):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write round_half_even((x - low) / step), clamped, or the default, into columns of ``out``.

    The same correctly rounded operations as the NumPy path of `kng.data.ingest`.
    """
    rows, columns = block.shape
    for i in range(rows):
        for j in range(columns):
            value = (block[i, j] - low[j]) / step[j]
            value = 0.0 if value < 0.0 else value
            value = last[j] if value > last[j] else value
            value = np.rint(value)
            out[i, at + j] = default[j] if np.isnan(value) else value


@njit(cache=True)
def scale_columns(block, low, inverse, last, default, out, at):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write the same for steps that are powers of two, whose inverse is exact."""
    rows, columns = block.shape
    for i in range(rows):
        for j in range(columns):
            value = (block[i, j] - low[j]) * inverse[j]
            value = 0.0 if value < 0.0 else value
            value = last[j] if value > last[j] else value
            value = np.rint(value)
            out[i, at + j] = default[j] if np.isnan(value) else value
