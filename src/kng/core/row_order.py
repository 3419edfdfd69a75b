"""An order of rows that depends on the rows alone, whatever order they came in.

Engines bring records home in any order. What is computed from them in real numbers, and which
random bits fall to which record, must not depend on that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def in_order(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows sorted by a hash; where different rows share one, by their numbers."""
    if len(rows) < 2:
        return rows
    if rows.shape[1] == 1:
        return np.sort(rows, axis=0)
    hashes = row_hashes(rows)
    order = np.argsort(hashes)
    found, hashes = rows[order], hashes[order]
    alike = np.flatnonzero(hashes[1:] == hashes[:-1])
    if (found[alike] != found[alike + 1]).any():  # two of 2**32 rows, or rows made for it
        return np.asarray(rows[np.lexsort(rows.T)])
    return np.asarray(found)


def row_hashes(rows: NDArray[Any]) -> Hashes:
    """Return a number for each row of float64, or of float32; equal rows have equal ones.

    -0.0 counts as 0.0, which it equals.
    """
    mixed = np.zeros(len(rows), np.uint64)
    for column in rows.T:
        whole = (column.astype(np.float64) + 0.0).view(np.uint64)
        mixed ^= whole
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return mixed
