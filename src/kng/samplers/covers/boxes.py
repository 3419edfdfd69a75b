"""Branch and bound over boxes of lattice points, compiled as one loop.

A box is a run of 2**e_j points along each sheared coordinate u_j; it stands for the lattice points

    t_j = u_j + floor( sum_{k > j} V_jk u_k )                    a bijection of the lattice

so that x't = (x V)'u up to the floors, which move x't by less than sum_{j < d-1} |x_j|. Any shear V
is right; one that makes the columns of x V orthogonal makes boxes fit the data.

For a box every record (or group of records) is decided: y <= x't at all of its points, or at none;
or it is open. A child inherits what is decided and looks at the open items only. From these sums
come a lower and an upper bound on the exponent over the box. The box with the largest gap

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
from kng.samplers.covers.grouping import HIGH

# Of a box, in whole numbers: what `halving` needs, and where its open items are listed. In real
# numbers: what `halving` needs, then the sums over decided records.
LIST, LENGTH, WHOLE = 1, 2, 3
# Facts of the loss: tau = P / Q, the norm |g_0| + SLOPE (max |g_j| - |g_0|)_+, the rate, whether
# the loss's value is weighed and not its gradient, and what rounding may add to an exponent.
P, Q, SLOPE, RATE, VALUE, SLACK = 0, 1, 2, 3, 4, 5
# Running numbers of the loop, after those of `halving`: least loss seen, room for errors in it.
LEAST, DOUBT = 4, 5

# Up to this many open items all subsets are looked at.
FEW = 10
# Up to this many, a form is looked for that they hardly move.
MANY = 512
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


@compiled(
    "void(f8[:,::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], f8[::1], f8[::1], f8[::1],"
    " f8[::1])"
)
def bound(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915, PLR0917
    shear, totals, facts, t, reach, open_, sums, best, running, node
):
    """Write bounds on the exponent over a box into ``node``, from its sums.

    With w = 1 for a record that counts (y <= x't), G_j = Q sum w x_j - P sum x_j.

    Gradient: intervals of G_j, and of (V'G)_j, give the norm a lower bound; and by convexity

        ||G(t)|| * ||t - best||_dual  >=  L(t) - L(best)  >=  L(c) + l'(t - c) - L(best)

    for any slope l of an affine minorant of L. Value: the minorant itself.
    """
    d = len(t)
    p, q, slope, rate = facts[P], facts[Q], facts[SLOPE], facts[RATE]
    low0, high0, low, high, tilted = 0.0, 0.0, 0.0, 0.0, 0.0
    value = p * totals[d] - q * (HIGH * sums[d] + sums[d + 1] + open_[5, d])
    ceiling = p * totals[d] - q * (HIGH * sums[d] + sums[d + 1]) + q * open_[6, 1]
    fall, rise, doubt = 0.0, 0.0, running[DOUBT]
    slack = 0.0  # 1 for the floors, which a single point has none of
    for j in range(d):
        if reach[j] > 0:
            slack = 1.0
    near, far = 0.0, 0.0
    for j in range(d):
        least = q * (sums[j] + open_[1, j]) - p * totals[j]
        most = q * (sums[j] + open_[0, j]) - p * totals[j]
        small, large = max(0.0, least, -most), max(abs(least), abs(most))
        if j == 0:
            low0, high0 = small, large
        else:
            low, high = max(low, small), max(high, large)
        middle, column, corner, tilt = 0.0, 0.0, 0.0, 0.0
        for k in range(j + 1):
            decided = q * sums[k] - p * totals[k]
            middle += decided * shear[k, j]
            tilt += (decided + q * open_[5, k]) * shear[k, j]
            if k == 0:
                corner = abs(shear[0, j])
            else:
                column += abs(shear[k, j])
        tilted = max(
            tilted,
            max(middle + q * open_[3, j], -(middle + q * open_[2, j]))
            / max(corner + column, column / slope),
        )
        gradient = q * (sums[j] + open_[5, j]) - p * totals[j]
        value += gradient * t[j]
        ceiling += (q * sums[j] - p * totals[j]) * t[j]
        fall += abs(tilt) * reach[j] + slack * abs(gradient)
        rise += abs(middle) * reach[j] + slack * abs(q * sums[j] - p * totals[j])
        doubt += totals[d + 1 + j] * (abs(t[j]) + reach[j])
    doubt *= q * 2.0**-27
    if facts[VALUE] > 0:
        node[LOWER] = rate * max(0.0, value - fall - doubt)
        node[UPPER] = rate * max(value - fall, ceiling + rise) + rate * doubt
        return
    if open_[6, 0] == 0 and value + doubt < running[LEAST]:
        running[LEAST] = value + doubt
        for j in range(d):
            best[j] = t[j]
    for j in range(d):
        away = abs(t[j] - best[j]) + 1.0
        for k in range(j, d):
            away += abs(shear[j, k]) * reach[k]
        if j == 0:
            near = away
        else:
            far += away
    convex = (value - fall - doubt - running[LEAST]) / max(near + far, far / slope)
    norm = max(low0 + slope * max(0.0, low - low0), tilted, convex)
    node[LOWER] = max(0.0, rate * norm / ROUNDING - facts[SLACK])
    largest = max(norm, high0 + slope * max(0.0, high - high0))
    node[UPPER] = rate * largest * ROUNDING + facts[SLACK]


@compiled(
    "void(f4[:,::1], i4[::1], f8[:,::1], f8[::1], f8[::1], i4[::1], i8, i8, f8[::1], f8[::1])"
)
def bound_few(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0917
    rows, copies, groups, totals, facts, items, first, last, sums, node
):
    """Sharpen the bounds of a box with few open items by looking at all subsets that may count.

    An open record counts wholly or not at all, and so does a group of equal records. Intervals
    forget that, and where many records are equal it is all that matters.
    """
    d, size = rows.shape[1], last - first
    for m in range(first, last):
        if items[m] >= 0:
            group = groups[items[m]]
            for j in range(d):
                if group[j] < group[d + j]:
                    return
            if group[7 * d] < group[7 * d + 1]:
                return
    parts, x = np.zeros((size, d)), np.zeros(d)
    for j in range(d):
        x[j] = sums[j]
        for m in range(size):
            item = items[first + m]
            if item >= 0:
                parts[m, j] = groups[item, 3 * d + j]
            else:
                times = np.float64(copies[-1 - item]) if len(copies) > 0 else 1.0
                parts[m, j] = times * rows[-1 - item, j]
    least, most = np.inf, 0.0
    # Gray's order: the next subset differs by one item, the lowest set bit of its number.
    chosen = 0
    for step in range(1, (1 << size) + 1):
        front, side = 0.0, 0.0
        for j in range(d):
            g = abs(facts[Q] * x[j] - facts[P] * totals[j])
            if j == 0:
                front = g
            else:
                side = max(side, g)
        norm = front + facts[SLOPE] * max(0.0, side - front)
        least, most = min(least, norm), max(most, norm)
        m = 0
        while m < size - 1 and (step >> m) & 1 == 0:
            m += 1
        if size > 0:
            chosen ^= 1 << m
            sign = 1.0 if (chosen >> m) & 1 else -1.0
            for j in range(d):
                x[j] += sign * parts[m, j]
    node[LOWER] = max(node[LOWER], facts[RATE] * least / ROUNDING - facts[SLACK])
    node[UPPER] = min(node[UPPER], facts[RATE] * most * ROUNDING + facts[SLACK])


@compiled("void(f8[:,::1], f8[::1])")
def solve(matrix, vector):  # type: ignore[no-untyped-def]
    """Solve for a positive definite matrix, in place; what it cannot solve becomes NaN or infinite.

    Written out: the compiler takes seconds for its general solver, which may also fail.
    """
    d = len(vector)
    for k in range(d):
        for i in range(k + 1, d):
            share = matrix[i, k] / matrix[k, k]
            for j in range(k + 1, d):
                matrix[i, j] -= share * matrix[k, j]
            vector[i] -= share * vector[k]
    for k in range(d - 1, -1, -1):
        for j in range(k + 1, d):
            vector[k] -= matrix[k, j] * vector[j]
        vector[k] /= matrix[k, k]


@compiled(
    "void(f4[:,::1], i4[::1], f8[:,::1], f8[::1], f8[::1], i4[::1], i8, i8, f8[::1], f8[::1])"
)
def bound_across(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0917
    rows, copies, groups, totals, facts, items, first, last, sums, node
):
    """Sharpen the lower bound of a box whose open records lean on few directions.

    For any v the form v'G lies between what the open records can make of it, and

        ||G||  >=  v'G / ||v||_dual

    Where records are heaped, all that a plane meets in a box is one heap or two. A form that their
    covariates do not move tells how small G can get at most; coordinates alone do not. v is what
    of G remains after the open covariates are projected away.
    """
    d = rows.shape[1]
    spread, v, x = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    for j in range(d):
        v[j] = facts[Q] * sums[j] - facts[P] * totals[j]
    for m in range(first, last):
        item = items[m]
        for j in range(d):
            if item >= 0:
                x[j] = 0.5 * (groups[item, j] + groups[item, d + j])
                rest = groups[item, d + j] - groups[item, j]
                spread[j, j] += groups[item, 7 * d + 4] * rest * rest
                v[j] += 0.5 * facts[Q] * groups[item, 3 * d + j]
            else:
                x[j] = rows[-1 - item, j]
                times = np.float64(copies[-1 - item]) if len(copies) > 0 else 1.0
                v[j] += 0.5 * facts[Q] * times * x[j]
        times = groups[item, 7 * d + 4] if item >= 0 else 1.0
        for j in range(d):
            for k in range(d):
                spread[j, k] += times * x[j] * x[k]
    size = 0.0
    for j in range(d):
        size += spread[j, j]
    for j in range(d):
        spread[j, j] += 1e-9 * size + 1e-300
    solve(spread, v)
    front, side = abs(v[0]), 0.0
    for j in range(1, d):
        side += abs(v[j])
    dual = max(front + side, side / facts[SLOPE])
    if not (0.0 < front + side < np.inf and dual < np.inf):
        return
    low, high = 0.0, 0.0
    for j in range(d):
        v[j] /= dual
        low += v[j] * (facts[Q] * sums[j] - facts[P] * totals[j])
    high = low
    for m in range(first, last):
        item = items[m]
        if item < 0:
            times = np.float64(copies[-1 - item]) if len(copies) > 0 else 1.0
            along = 0.0
            for j in range(d):
                along += v[j] * rows[-1 - item, j]
            low += facts[Q] * times * min(0.0, along)
            high += facts[Q] * times * max(0.0, along)
        else:
            least, most = 0.0, 0.0
            for j in range(d):
                least += min(v[j] * groups[item, j], v[j] * groups[item, d + j])
                most += max(v[j] * groups[item, j], v[j] * groups[item, d + j])
            low += facts[Q] * groups[item, 7 * d + 4] * min(0.0, least)
            high += facts[Q] * groups[item, 7 * d + 4] * max(0.0, most)
    norm = max(low, -high)
    node[LOWER] = max(node[LOWER], facts[RATE] * norm / ROUNDING - facts[SLACK])


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
