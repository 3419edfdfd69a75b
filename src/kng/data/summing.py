"""The ingestion rule and a sum in one compiled pass over a column."""

from __future__ import annotations

import numpy as np

from kng.core.compiled import compiled
from kng.data.column_steps import whole

# A column, which may be read-only; low, step or its inverse, last, default.
_NUMBERS = ", f8, f8, f8, f8)"
WIDE = "i8(Array(f8, 1, 'C', readonly=True, aligned=False)" + _NUMBERS
NARROW = "i8(Array(f4, 1, 'C', readonly=True, aligned=False)" + _NUMBERS

# A whole number below 2**51 added to this stands in the last bits of the float. Every processor
# can add so, many at a time; few can turn floats into integers so.
_ANCHOR = 1.5 * 2.0**52
_ANCHOR_BITS = np.float64(_ANCHOR).view(np.int64)


@compiled(WIDE, nogil=True)
def scale_sum(cells, low, inverse, last, default):  # type: ignore[no-untyped-def]
    """Return the sum of round_half_even((x - low) * inverse), clamped, or the default."""
    total = np.int64(0)
    for i in range(cells.size):
        value = whole((cells[i] - low) * inverse, last, default)
        total += np.float64(value + _ANCHOR).view(np.int64) - _ANCHOR_BITS
    return total


@compiled(NARROW, nogil=True)
def scale_narrow_sum(cells, low, inverse, last, default):  # type: ignore[no-untyped-def]
    """Return the same for float32, each cell made a float64 first."""
    total = np.int64(0)
    for i in range(cells.size):
        value = whole((np.float64(cells[i]) - low) * inverse, last, default)
        total += np.float64(value + _ANCHOR).view(np.int64) - _ANCHOR_BITS
    return total


@compiled(WIDE, nogil=True)
def divide_sum(cells, low, step, last, default):  # type: ignore[no-untyped-def]
    """Return the same for steps that are no powers of two."""
    total = np.int64(0)
    for i in range(cells.size):
        value = whole((cells[i] - low) / step, last, default)
        total += np.float64(value + _ANCHOR).view(np.int64) - _ANCHOR_BITS
    return total
