"""Cells of records in nested groups, and a ramp of their residuals expanded over a box, compiled.

Group k has the children 2k + 1 and 2k + 2, and those of the last level are cells, or empty. Over a
box and a group the residuals lie in one interval, on which psi is a line up to its miss: level
beyond a kink, the ramp itself between the kinks, a chord across one. With the line  a + s r,  for
theta = c + delta and t = c - pilot,

    sum x psi  =  a S + s (E + C t) + s C delta,      out  miss * sum of |x|

where S = sum x, E = sum x e and C = sum xx' of the group. A group with a kink in its interval is
looked into if it is wider than what the box moves its residuals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.covering import Leaning
from kng.core.compiled import compiled
from kng.core.parts import Expansion
from kng.losses.enclosures.record_tree import order_groups
from kng.losses.kernels.linear_rows import ENDS
from kng.losses.kernels.residual_cells import Cells
from kng.losses.pointwise.ramps import Ramp

Array = NDArray[np.float64]

# What rounding does to the ends of an interval, in parts of the sizes that were added.
_FUZZ = 2.0**-46
_ENTRY = float(ENDS)


@compiled(
    "i8(f8[:,::1], i8, f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], i8,"
    " i8[::1], f8[::1], f8[:,::1], f8[::1])"
)
def expand(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915, PLR0917
    groups, levels, ramp, centre, half, leaning, sides, slack, shear, leans, stack, value, slope,
    out,
):  # fmt: skip
    """Expand over one box about its centre, an offset from the pilot; return how many were added.

    ``half`` are its half sides along the axes. If it leans, its points are also  leaning + V xi + f
    with |xi_j| <= sides_j and |f_j| <= slack_j.
    """
    d = len(centre)
    bend, steep, middle, grain, bottom, top = ramp
    leaves = (1 << levels) - 1
    s0, e0, c0, a0 = 1, 1 + d, 1 + 2 * d, 1 + 2 * d + d * d
    l0, h0 = 1 + 3 * d + d * d, 2 + 4 * d + d * d
    length, turned = 0.0, 0.0
    for j in range(d):
        length += abs(centre[j])
        turned += abs(leaning[j])
    size, sloped, added = 0.0, 0.0, 0
    stack[0], waiting = 0, 1
    while waiting > 0:
        waiting -= 1
        item = stack[waiting]
        group = groups[item]
        count = group[0]
        if count == 0:
            continue
        # Between which ends residuals lie: at the centre, and how far the box moves them.
        begin, end = group[l0 + d], group[h0 + d]
        largest = max(abs(begin), abs(end))
        wide, move = end - begin, 0.0
        for j in range(d):
            x, z = group[l0 + j], group[h0 + j]
            begin += min(x * centre[j], z * centre[j])
            end += max(x * centre[j], z * centre[j])
            wide += (z - x) * (abs(centre[j]) + half[j])
            move += max(abs(x), abs(z)) * half[j]
        fuzz = _FUZZ * (largest + _ENTRY * length + move)
        low, high = begin - move - fuzz, end + move + fuzz
        if leans > 0:
            begin, end, shift = group[l0 + d], group[h0 + d], 0.0
            for j in range(d):
                x, z = group[l0 + j], group[h0 + j]
                begin += min(x * leaning[j], z * leaning[j])
                end += max(x * leaning[j], z * leaning[j])
                shift += max(abs(x), abs(z)) * slack[j]
                least, most = 0.0, 0.0
                for k in range(j + 1):
                    x, z = group[l0 + k] * shear[k, j], group[h0 + k] * shear[k, j]
                    least += min(x, z)
                    most += max(x, z)
                shift += max(abs(least), abs(most)) * sides[j]
            fuzz = _FUZZ * (largest + _ENTRY * turned + shift)
            move = min(move, shift)
            low, high = max(low, begin - shift - fuzz), min(high, end + shift + fuzz)
            high = max(low, high)
        s, a, miss = 0.0, 0.0, 0.0
        if low >= bend:
            a = top
        elif high <= -bend:
            a = bottom
        elif low >= -bend and high <= bend:
            s, a, miss = steep, middle, grain
        elif wide > 2.0 * move and item < leaves:
            stack[waiting] = 2 * item + 1
            stack[waiting + 1] = 2 * item + 2
            waiting += 2
            continue
        else:
            first, last = min(max(low, -bend), bend), min(max(high, -bend), bend)
            over, under = 0.0, 0.0
            if high > low:
                s = (last - first) / (high - low)
            for side in range(2):
                kink = bend if side == 1 else -bend
                if low < kink < high:
                    away = kink - first - s * (kink - low)
                    over, under = max(over, away), min(under, away)
            line = (first + last + over + under) / 2 - s * (low + high) / 2
            s, a = s * steep, line * steep + middle
            miss = (over - under) / 2 * steep + grain
        added += 1
        size += count * (abs(a) + s * (largest + _ENTRY * length))
        if s > 0:  # what the ends of a chord add, beyond the centre
            size += count * (top - bottom)
        sloped += count * s
        for j in range(d):
            total = group[e0 + j]
            for k in range(d):
                second = group[c0 + j * d + k]
                total += second * centre[k]
                slope[j, k] += s * second
            value[j] += a * group[s0 + j] + s * total
            out[j] += miss * group[a0 + j]
    # Each of the sums has at most so many roundings of 2**-53, all of terms that ``size`` and
    # ``sloped`` add up; groups have been summed level by level.
    rounding = 2.0**-51 * (added + 2 * levels + 16)
    reach = 0.0
    for j in range(d):
        reach += half[j]
    for j in range(d):
        out[j] = out[j] * (1 + rounding) + rounding * _ENTRY * (size + sloped * _ENTRY * reach)
    return added


@dataclass(frozen=True, slots=True)
class CellTree:
    """Groups of cells around a pilot, and the ramp whose sums over records are expanded."""

    groups: Array
    levels: int
    pilot: Array
    ramp: Ramp

    @classmethod
    def of(cls, cells: Cells, ramp: Ramp) -> CellTree:
        """Put cells into nested groups, halved at the median of their widest side."""
        m, d = cells.first.shape
        levels = max(m - 1, 0).bit_length()
        rows = np.ascontiguousarray((cells.low + cells.high)[:, :-1], np.float32)
        # Residuals are as far apart as their bins are.
        e = (cells.low + cells.high)[:, -1] / 2
        away = np.abs(e) - ramp.bend
        key = np.sign(e) * (64.0 + np.sign(away) * np.log2(1 + np.abs(away)))
        order = np.arange(m, dtype=np.int32)
        spreads = np.array([16.0, *[ENDS / 4.0] * (d - 1)])
        if d > 0 and m:
            order_groups(rows, key, spreads, order, levels)
        columns = (
            cells.count[:, None], cells.first, cells.cross, cells.second.reshape(m, d * d),
            np.abs(cells.first), cells.low, cells.high,
        )  # fmt: skip
        leaves = np.hstack(columns)[order]
        groups = np.zeros((2 ** (levels + 1) - 1, leaves.shape[1]))
        low = slice(1 + 3 * d + d * d, 2 + 4 * d + d * d)
        high = slice(low.stop, low.stop + d + 1)
        groups[:, low], groups[:, high] = np.inf, -np.inf
        slots = np.arange(2**levels)
        held = ((slots + 1) * m >> levels) > (slots * m >> levels)
        groups[2**levels - 1 + slots[held]] = leaves[(slots[held] * m) >> levels]
        for level in range(levels - 1, -1, -1):
            at = slice(2**level - 1, 2 ** (level + 1) - 1)
            left = groups[2 ** (level + 1) - 1 : 2 ** (level + 2) - 1 : 2]
            right = groups[2 ** (level + 1) : 2 ** (level + 2) - 1 : 2]
            groups[at] = left + right
            groups[at, low] = np.minimum(left[:, low], right[:, low])
            groups[at, high] = np.maximum(left[:, high], right[:, high])
        return cls(groups, levels, np.array(cells.pilot, np.float64), ramp)

    def expand(self, centre: Array, half: Array, lean: Leaning | None) -> Expansion:
        """Expand the sum of  psi x,  in whole steps, over boxes."""
        boxes, d = centre.shape
        value, out, slope = np.zeros((boxes, d)), np.zeros((boxes, d)), np.zeros((boxes, d, d))
        ramp = self.ramp
        numbers = np.array([ramp.bend, ramp.slope, ramp.middle, ramp.grain, ramp.bottom, ramp.top])
        stack = np.zeros(2 * self.levels + 4, np.int64)
        offset, none, eye = np.ascontiguousarray(centre - self.pilot), np.zeros(d), np.eye(d)
        half = np.ascontiguousarray(half)
        for i in range(boxes):
            leaning, sides, slack, shear = none, none, none, eye
            if lean is not None:
                leaning, sides = lean.centre[i] - self.pilot, np.ascontiguousarray(lean.half[i])
                slack, shear = np.ascontiguousarray(lean.slack[i]), lean.shear
            expand(
                self.groups, self.levels, numbers, offset[i], half[i], leaning, sides, slack,
                shear, int(lean is not None), stack, value[i], slope[i], out[i],
            )  # fmt: skip
        return Expansion(value, slope, out)
