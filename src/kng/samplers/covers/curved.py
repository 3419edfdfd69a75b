"""Branch and bound for gradients that are nearly affine over small boxes, as one compiled loop.

A box has a first-order expansion: around the pilot (there is one for each power of two as radius),
or around the centre of a box above it, or its own. Over the box the expansion gives an interval of
the gradient in each of d directions that fit the Hessian, and so bounds on its norm. Farther out
the gradient along a ray from the pilot only grows, because the loss is convex:

    G(pilot + delta)'delta  >=  G(pilot + s delta / |delta|)'delta       for s <= |delta|

The box with the largest gap between its bounds is next. If what its expansion leaves out is most
of the gap, the records are read for an expansion of its own; else the box is halved.

For the exponential mechanism the same expansions, integrated once, bound the summed loss itself.
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
from kng.samplers.covers.cut_off import cut_off
from kng.samplers.covers.expansions import (
    BEND,
    CEILING,
    DISTANCE,
    ENDS,
    FLOOR,
    FUZZ,
    OPEN,
    RADIUS,
    ROUNDING,
    SCALARS,
    VALUE,
    expand,
)

# Of a box, in whole numbers: what `halving` needs, the expansion it uses, and whether that is its
# own.
USED, OWN, WHOLE = 1, 2, 3
# Facts: kind of loss, whether its value is weighed, rate, threshold, largest gradient, records, and
# the steps of a value, and whether records are read twice for a better bound.
KIND, WEIGHS_VALUE, RATE, THRESHOLD, MOST, RECORDS, GRAIN, SHARP, FACTS = 0, 1, 2, 3, 4, 5, 6, 7, 8


@compiled("f8(f8[::1], f8, f8, f8, i8)")
def doubt(facts, value, radius, far, d):  # type: ignore[no-untyped-def]
    """Return what rounding may do to a summed loss, at a distance from where it is that value.

    A sum in parts of 4,096 has a relative error below (4096 + n / 4096) 2**-53 or so. At a single
    point, radius 0, the parts are whole numbers up to 2**53 and hence exact.
    """
    n = facts[RECORDS]
    if radius == 0.0:
        return (2.0**-50 + n * 2.0**-64) * value
    terms = facts[MOST] * d * far
    if facts[KIND] != DISTANCE:
        terms *= 1.0 + ENDS * d * far / facts[THRESHOLD]
    return 2.0**-40 * (1.0 + n * 2.0**-24) * (value + terms)


@compiled("f8(f8[::1], f8)")
def floors(facts, radius):  # type: ignore[no-untyped-def]
    """Return what rounding each loss down may take; at a single point that has been done."""
    return facts[RECORDS] * facts[GRAIN] if radius > 0.0 else 0.0


@compiled("void(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], f8, f8, f8[::1])")
def value_over_box(facts, x, step, half, reach, shear, slack, far, found):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Bound the summed loss over a box by an expansion; raise found[0], lower found[1].

    ``step`` leads from the expansion's centre to the box's. There the loss and its gradient are

        V + b'step + step'H step / 2,      b + H step

    up to what is left out: BEND |delta|^3 / 3 and 2 |delta| for each open record; or OUT'|delta|,
    and not more than OPEN. From below there is also the tangent at the expansion's centre, which
    leaves nothing out.
    """
    d = len(step)
    o, g, a, h = d + SCALARS, 2 * d + SCALARS, 3 * d + SCALARS, 4 * d + SCALARS
    distance = facts[KIND] == DISTANCE
    b = a if distance else g
    value, tangent, left, over = x[d + VALUE], x[d + VALUE], 0.0, 0.0
    slope = np.empty(d)
    for j in range(d):
        turned = 0.0
        for k in range(d):
            turned += x[h + j * d + k] * step[k]
        value += (x[b + j] + turned / 2.0) * step[j]
        tangent += x[a + j] * step[j]
        slope[j] = x[b + j] + turned
        if not distance:
            left += x[o + j] * (abs(step[j]) + reach[j])
    left = min(left, x[d + OPEN])
    if distance:
        left, over = x[d + BEND] * far * far * far / 3.0, 2.0 * x[d + OPEN] * far
    spread, flat, sway = 0.0, 0.0, 0.0
    for k in range(d):
        along, level, curve = 0.0, 0.0, 0.0
        for j in range(k + 1):
            along += slope[j] * shear[j, k]
            level += x[a + j] * shear[j, k]
            for m in range(k + 1):
                curve += shear[j, k] * x[h + j * d + m] * shear[m, k]
        spread += abs(along) * half[k]
        flat += abs(level) * half[k]
        sway += math.sqrt(max(0.0, curve)) * half[k]
        if k < d - 1:
            spread += slack * abs(slope[k])
            flat += slack * abs(x[a + k])
            sway += slack * math.sqrt(max(0.0, x[h + k * d + k]))
    rounding = doubt(facts, x[d + VALUE], x[d + RADIUS], far, d)
    least = max(tangent - flat, value - spread - left) - rounding - floors(facts, x[d + RADIUS])
    most = value + spread + sway * sway * ROUNDING / 2.0 + left + over + rounding
    found[0] = max(found[0], least)
    found[1] = min(found[1], most)
    found[2] = 2.0 * left + over


