"""Weights of walks from one coordinate to the next, as logarithms, compiled.

A sum is kept as three numbers: the logarithm of its largest term, the sum divided by that term, and
the part of the latter that is fine. So no weight leaves float64, however many ways there are.
"""

from __future__ import annotations

import math

import numpy as np

from kng.core.compiled import compiled

# Terms below this part of a sum, as a logarithm, are left out of it.
_NOTHING = -64.0


@compiled("UniTuple(f8, 3)(f8, f8, f8, f8, f8)")
def add(most, total, fine, term, part):  # type: ignore[no-untyped-def]
    """Add exp(term) to a sum; ``part`` of it is fine."""
    if term == -math.inf:
        return most, total, fine
    if term <= most:
        t = math.exp(term - most)
        return most, total + t, fine + t * part
    t = math.exp(most - term)
    return term, total * t + 1.0, fine * t + part


@compiled("UniTuple(f8, 2)(f8, f8, f8)")
def ended(most, total, fine):  # type: ignore[no-untyped-def]
    """Return the logarithm of a sum, and which part of it is fine."""
    if total > 0.0:
        return most + math.log(total), fine / total
    return -math.inf, 0.0


@compiled(
    "void(f8[::1], f8[::1], f8[::1], i8[::1], f8[::1], f8[::1], b1[::1], i8, i8[::1], i8[::1],"
    " f8[::1], f8[::1], f8[::1])"
)
def enter(  # type: ignore[no-untyped-def]  # noqa: PLR0917
    z, weight, fine, block, low, high, many, first, nodes, edge, grid, found, part
):
    """Weigh the nodes of a coordinate by the walks that come to them.

    ``z``, ``weight``, ``fine`` and ``block`` are of the nodes before, in order of z and of blocks.
    Block ``first + k`` has the interval ``low[k] .. high[k]`` and the nodes from ``nodes[k]`` on,
    cells between numbers of ``grid``, of which ``edge[k]`` is the first above ``low[k]``. Walks
    come from earlier blocks, and from the same block if it does not have ``many`` points.
    """
    n, none = len(z), -math.inf
    suffix, kept = np.empty(n), np.empty(n)
    most, total, clean = none, 0.0, 0.0  # of walks from below
    top_most, top_total, top_clean = none, 0.0, 0.0  # of walks from above, beyond the pivot
    below = above = end = pivot = top = 0
    for k in range(len(low)):
        while end < n and (block[end] < first + k or (block[end] == first + k and not many[k])):
            end += 1
        while below < end and z[below] <= low[k]:
            most, total, clean = add(most, total, clean, weight[below] + z[below], fine[below])
            below += 1
        while above < n and z[above] < high[k]:
            above += 1
        start = max(min(above, end), below)
        node, last = nodes[k], nodes[k + 1] - 1
        a, b, c = most - low[k], total, clean
        # Those inside stay where they are, in cells that grow with z.
        for i in range(below, start):
            if node < last:
                cell = nodes[k] + np.searchsorted(grid, z[i], side="right") - edge[k]
                while node < min(cell, last):
                    found[node], part[node] = ended(a, b, c)
                    a, b, c = none, 0.0, 0.0
                    node += 1
            a, b, c = add(a, b, c, weight[i], fine[i])
        while node < last:
            found[node], part[node] = ended(a, b, c)
            a, b, c = none, 0.0, 0.0
            node += 1
        # Those from above: a range whose ends both grow, so that a pivot cuts it for a while.
        if start < end:
            if start >= pivot:
                p, q, r = none, 0.0, 0.0
                for i in range(end - 1, start - 1, -1):
                    p, q, r = add(p, q, r, weight[i] - z[i], fine[i])
                    suffix[i], kept[i] = ended(p, q, r)
                pivot = top = end
                top_most, top_total, top_clean = none, 0.0, 0.0
            while top < end:
                top_most, top_total, top_clean = add(
                    top_most, top_total, top_clean, weight[top] - z[top], fine[top]
                )
                top += 1
            a, b, c = add(a, b, c, suffix[start] + high[k], kept[start])
            beyond, piece = ended(top_most, top_total, top_clean)
            a, b, c = add(a, b, c, beyond + high[k], piece)
        found[last], part[last] = ended(a, b, c)


@compiled("f8(f8, f8)")
def next_way(size, b):  # type: ignore[no-untyped-def]
    """Return log( C(g + b - 1, b) / C(g + b - 2, b - 1) )."""
    return math.log((size + b - 1.0) / b)


@compiled("f8(i8, i8, f8, f8, f8)")
def place(ranks, target, share, half, reach):  # type: ignore[no-untyped-def]
    """Return where a block of many points stands: ``ranks`` is twice its middle."""
    return min(max(half * ((ranks - 2 * target) / 2.0 - share), -reach), reach)


@compiled(
    "void(i8, i8, i8[::1], f8[::1], f8[::1], i8[::1], f8[::1], f8, f8, i8[::1], f8[::1], f8[::1],"
    " i8[::1], f8[::1], f8[::1])"
)
def gather(  # type: ignore[no-untyped-def]  # noqa: PLR0917
    stage, first, ranks, size, lift, target, share, half, reach, offset, entered, fine, oldest,
    found, part,
):  # fmt: skip
    """Weigh blocks of many points by all walks that are in them, however long they have been.

    ``entered[offset[s] + k]`` weighs those that came at stage s to block k, of which the ones
    ``first, first + 1, ...`` are looked at. ``oldest[k]`` is the first s that still counts: with
    each stage the weight of an older one grows by a smaller factor, so it never counts again.
    """
    for i in range(len(found)):
        k = first + i
        here = place(ranks[k], target[stage], share[stage], half, reach)
        most, total, clean = -math.inf, 0.0, 0.0
        ways, still = 0.0, stage
        for s in range(stage, oldest[k] - 1, -1):
            ways += next_way(size[k], float(stage - s + 1)) + lift[k]
            there = place(ranks[k], target[s], share[s], half, reach)
            term = entered[offset[s] + k] + ways - (there - here)
            if total == 0.0 or term > most + math.log(total) + _NOTHING:
                still = s
            most, total, clean = add(most, total, clean, term, fine[offset[s] + k])
        oldest[k] = still
        found[i], part[i] = ended(most, total, clean)
