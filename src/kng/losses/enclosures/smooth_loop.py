"""Branch and bound for gradients that are nearly affine over small boxes, as one compiled loop.

A box has a first-order expansion: around the pilot (there is one for each power of two as radius),
or around the centre of a box above it, or its own. The box with the largest gap between its bounds
(`smooth_bounds`) is next. If what its expansion leaves out is most of the gap, the records are read
for an expansion of its own; else the box is halved.
"""

from __future__ import annotations

import math

import numpy as np

from kng.core.boxes.cut_off import cut_off
from kng.core.boxes.halving import (
    COUNTED,
    CUT,
    ENVELOPE,
    LOWER,
    POINTS,
    UPPER,
    beside,
    climb,
    count,
    enough,
    halve,
    place,
    pop,
    push,
    weigh,
)
from kng.core.compiled import compiled
from kng.losses.enclosures.expansions import DISTANCE, ROUNDING, SCALARS, expand
from kng.losses.enclosures.smooth_bounds import (
    GRAIN,
    KIND,
    RATE,
    SHARP,
    THRESHOLD,
    WEIGHS_VALUE,
    bound,
)

# Of a box, in whole numbers: what `halving` needs, the expansion it uses, and whether that is its
# own.
USED, OWN, WHOLE = 1, 2, 3


@compiled(
    "UniTuple(i8, 3)(f8[::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], f8[::1], i8, i8[:,::1],"
    " f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], i8[:,::1], f8[:,::1], i8[::1], i8, i8, f8[::1], i8,"
    " i8)"
)
def refine(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915, PLR0917
    facts, rows, response, ends, table, curvatures, tabled, turn, shear, frame, walls, limits,
    whole, real, heap, boxes, waiting, running, goal, shift,
):  # fmt: skip
    """Halve or expand boxes until there are enough of them or an array is full.

    Returns the numbers of expansions, of boxes and of boxes waiting in the heap; called again with
    larger arrays it goes on where it stopped.
    """
    d, rate = rows.shape[1], facts[RATE]
    kind, least_wanted = int(facts[KIND]), 0.5
    # A summed loss is large even where it is least: its bounds allow for their rounding themselves,
    # and here it is that of the rate and of one product.
    blur = 1.0 + 2.0**-48 if facts[WEIGHS_VALUE] > 0 else ROUNDING
    t, half, pull, found = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(3)
    u, sides, centre, span = np.zeros(d, np.int64), np.zeros(d), np.zeros(d), np.zeros((2, d))
    while True:
        parent, own = 0, False
        least, largest = 0.0, np.inf  # what holds for a box holds for its halves
        if boxes == 0:  # the root, whose corner and sides are given
            whole[0, 2 * d + USED], whole[0, 2 * d + OWN] = 0, 0
        else:
            if enough(running, boxes, goal):
                count(real, boxes, running)
                if enough(running, boxes, goal):
                    break
            if waiting == 0 or boxes + 1 > len(real) or tabled + 1 > len(table):
                break
            parent = pop(heap, real, waiting, running)
            waiting -= 1
            own = whole[parent, 2 * d + OWN] == 1
            least, largest = real[parent, LOWER], real[parent, UPPER]
        halved = boxes > 0 and not own
        # The upper half first: the lower one takes the place of its parent.
        for child in range(1 if halved else 0, -1, -1):
            box = boxes if child == 1 else parent
            node = real[box]
            if halved:
                halve(whole, d, parent, child, box)
            bits = place(whole, box, turn, shift, u, t, half)
            slack = 1.0 if bits > 0 else 0.0
            inside, outside, met = beside(walls, limits, shear, t, half, slack)
            sides[:] = half
            if kind != DISTANCE and bits > 0 and not inside and not outside:
                outside = not cut_off(walls, limits, shear, turn, shift, slack, u, t, half, span)
            if own:
                square = 0.0
                centre[:] = t
                for j in range(d):
                    side = slack if j < d - 1 else 0.0
                    for k in range(j, d):
                        side += abs(shear[j, k]) * half[k]
                    if kind != DISTANCE and bits > 0:
                        centre[j] = min(max(t[j], ends[0, j]), ends[1, j])
                        side += abs(t[j] - centre[j]) + 2.0
                    square += side * side
                expand(
                    kind, rows, response, facts[THRESHOLD], facts[GRAIN], ends, centre,
                    math.sqrt(square) * ROUNDING, shear, t, half, slack, facts[WEIGHS_VALUE] > 0,
                    facts[SHARP] > 0, table[tabled],
                )  # fmt: skip
                whole[box, 2 * d + USED] = tabled
                tabled += 1
            else:
                whole[box, 2 * d + USED] = whole[parent, 2 * d + USED]
            bound(
                facts,
                table,
                curvatures,
                whole[box, 2 * d + USED],
                t,
                half,
                shear,
                frame,
                slack,
                found,
            )
            left_out = found[2]
            low, high = rate * found[0] / blur, rate * found[1] * blur
            low = max(low, least)
            high = max(low, min(high, largest))
            node[POINTS] = bits * math.log(2.0)
            node[LOWER], node[UPPER] = max(0.0, low), high
            # Halving a side takes its share of how the score changes, and of what is left out.
            widest, cut, square = -1.0, -1, 1e-300
            for j in range(d):
                for k in range(j + 1):
                    square += (shear[k, j] * half[j]) ** 2
            x = table[whole[box, 2 * d + USED]]
            for j in range(d):
                pull[j] = x[3 * d + SCALARS + j]
                for k in range(d):
                    pull[j] += x[4 * d + SCALARS + j * d + k] * (t[k] - x[k])
            for j in range(d):
                if sides[j] > 0:
                    wide, length, slope, curve = 0.0, 0.0, 0.0, 0.0
                    for k in range(d):
                        along = 0.0
                        for m in range(j + 1):
                            along += x[4 * d + SCALARS + k * d + m] * shear[m, j]
                        wide += along * along
                        length += shear[k, j] * shear[k, j]
                        slope += pull[k] * shear[k, j]
                        curve += along * shear[k, j]
                    wide = math.sqrt(wide) * half[j]
                    if facts[WEIGHS_VALUE] > 0:
                        wide = abs(slope) * half[j] + curve * half[j] * half[j] / 2.0
                    wide += (left_out + 1e-300) * length * half[j] * half[j] / square
                    if not inside and high - low < 1.0:
                        wide = abs(climb(walls, met, shear, j)) * sides[j]
                    if wide > widest:
                        widest, cut = wide, j
            # A side of which the domain leaves less than half comes first.
            narrow = 0.5
            for j in range(d):
                if sides[j] > 0 and half[j] < narrow * sides[j]:
                    narrow, cut = half[j] / sides[j], j
            whole[box, 2 * d + CUT] = cut
            if outside:
                node[POINTS] = -np.inf
                continue
            # 1: read the records when its turn comes; 2: they have been read
            if own:
                whole[box, 2 * d + OWN] = 2
            else:
                wanted = rate * found[2] > max(1.0, least_wanted * (high - low))
                whole[box, 2 * d + OWN] = 1 if wanted or cut < 0 else 0
            weigh(real, box, inside, running)
            if cut >= 0 or whole[box, 2 * d + OWN] == 1:
                push(heap, real, waiting, box)
                waiting += 1
        if not own:
            boxes += 1
        if running[ENVELOPE] < 0.5 * running[COUNTED] or boxes == 1:
            count(real, boxes, running)
    return tabled, boxes, waiting
