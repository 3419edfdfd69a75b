"""Records with equal responses: shifted apart, or as one record that counts several times.

A heap of equal records is ahead of a plane wholly or not at all. Boxes can only know that if it is
one item; as many items it looks as if any part of it could count, and the boxes along its plane
would be halved down to single points. A random shift of each response, far below the noise, makes
a heap a slope that planes can split.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits

Rows = NDArray[np.float32]
Response = NDArray[np.float64]
Copies = NDArray[np.int32]

# Records looked at to see whether heaps are likely, and the share of repeats that says so.
_SAMPLE = 4096
_REPEATS = 0.02
# Records whose temporaries stay in the processor's cache.
_BLOCK = 2**16


def shift(response: NDArray[np.floating], spread: int, bits: Bits) -> NDArray[np.float64]:
    """Return responses with a shift each, uniform on up to 2**16 steps.

    y + (k - 2**(b-1)) * 2**(spread-b),      k uniform in 0 .. 2**b - 1,  b = min(spread, 16)
    """
    length = min(spread, 16)
    shifted = response.astype(np.float64)
    for at in range(0, len(shifted), _BLOCK):
        part = shifted[at : at + _BLOCK]
        words = np.frombuffer(bits.take(16 * len(part)).to_bytes(2 * len(part)), ">u2")
        shifts = (words >> (16 - length)).astype(np.float64) - 2.0 ** (length - 1)
        part += shifts * 2.0 ** (spread - length)
    return shifted


def merged(rows: Rows, response: Response) -> tuple[Rows, Response, Copies]:
    """Return distinct records and how often each occurs, or all of them and no numbers.

    Records are brought together by a hash; two that differ are never merged, because neighbours are
    compared in full.
    """
    spaced = slice(None, None, max(1, len(rows) // _SAMPLE))
    sample = _hashes(rows[spaced], response[spaced])
    if len(np.unique(sample)) >= (1 - _REPEATS) * len(sample):
        return rows, response, np.empty(0, np.int32)
    order = np.argsort(_hashes(rows, response), kind="stable")
    rows, response = rows[order], response[order]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1) | (response[1:] != response[:-1])
    first = np.flatnonzero(new)
    copies = np.diff(np.append(first, len(rows))).astype(np.int32)
    return np.ascontiguousarray(rows[first]), response[first], copies


def _hashes(rows: Rows, response: Response) -> NDArray[np.uint64]:
    """Return a number for each record, equal for equal records; -0.0 counts as 0.0."""
    mixed = (response + 0.0).view(np.uint64)
    for column in rows.T:
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed += (column + np.float32(0)).view(np.uint32)
    return mixed * np.uint64(0xBF58476D1CE4E5B9)