@compiled("void(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], f8, f8[::1])")
def over_box(facts, x, t, half, reach, shear, frame, slack, found):  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915, PLR0917
    """Bound the score over a box by an expansion; raise found[0], lower found[1].

    ``found[2]`` becomes the part of the gap that is due to what the expansion leaves out.
    """
    d = len(t)
    o, g, h = d + SCALARS, 2 * d + SCALARS, 4 * d + SCALARS
    square = 0.0
    step = np.empty(d)
    for j in range(d):
        step[j] = t[j] - x[j]
        away = abs(step[j]) + reach[j]
        square += away * away
    far = math.sqrt(square)
    if far > x[d + RADIUS] * ROUNDING:
        return
    found[0] = max(found[0], x[d + FLOOR])
    if facts[KIND] != DISTANCE:
        found[1] = min(found[1], x[d + CEILING])
    if facts[WEIGHS_VALUE] > 0:
        value_over_box(facts, x, step, half, reach, shear, slack, far, found)
        return
    least, most, out = 0.0, 0.0, x[o] + x[d + BEND] * square
    turned = np.zeros((d, d))  # H V
    centred = np.zeros(d)
    for j in range(d):
        centred[j] = x[g + j]
        for k in range(d):
            centred[j] += x[h + j * d + k] * step[k]
            for m in range(k + 1):
                turned[j, k] += x[h + j * d + m] * shear[m, k]
    if facts[KIND] == DISTANCE:
        for k in range(d):
            y, w = 0.0, 0.0
            for j in range(d):
                y += frame[j, k] * centred[j]
            for m in range(d):
                along, lean = 0.0, 0.0
                for j in range(d):
                    along += frame[j, k] * turned[j, m]
                    lean += frame[j, k] * x[h + j * d + m]
                w += abs(along) * half[m]
                if m < d - 1:
                    w += slack * abs(lean)
            least += max(0.0, abs(y) - w) ** 2
            most += (abs(y) + w) ** 2
        least, most = math.sqrt(least) / ROUNDING - out, math.sqrt(most) * ROUNDING
        # at one point the open records are those that lie on it, and they only help
        most = most + out if x[d + RADIUS] > 0 else max(0.0, most - out)
    else:
        out = 0.0
        for k in range(d):
            # directions of the shear, and the coordinates themselves
            y, w, length = 0.0, 0.0, 0.0
            side = slack * abs(x[h + k * d])
            width = x[o + k] + abs(turned[k, 0]) * half[0]
            for j in range(d):
                y += shear[j, k] * centred[j]
                w += abs(shear[j, k]) * x[o + j]
                length += abs(shear[j, k])
                if j > 0:
                    width += abs(turned[k, j]) * half[j]
                    side += slack * abs(x[h + k * d + j]) if j < d - 1 else 0.0
            for m in range(d):
                along, lean = 0.0, 0.0
                for j in range(d):
                    along += shear[j, k] * turned[j, m]
                    lean += shear[j, k] * x[h + j * d + m]
                w += abs(along) * half[m]
                if m < d - 1:
                    w += slack * abs(lean)
            least = max(least, (abs(y) / ROUNDING - w * ROUNDING) / length)
            width = (width + side) * ROUNDING
            least = max(least, abs(centred[k]) / ROUNDING - width)
            most = max(most, abs(centred[k]) * ROUNDING + width)
            out = max(out, x[o + k])
    found[0] = max(found[0], least)
    found[1] = min(found[1], most)
    found[2] = 2 * out


