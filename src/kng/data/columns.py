"""The ingestion rule for tables, compiled: one pass over each record."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@njit(cache=True)
def ingest_columns(  # type: ignore[no-untyped-def]  # noqa: PLR0917 - a compiled loop
    block, low, step, inverse, last, default, out, offset
):
    """Write round_half_even((x - low) / step), clamped, or the default, into columns of ``out``.

    The same correctly rounded operations as `kng.data.ingest`; an inverse other than 0 says that
    the step is a power of two, for which multiplying is dividing.
    """
    rows, columns = block.shape
    for i in range(rows):
        for j in range(columns):
            shifted = block[i, j] - low[j]
            value = shifted * inverse[j] if inverse[j] != 0.0 else shifted / step[j]
            value = 0.0 if value < 0.0 else value
            value = last[j] if value > last[j] else value
            value = np.rint(value)
            out[i, offset + j] = default[j] if np.isnan(value) else value
