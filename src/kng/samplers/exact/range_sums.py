"""Sums over ranges of positive numbers without a difference, so that small sums keep their digits.

Level k cuts the numbers into pairs of halves of 2**k and holds the running sums from the middle of
each pair outwards. Two indices that first differ in bit k lie in two halves of one pair, so that a
range between them is the sum of two entries.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def range_sums(numbers: Array, first: Whole, end: Whole) -> Array:
    """Return the sums of ``numbers[first[i]:end[i]]``; 0 where a range is empty."""
    levels = max(int(len(numbers) - 1).bit_length(), 1)
    padded = np.zeros(1 << levels)
    padded[: len(numbers)] = numbers
    table = np.empty((levels, len(padded)))
    table[0] = padded
    for k in range(1, levels):
        pairs, sums = padded.reshape(-1, 2, 1 << k), table[k].reshape(-1, 2, 1 << k)
        np.cumsum(pairs[:, 1], axis=1, out=sums[:, 1])
        sums[:, 0] = np.cumsum(pairs[:, 0, ::-1], axis=1)[:, ::-1]
    # An empty range stands at 0 for a while: its ends may lie beyond the numbers.
    some = end > first
    start, last = np.where(some, first, 0), np.where(some, end - 1, 0)
    # frexp gives the number of bits; whole numbers below 2**53 are exact.
    level = np.maximum(np.frexp((start ^ last).astype(np.float64))[1] - 1, 0)
    both = table[level, start] + np.where(last > start, table[level, last], 0.0)
    return np.where(some, both, 0.0)