@compiled("void(f8[::1], f8[:,::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], f8, f8[::1])")
def beyond(facts, table, curvatures, t, half, reach, shear, slack, found):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Raise found[0] to what rays from the pilot tell of a box; the largest radii come last."""
    d = len(t)
    o, g, a, h = d + SCALARS, 2 * d + SCALARS, 3 * d + SCALARS, 4 * d + SCALARS
    centre, radius, total = 0.0, 0.0, 0.0
    for j in range(d):
        centre += t[j] * t[j]
        radius += reach[j] * reach[j]
        total += abs(t[j]) + reach[j]
    centre, radius = math.sqrt(centre), math.sqrt(radius)
    near, far = (centre - radius) / ROUNDING, (centre + radius) * ROUNDING
    for p in range(len(curvatures)):
        x = table[p]
        s = x[d + RADIUS]
        if s > near:
            return
        middle, sway, size, level, out = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(d):
            curve = 0.0
            for j in range(d):
                for m in range(d):
                    curve += shear[j, k] * x[h + j * d + m] * shear[m, k]
                    if k == 0:
                        middle += t[j] * x[h + j * d + m] * t[m]
            sway += math.sqrt(max(0.0, curve)) * half[k]
            sway += slack * math.sqrt(max(0.0, x[h + k * d + k]))
            size += x[g + k] * x[g + k]
            level += x[a + k] * x[a + k]
            out = max(out, x[o + k])
        bent = max(0.0, math.sqrt(max(0.0, middle)) * (1 - 2.0**-20) - sway) / far
        bent = max(bent * bent, curvatures[p])
        if facts[KIND] != DISTANCE:
            out *= math.sqrt(d)
        slope = s * bent - math.sqrt(size) * ROUNDING - out - x[d + BEND] * s * s
        if facts[WEIGHS_VALUE] > 0:
            if slope > 0:
                value = x[d + VALUE] - math.sqrt(level) * ROUNDING * s - floors(facts, s)
                value -= doubt(facts, x[d + VALUE], s, far, d)
                found[0] = max(found[0], value + (near - s) * slope / ROUNDING)
        elif facts[KIND] == DISTANCE:
            found[0] = max(found[0], slope - facts[RECORDS] * math.sqrt(d) * FUZZ)
        else:
            found[0] = max(found[0], slope * near / (total * ROUNDING) - facts[MOST] * FUZZ)


@compiled(
    "void(f8[::1], f8[:,::1], f8[::1], i8, f8[::1], f8[::1], f8[:,::1], f8[:,::1], f8, f8[::1])"
)
def bound(facts, table, curvatures, used, t, half, shear, frame, slack, found):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write the best bounds on the score over a box, and what is due to its expansion."""
    d, pilots = len(t), len(curvatures)
    reach = np.empty(d)
    square = 0.0
    for j in range(d):
        reach[j] = slack if j < d - 1 else 0.0
        for k in range(j, d):
            reach[j] += abs(shear[j, k]) * half[k]
        square += (abs(t[j]) + reach[j]) ** 2
    found[0], found[1], found[2] = 0.0, facts[MOST], facts[MOST]
    if facts[WEIGHS_VALUE] > 0:
        found[1] = np.inf
    far = math.sqrt(square)
    for p in range(pilots):
        if table[p, d + RADIUS] >= far:
            over_box(facts, table[p], t, half, reach, shear, frame, slack, found)
            break
    left = found[2]
    if used >= pilots:
        over_box(facts, table[used], t, half, reach, shear, frame, slack, found)
        found[2] = min(found[2], left)
    beyond(facts, table, curvatures, t, half, reach, shear, slack, found)


@compiled("void(f8[::1], f8[:,::1], f8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1])")
def at_points(facts, table, curvatures, used, t, shear, frame, least):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write lower bounds on the scores at single points of boxes."""
    found, half = np.zeros(3), np.zeros(t.shape[1])
    for m in range(len(t)):
        bound(facts, table, curvatures, used[m], t[m], half, shear, frame, 0.0, found)
        least[m] = max(0.0, found[0])


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
