"""Branch and bound over boxes of lattice points, compiled as one loop.

A box is a run of 2**e_j points along each sheared coordinate u_j; it stands for the lattice points

    t_j = u_j + floor( sum_{k > j} V_jk u_k )                    a bijection of the lattice

so that x't = (x V)'u up to the floors, which move x't by less than sum_{j < d-1} |x_j|. Any shear V
is right; one that makes the columns of x V orthogonal makes boxes fit the data.

For a box every record (or group of records) is decided or open (`plane_sides`). From sums over the
decided ones come a lower and an upper bound on the exponent over the box (`plane_bounds`). The box
with the largest gap

    points * ( exp(-lower) - exp(-upper) )

is halved next, until there are enough of them (`core.boxes.halving.enough`).
"""

from __future__ import annotations

import math

import numpy as np

from kng.core.boxes.halving import (
    COUNTED,
    CUT,
    ENVELOPE,
    LOWER,
    POINTS,
    REAL,
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
from kng.losses.enclosures.plane_bounds import VALUE, bound, bound_across, bound_few
from kng.losses.enclosures.plane_sides import scan

# Of a box, in whole numbers: what `halving` needs, and where its open items are listed. In real
# numbers: what `halving` needs, then the sums over decided records.
LIST, LENGTH, WHOLE = 1, 2, 3

# Up to this many open items all subsets are looked at.
FEW = 10
# Up to this many, a form is looked for that they hardly move.
MANY = 512


@compiled("i8(i4[::1], i4[::1], i8[:,:], i8[::1])")
def packed(items, room, lists, boxes):  # type: ignore[no-untyped-def]
    """Move the lists of some boxes, in the order they stand in, to the front of ``room``.

    The first item is the group of all records, with which a box without a list of its own starts.
    """
    room[0], end = items[0], 1
    for box in boxes:
        first, length = lists[box, 0], lists[box, 1]
        lists[box, 0] = end
        for m in range(first, first + length):
            room[end] = items[m]
            end += 1
    return end


@compiled(
    "UniTuple(i8, 3)(f4[:,::1], f8[::1], i4[::1], f8[:,::1], i8, i8[:,::1], f8[:,::1], f8[::1],"
    " f8[::1], f8[:,::1], f8[::1], i8[:,::1], f8[:,::1], i4[::1], i8[::1], i8, i8, i8, f8[::1],"
    " f8[::1], i8, i8)"
)
def refine(  # type: ignore[no-untyped-def]  # noqa: PLR0917, PLR0912, PLR0915
    rows, residual, copies, groups, levels, turn, shear, totals, facts, walls, limits,
    whole, real, items, heap, boxes, listed, waiting, best, running, goal, shift,
):  # fmt: skip
    """Halve boxes until there are enough of them or an array is full.

    Returns the numbers of boxes, of listed items and of boxes waiting in the heap; called again
    with larger arrays it goes on where it stopped.
    """
    d = len(best)
    t, reach, sums = np.zeros(d), np.zeros(d), np.zeros(d + 2)
    u = np.zeros(d, np.int64)
    open_ = np.zeros((7, d + 2))
    stack = np.zeros(128 + (len(rows) >> levels) + 2, np.int32)
    while True:
        parent = 0
        least, largest = 0.0, np.inf  # what holds for a box holds for its halves
        if boxes == 0:  # the root, whose corner and sides are given
            items[0], listed = 0, 1
            whole[0, 2 * d + LIST], whole[0, 2 * d + LENGTH] = 0, 1
        else:
            if enough(running, boxes, goal) or waiting == 0:
                break
            parent = heap[0]
            start = whole[parent, 2 * d + LIST]
            most = 0.0  # rows that its children may list: no more than records, or than rows
            for m in range(start, start + whole[parent, 2 * d + LENGTH]):
                most += groups[items[m], 7 * d + 4] if items[m] >= 0 else 1.0
            most = min(most, np.float64(len(rows)))
            if boxes + 1 > len(real) or listed + 2 * most > len(items):
                break
            pop(heap, real, waiting, running)
            waiting -= 1
            least, largest = real[parent, LOWER], real[parent, UPPER]
        # The upper half first: the lower one takes the place of its parent.
        for child in range(min(boxes, 1), -1, -1):
            box = boxes if child == 1 else parent
            node = real[box]
            if boxes > 0:
                halve(whole, d, parent, child, box)
            bits = place(whole, box, turn, shift, u, t, reach)
            for j in range(d + 2):
                sums[j] = real[parent, REAL + j] if boxes > 0 else 0.0
            for j in range(d + 2):
                for row in range(7):
                    open_[row, j] = 0.0
            slack = 1.0 if bits > 0 else 0.0
            end = scan(
                rows, residual, copies, shear, groups, levels, t, reach, slack, items,
                whole[parent, 2 * d + LIST], whole[parent, 2 * d + LENGTH], listed,
                stack, sums, open_,
            )  # fmt: skip
            bound(shear, totals, facts, t, reach, open_, sums, best, running, node)
            if facts[VALUE] == 0 and end - listed <= FEW:
                bound_few(rows, copies, groups, totals, facts, items, listed, end, sums, node)
            if facts[VALUE] == 0 and end - listed <= MANY and node[UPPER] - node[LOWER] > 1.0:
                bound_across(rows, copies, groups, totals, facts, items, listed, end, sums, node)
            node[LOWER], node[UPPER] = max(node[LOWER], least), min(node[UPPER], largest)
            inside, outside, met = beside(walls, limits, shear, t, reach, slack)
            node[POINTS] = bits * math.log(2.0)
            for j in range(d + 2):
                node[REAL + j] = sums[j]
            whole[box, 2 * d + LIST], whole[box, 2 * d + LENGTH] = listed, end - listed
            widest, cut = -1.0, -1
            for j in range(d):
                if reach[j] > 0:
                    width = open_[4, j] * reach[j]
                    if facts[VALUE] > 0:
                        width = reach[j]
                    if not inside and node[UPPER] - node[LOWER] < 1.0:
                        width = abs(climb(walls, met, shear, j)) * reach[j]
                    if width > widest:
                        widest, cut = width, j
            if outside:
                node[POINTS] = -np.inf
            else:
                listed = end
                weigh(real, box, inside, running)
            if cut >= 0 and not outside:
                push(heap, real, waiting, box)
                waiting += 1
            whole[box, 2 * d + CUT] = cut
        boxes += 1
        if running[ENVELOPE] < 0.5 * running[COUNTED] or boxes == 1:
            count(real, boxes, running)
    return boxes, listed, waiting
