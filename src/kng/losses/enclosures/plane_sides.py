"""Which side of the planes of a box a record lies on, compiled.

For a box every record (or group of records) is decided: y <= x't at all of its points, or at none;
or it is open. A child inherits what is decided and looks at the open items only.
"""

from __future__ import annotations

import math

import numpy as np

from kng.core.compiled import compiled
from kng.losses.enclosures.record_tree import HIGH

ROUNDING = 1.0 + 2.0**-30
# A group is looked into if it is that much wider than what the box moves its predictions.
COARSE = 2.0


@compiled(
    "i8(f4[:,::1], f8[::1], i4[::1], f8[:,::1], f8[:,::1], i8, f8[::1], f8[::1], f8, i4[::1], i8,"
    " i8, i8, i4[::1], f8[::1], f8[:,::1])"
)
def scan(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915, PLR0917
    rows, residual, copies, shear, groups, levels, t, reach, slack,
    items, first, length, end, stack, sums, open_,
):  # fmt: skip
    """Decide the items of a list for one box; return the end of the list of those left open.

    ``t`` is the box's centre, ``reach`` its half sides, ``slack`` 1 if floors and rounding may
    move a prediction and 0 at a single point. ``sums`` gains the decided records; the rows of
    ``open_`` gain what the open ones may add: the positive and the negative part of x and of x V,
    |x V|, a minorant's share of x and of the residual, and in the last row the number of groups
    and how far the open records may fall short.
    """
    n, d = rows.shape
    leaves = (1 << levels) - 1
    e = 7 * d
    error = 0.0
    for j in range(d):
        error += abs(t[j])
    error *= slack * 2.0**-32  # 2**16 * 2**-48: rounding of x't in float64
    for m in range(first, first + length):
        stack[0] = items[m]
        top = 1
        while top > 0:
            top -= 1
            item = stack[top]
            if item >= 0:
                group = groups[item]
                low, high, wide = -group[e + 1], -group[e], group[e + 1] - group[e]
                move = error
                for j in range(d):
                    x, z = group[j], group[d + j]
                    low += min(x * t[j], z * t[j])
                    high += max(x * t[j], z * t[j])
                    wide += (z - x) * (abs(t[j]) + reach[j])
                    move += group[2 * d + j] * reach[j]
                    if j < d - 1:
                        move += slack * max(abs(x), abs(z))
                move *= ROUNDING
                if low - move >= 0:
                    for j in range(d):
                        sums[j] += group[3 * d + j]
                    sums[d] += group[e + 2]
                    sums[d + 1] += group[e + 3]
                elif high + move >= 0:
                    if wide > COARSE * move and item >= leaves:
                        g = item - leaves
                        for i in range((g * n) >> levels, ((g + 1) * n) >> levels):
                            stack[top] = -1 - i
                            top += 1
                    elif wide > COARSE * move:
                        stack[top] = 2 * item + 1
                        stack[top + 1] = 2 * item + 2
                        top += 2
                    else:
                        share = 0.5
                        if high > low:
                            share = min(1.0, max(0.0, high / (high - low)))
                        for j in range(d):
                            open_[0, j] += group[4 * d + j]
                            open_[1, j] += group[3 * d + j] - group[4 * d + j]
                            open_[2, j] += group[5 * d + j]
                            open_[3, j] += group[5 * d + j] - group[6 * d + j]
                            open_[4, j] += group[6 * d + j]
                            open_[5, j] += share * group[3 * d + j]
                        open_[5, d] += share * (HIGH * group[e + 2] + group[e + 3])
                        open_[6, 0] += 1.0
                        open_[6, 1] += group[e + 4] * max(0.0, high + move)
                        items[end] = item
                        end += 1
            else:
                i = -1 - item
                times = np.float64(copies[i]) if len(copies) > 0 else 1.0
                ahead, move = -residual[i], error
                for j in range(d):
                    x, q = np.float64(rows[i, j]), 0.0
                    for k in range(j + 1):
                        q += rows[i, k] * shear[k, j]
                    ahead += x * t[j]
                    move += abs(q) * reach[j]
                    if j < d - 1:
                        move += slack * abs(x)
                move *= ROUNDING
                if ahead - move >= 0:
                    for j in range(d):
                        sums[j] += times * rows[i, j]
                    part = math.floor(residual[i] / HIGH)
                    sums[d] += times * part
                    sums[d + 1] += times * (residual[i] - part * HIGH)
                elif ahead + move >= 0:
                    for j in range(d):
                        x, q = times * rows[i, j], 0.0
                        for k in range(j + 1):
                            q += times * rows[i, k] * shear[k, j]
                        open_[0, j] += max(x, 0.0)
                        open_[1, j] += min(x, 0.0)
                        open_[2, j] += max(q, 0.0)
                        open_[3, j] += min(q, 0.0)
                        open_[4, j] += abs(q)
                        if ahead >= 0:
                            open_[5, j] += x
                    if ahead >= 0:
                        open_[5, d] += times * residual[i]
                    open_[6, 1] += times * max(0.0, ahead + move)
                    items[end] = item
                    end += 1
    return end


@compiled(
    "void(f4[:,::1], f8[::1], i4[::1], f8[:,::1], f8[:,::1], i8, f8[:,::1], i4[::1], i8[::1],"
    " i8[::1], i8, i4[::1], f8[:,::1])"
)
def scan_points(  # type: ignore[no-untyped-def]  # noqa: PLR0917
    rows, residual, copies, shear, groups, levels, t, items, first, length, end, stack, sums
):
    """Decide every record at single points of boxes; nothing stays open."""
    reach, open_ = np.zeros(t.shape[1]), np.zeros((7, t.shape[1] + 2))
    for m in range(len(t)):
        scan(
            rows, residual, copies, shear, groups, levels, t[m], reach, 0.0,
            items, first[m], length[m], end, stack, sums[m], open_,
        )  # fmt: skip
