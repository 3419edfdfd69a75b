"""Records in nested groups, compiled: the coarse view that large boxes need.

A balanced tree of medians over the residuals of a pilot fit and the covariates. Group k has the
children 2k + 1 and 2k + 2; the groups of the last level hold runs of the reordered records. Of each
group a few exact sums and ranges are kept, so that a box can decide all of its records at once.

    column    what it holds, for d coefficients
    0         smallest covariates      x
    d         largest covariates
    2d        largest |x V|            covariates in sheared coordinates
    3d        sum of x
    4d        sum of max(x, 0)
    5d        sum of max(x V, 0)
    6d        sum of |x V|
    7d        smallest and largest residual, sum of their high and low parts, number of records

Everything is a whole number in float64, and exact; sums of x V are multiples of 2**-SHIFT, and for
very many records rounded, which the bounds allow for.
"""

from __future__ import annotations

import numpy as np

from kng.core.compiled import compiled

# A residual is high * HIGH + low, so that sums of both parts are exact.
HIGH = 2.0**24


@compiled("f8(f4[:,::1], f8[::1], i8, i8)", inline="always")
def _key(rows, residual, column, i):  # type: ignore[no-untyped-def]
    """Return what records are ordered by: the residual in place of the first covariate."""
    return residual[i] if column == 0 else np.float64(rows[i, column])


@compiled("void(f4[:,::1], f8[::1], i8, i4[::1], i8, i8, i8)")
def _select(rows, residual, column, order, first, last, middle):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Reorder ``order[first:last]`` until position ``middle`` is where sorting would put it."""
    while last - first > 1:
        pivot = _key(rows, residual, column, order[(first + last) // 2])
        i, j = first, last - 1
        while i <= j:
            while _key(rows, residual, column, order[i]) < pivot:
                i += 1
            while _key(rows, residual, column, order[j]) > pivot:
                j -= 1
            if i <= j:
                held = order[i]
                order[i] = order[j]
                order[j] = held
                i += 1
                j -= 1
        if middle <= j:
            last = j + 1
        elif middle >= i:
            first = i
        else:
            return


@compiled("void(f4[:,::1], f8[::1], f8[::1], i4[::1], i8)")
def order_groups(rows, residual, spreads, order, levels):  # type: ignore[no-untyped-def]
    """Reorder records so that every group is a run, cutting its widest column at the median.

    Columns are compared in units of their ``spreads``; the first is the residual.
    """
    n, d = rows.shape
    low, high = np.zeros(d), np.zeros(d)
    for level in range(levels):
        for g in range(1 << level):
            first, last = (g * n) >> level, ((g + 1) * n) >> level
            for j in range(d):
                low[j], high[j] = np.inf, -np.inf
            for m in range(first, last):
                i = order[m]
                for j in range(d):
                    key = _key(rows, residual, j, i)
                    low[j], high[j] = min(low[j], key), max(high[j], key)
            widest, largest = 0, -np.inf
            for j in range(d):
                if (high[j] - low[j]) / spreads[j] > largest:
                    widest, largest = j, (high[j] - low[j]) / spreads[j]
            _select(rows, residual, widest, order, first, last, ((2 * g + 1) * n) >> (level + 1))


@compiled("void(f4[:,::1], f8[::1], i4[::1], f8[:,::1], i8, f8[:,::1])")
def fill_groups(rows, residual, copies, shear, levels, groups):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Fill the table of groups, the last level from the records and the others from it.

    ``copies`` says how often each record stands for itself; empty, it says once.
    """
    n, d = rows.shape
    leaves = (1 << levels) - 1
    e = 7 * d
    for g in range(1 << levels):
        group = groups[leaves + g]
        for j in range(d):
            group[j], group[d + j] = np.inf, -np.inf
        group[e], group[e + 1] = np.inf, -np.inf
        first, last = (g * n) >> levels, ((g + 1) * n) >> levels
        for i in range(first, last):
            times = np.float64(copies[i]) if len(copies) > 0 else 1.0
            high = np.floor(residual[i] / HIGH)
            group[e] = min(group[e], residual[i])
            group[e + 1] = max(group[e + 1], residual[i])
            group[e + 2] += times * high
            group[e + 3] += times * (residual[i] - high * HIGH)
            group[e + 4] += times
            for j in range(d):
                x, q = np.float64(rows[i, j]), 0.0
                for k in range(j + 1):
                    q += rows[i, k] * shear[k, j]
                group[j] = min(group[j], x)
                group[d + j] = max(group[d + j], x)
                group[2 * d + j] = max(group[2 * d + j], abs(q))
                group[3 * d + j] += times * x
                group[4 * d + j] += times * max(x, 0.0)
                group[5 * d + j] += times * max(q, 0.0)
                group[6 * d + j] += times * abs(q)
    for k in range(leaves - 1, -1, -1):
        left, right = groups[2 * k + 1], groups[2 * k + 2]
        for j in range(e + 5):
            if j < d or j == e:
                groups[k, j] = min(left[j], right[j])
            elif j < 3 * d or j == e + 1:
                groups[k, j] = max(left[j], right[j])
            else:
                groups[k, j] = left[j] + right[j]
