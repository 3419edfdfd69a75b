"""What every loop that halves boxes shares: a heap of boxes, their places, and the envelope.

    envelope   sum of points * exp(-lower)  over boxes that have not been halved
    certain    sum of points * exp(-upper)  over those that lie wholly inside the domain

A box is a run of 2**e_j points along each sheared coordinate u_j. The heap gives the box with the
largest gap between its two terms. Everything is compiled into the loops that call it.
"""

from __future__ import annotations

import math

import numpy as np

from kng.core.compiled import compiled

# Of a box, in whole numbers: corner (d), log2 of its sides (d), then the coordinate to halve; what
# follows is the loop's own.
CUT = 0
# Of a box, in real numbers: bounds on the exponent, log of its points (minus infinity once it has
# been halved), key in the heap; what follows is the loop's own.
LOWER, UPPER, POINTS, KEY, REAL = 0, 1, 2, 3, 4
# Running numbers: envelope, its certain part, their common logarithm, envelope at the last full
# count; what follows is the loop's own.
ENVELOPE, CERTAIN, LOG, COUNTED = 0, 1, 2, 3
# Certified acceptance that is as good as any.
ENOUGH = 0.25
# Gap of a box that is not wholly inside the domain.
_STRADDLES = 700.0


@compiled("void(i8[::1], f8[:,::1], i8, i8)")
def push(heap, real, waiting, box):  # type: ignore[no-untyped-def]
    """Put a box among those that wait."""
    at = waiting
    while at > 0 and real[heap[(at - 1) // 2], KEY] < real[box, KEY]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = box


@compiled("i8(i8[::1], f8[:,::1], i8, f8[::1])")
def pop(heap, real, waiting, running):  # type: ignore[no-untyped-def]
    """Take the box with the largest key out of the heap, and its terms out of the envelope."""
    box, moved, at = heap[0], heap[waiting - 1], 0
    while 2 * at + 1 < waiting - 1:
        below = 2 * at + 1
        if below + 1 < waiting - 1 and real[heap[below + 1], KEY] > real[heap[below], KEY]:
            below += 1
        if real[heap[below], KEY] <= real[moved, KEY]:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = moved
    running[ENVELOPE] -= math.exp(real[box, POINTS] - real[box, LOWER] - running[LOG])
    running[CERTAIN] -= math.exp(real[box, POINTS] - real[box, UPPER] - running[LOG])
    return box


@compiled("void(i8[:,::1], i8, i8, i8, i8)")
def halve(whole, d, parent, child, box):  # type: ignore[no-untyped-def]
    """Make a box the lower (child 0) or the upper half of its parent, or of itself."""
    cut = whole[parent, 2 * d + CUT]
    for j in range(d):
        whole[box, j], whole[box, d + j] = whole[parent, j], whole[parent, d + j]
    whole[box, d + cut] -= 1
    whole[box, cut] += child * (np.int64(1) << whole[box, d + cut])


@compiled("i8(i8[:,::1], i8, i8[:,::1], i8, i8[::1], f8[::1], f8[::1])")
def place(whole, box, turn, shift, u, t, half):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write a box's centre and half of its sides, and return log2 of its points."""
    d, bits = len(t), np.int64(0)
    for j in range(d):
        bits += whole[box, d + j]
        step = (np.int64(1) << whole[box, d + j]) >> 1
        u[j], half[j] = whole[box, j] + step, step
    for j in range(d):
        lean = np.int64(0)
        for k in range(j + 1, d):
            lean += turn[j, k] * u[k]
        t[j] = u[j] + (lean >> shift)
    return bits


@compiled("f8(f8[:,::1], i8, f8[:,::1], i8)")
def climb(walls, m, shear, j):  # type: ignore[no-untyped-def]
    """Return how fast a wall's form grows along a sheared coordinate."""
    total = 0.0
    for k in range(j + 1):
        total += walls[m, k] * shear[k, j]
    return total


@compiled("Tuple((b1, b1, i8))(f8[:,::1], f8[::1], f8[:,::1], f8[::1], f8[::1], f8)")
def beside(walls, limits, shear, t, half, slack):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Return whether a box is wholly inside, whether wholly outside, and a wall that it meets."""
    inside, outside, met, d = True, False, 0, len(t)
    for m in range(len(limits)):
        at_centre, spread = 0.0, 0.0
        for j in range(d):
            at_centre += walls[m, j] * t[j]
            spread += abs(climb(walls, m, shear, j)) * half[j]
            if j < d - 1:
                spread += slack * abs(walls[m, j])
        if at_centre + spread > limits[m]:
            inside, met = False, m
        if at_centre - spread > limits[m] + 0.5:  # whole numbers; half is for rounding
            outside = True
    return inside, outside, met


@compiled("void(f8[:,::1], i8, b1, f8[::1])")
def weigh(real, box, inside, running):  # type: ignore[no-untyped-def]
    """Give a box its key, and the envelope its terms; nothing of a straddling box is certain."""
    node = real[box]
    gap = node[UPPER] - node[LOWER]
    if not inside:
        gap, node[UPPER] = _STRADDLES, np.inf
    weight = node[POINTS] - node[LOWER]
    if running[COUNTED] == 0:  # the root
        running[LOG] = weight
    running[ENVELOPE] += math.exp(weight - running[LOG])
    running[CERTAIN] += math.exp(node[POINTS] - node[UPPER] - running[LOG])
    node[KEY] = weight + math.log(1e-300 - math.expm1(-gap))


@compiled("b1(f8[::1], i8, i8)")
def enough(running, boxes, goal):  # type: ignore[no-untyped-def]
    """Whether there are as many boxes as wanted, or attempts are certain to be accepted often."""
    return boxes >= goal or running[CERTAIN] >= ENOUGH * running[ENVELOPE]


@compiled("void(f8[:,::1], i8, f8[::1])")
def count(real, boxes, running):  # type: ignore[no-untyped-def]
    """Add up the envelope and its certain part afresh, in units of the largest box."""
    largest = -np.inf
    for i in range(boxes):
        largest = max(largest, real[i, POINTS] - real[i, LOWER])
    running[LOG], running[ENVELOPE], running[CERTAIN] = largest, 0.0, 0.0
    for i in range(boxes):
        running[ENVELOPE] += math.exp(real[i, POINTS] - real[i, LOWER] - largest)
        running[CERTAIN] += math.exp(real[i, POINTS] - real[i, UPPER] - largest)
    running[COUNTED] = running[ENVELOPE]
