"""Add records to cells, compiled.

Of a cell are kept, for p covariates: the number of its records, sums of x (p), the sum of residuals
in two numbers, sums of x times residuals in two numbers each (2p), sums of products of covariates
(on and above the diagonal), the least x and residual (p + 1), and the largest. Residuals that are
summed are counted from the end of the bin, so that they are small.
"""

from __future__ import annotations

import math

import numpy as np

from kng.core.compiled import compiled
from kng.losses.kernels.linear_rows import ENDS
from kng.losses.kernels.residual_cells import CARRY, ZONES

# No whole number of a record is as large.
FAR = 2**60
_LOWER = 2**CARRY - 1
_OCTAVES = 53
# Products with residuals are made of the lower bits of these, so many, and of the others.
_SPLIT = 24
_PART, _UPPER = 2**_SPLIT - 1, 2 ** (CARRY - _SPLIT) - 1


def extremes(p: int) -> tuple[slice, slice]:
    """Return the columns of the least, and of the largest, x and residual."""
    at = 3 + 3 * p + p * (p + 1) // 2
    return slice(at, at + p + 1), slice(at + p + 1, at + 2 * p + 2)


@compiled("void(i8[::1], i8, i8)", inline="always")
def _carry(cell, at, term):  # type: ignore[no-untyped-def]
    """Add to a sum in two numbers, of which the second stays between 0 and 2**CARRY."""
    lower = cell[at + 1] + term
    cell[at] += lower >> CARRY
    cell[at + 1] = lower & _LOWER


@compiled("void(i8[::1], i8, i8, i8)", inline="always")
def _carry_product(cell, at, x, rest):  # type: ignore[no-untyped-def]
    """Add a product of at most 2**68, in two parts that an integer holds."""
    upper = x * (rest >> _SPLIT)
    cell[at] += upper >> (CARRY - _SPLIT)
    _carry(cell, at, ((upper & _UPPER) << _SPLIT) + x * (rest & _PART))


@compiled("void(f8[:,::1], f8[::1], i8, i8, i8, f8, i8[:,::1])", nogil=True)
def add(rows, pilot, first, parts, fine, bend, table):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Add records, the whole numbers x and y side by side."""
    n, d = rows.shape[0], rows.shape[1] - 1
    p = d - first
    bins, per = _OCTAVES << fine, 1 << fine
    share = parts / (2.0 * ENDS)
    for i in range(n):
        residual = -rows[i, d]
        place = 0
        for j in range(d):
            residual += rows[i, j] * pilot[j]
        for j in range(first, d):
            part = math.floor(rows[i, j] * share) + parts // 2
            place = place * parts + min(max(part, 0), parts - 1)
        size = abs(residual)
        away = abs(size - bend)
        step, octave = int(away), 0
        if step >= per:
            # log2 of a whole number below 2**53 is read off its float64
            octave = (np.float64(step).view(np.int64) >> 52) - 1023 - fine
            step >>= octave
        edge = math.ldexp(float(step), octave)
        bin_ = step if octave == 0 and step < per else (octave << fine) + step
        zone = 0
        if size < bend:
            zone, edge = 1, bend - edge
        else:
            edge = bend + edge
        if residual < 0:
            zone, edge = zone + 2, -edge
        rest = int(residual - np.rint(edge))
        cell = table[(place * ZONES + zone) * bins + bin_]
        cell[0] += 1
        _carry(cell, 1 + p, rest)
        at = 3 + 3 * p
        low = at + p * (p + 1) // 2
        for j in range(p):
            x = int(rows[i, first + j])
            cell[1 + j] += x
            _carry_product(cell, 3 + p + 2 * j, x, rest)
            for k in range(j, p):
                cell[at] += x * int(rows[i, first + k])
                at += 1
            cell[low + j] = min(cell[low + j], x)
            cell[low + p + 1 + j] = max(cell[low + p + 1 + j], x)
        whole = int(residual)
        cell[low + p] = min(cell[low + p], whole)
        cell[low + 2 * p + 1] = max(cell[low + 2 * p + 1], whole)


@compiled("void(i8[:,::1], i8[:,::1], i8)", nogil=True)
def combine(left, right, p):  # type: ignore[no-untyped-def]
    """Add sums to sums."""
    low = 3 + 3 * p + p * (p + 1) // 2
    for c in range(len(left)):
        mine, other = left[c], right[c]
        if other[0] == 0:
            continue
        for k in range(low):
            paired = 1 + p <= k < 3 + 3 * p
            if not paired:
                mine[k] += other[k]
            elif (k - 1 - p) % 2 == 0:
                mine[k] += other[k]
                _carry(mine, k, other[k + 1])
        for k in range(low, low + p + 1):
            mine[k] = min(mine[k], other[k])
            mine[k + p + 1] = max(mine[k + p + 1], other[k + p + 1])
