"""Bounds on the score over a box from first-order expansions, compiled.

Over a box an expansion gives an interval of the gradient in each of d directions that fit the
Hessian, and so bounds on its norm. Farther out the gradient along a ray from the pilot only grows,
because the loss is convex:

    G(pilot + delta)'delta  >=  G(pilot + s delta / |delta|)'delta       for s <= |delta|

For the exponential mechanism the same expansions, integrated once, bound the summed loss itself.
"""

from __future__ import annotations

import math

import numpy as np

from kng.core.compiled import compiled
from kng.losses.enclosures.expansions import (
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
)

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
