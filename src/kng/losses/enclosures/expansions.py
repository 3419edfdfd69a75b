"""First-order expansions of summed gradients, with bounds on what they leave out.

An expansion is taken at a centre e and holds for  |delta| <= radius:

    || G(e + delta) - G - H delta ||  <=  OUT + BEND |delta|^2

in the l2 norm for distances. For Huber's loss it holds coordinate by coordinate, and BEND is 0. A
record that the expansion cannot hold is open: its unit vector may be anything (OUT grows by 1), or
its residual may cross a threshold (OUT grows by what a chord through it misses).

The gradient is that of the summed loss VALUE: of distances, or of Huber's loss times its threshold,
so that a residual counts in the same whole numbers as x'theta.
"""

from __future__ import annotations

import math

import numpy as np

from kng.core.compiled import compiled

DISTANCE, HUBER = 0, 1
# Of an expansion: the centre (d), these six, then (d each) OUT, G, the gradient at the centre
# itself (of G it has open records more, or no chords), and H row by row. VALUE is the summed loss
# at the centre, OPEN the number of open records, or what they may add to a summed loss of Huber's.
# FLOOR and CEILING bound the score wherever the expansion holds; distances have no CEILING.
RADIUS, BEND, VALUE, OPEN, FLOOR, CEILING, SCALARS = 0, 1, 2, 3, 4, 5, 6

# Steps of unit vectors, of clipped residuals and of covariates, as in the losses; and what rounding
# them, and adding up in float64, may move.
UNIT = 2.0**25
PSI = 2.0**24
ENDS = 2.0**16
FUZZ = 2.0**-24
CHUNK = 4096
# Half of sqrt(4/3), the largest second derivative of x / |x| at |x| = 1.
SECOND = 0.5774
ROUNDING = 1.0 + 2.0**-30


def width(d: int) -> int:
    """Return how many numbers an expansion has."""
    return 4 * d + SCALARS + d * d


@compiled("void(f8[:,::1], f8[::1], f8, b1, f8[::1])")
def expand_distances(rows, centre, radius, sharp, out):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Sum unit vectors u = x / r and their derivatives (I - uu') / r.

    Where r >= 2 radius, the second derivative is at most sqrt(4/3) / (r - radius)^2.
    """
    n, d = rows.shape
    o, g, a, h = d + SCALARS, 2 * d + SCALARS, 3 * d + SCALARS, 4 * d + SCALARS
    part, u = np.zeros(len(out)), np.zeros(d)
    for start in range(0, n, CHUNK):
        part[:] = 0.0
        for i in range(start, min(n, start + CHUNK)):
            square = 0.0
            for j in range(d):
                u[j] = centre[j] - rows[i, j]
                square += u[j] * u[j]
            r = math.sqrt(square)
            if radius == 0.0:
                part[d + VALUE] += math.floor(r)
                if r == 0.0:
                    part[d + OPEN] += 1.0
                    continue
                for j in range(d):
                    part[g + j] += np.trunc(u[j] / r * UNIT)
                continue
            part[d + VALUE] += r
            close = 1.0 / r if sharp and r > 0.0 else 0.0
            for j in range(d):
                if sharp:
                    u[j] *= close
                else:
                    u[j] = u[j] / r if r > 0.0 else 0.0
                part[a + j] += u[j]
            if r < 2.0 * radius:
                part[d + OPEN] += 1.0
                continue
            part[d + BEND] += SECOND / ((r - radius) * (r - radius))
            if sharp:  # the same in fewer operations, one half of it
                for j in range(d):
                    part[g + j] += u[j]
                    part[h + j * d + j] += close
                    turned = u[j] * close
                    for k in range(j + 1):
                        part[h + j * d + k] -= turned * u[k]
                continue
            for j in range(d):
                part[g + j] += u[j]
                for k in range(d):
                    part[h + j * d + k] += ((1.0 if j == k else 0.0) - u[j] * u[k]) / r
        for m in range(d + BEND, len(out)):
            out[m] += part[m]
    out[d + BEND] *= ROUNDING
    for j in range(d if sharp else 0):
        for k in range(j):
            out[h + k * d + j] = out[h + j * d + k]
    for j in range(d):
        out[o + j] = out[d + OPEN]
        if radius == 0.0:
            out[g + j] /= UNIT
        else:
            out[o + j] += n * math.sqrt(d) * FUZZ


@compiled(
    "void(f8[:,::1], f8[::1], f8, f8, f8[:,::1], f8[::1], f8, f8[:,::1], f8[::1], f8[::1], f8, b1,"
    " f8[::1])"
)
def expand_huber(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915, PLR0917
    rows, response, bend, grain, ends, centre, radius, shear, middle, half, slack, weighs_value, out
):
    """Sum clip(r / bend, -1, 1) x, and as its derivative x x' times the slope of a chord.

    The expansion holds for points between ``ends``, which are the corners of the domain. There r
    lies in an interval; over the radius it moves by at most |x| radius, and over a box within it,
    if its half sides are given, it is within sum |(x V)_k| half_k of r at the box's middle. On the
    interval that is left, and r at the centre, a residual that stays between the thresholds, or
    beyond one, is its own chord; else the chord is moved to the middle of what it misses.
    """
    n, d = rows.shape
    o, g, a, h = d + SCALARS, 2 * d + SCALARS, 3 * d + SCALARS, 4 * d + SCALARS
    part, sums = np.zeros(len(out)), np.zeros((2, d))
    for start in range(0, n, CHUNK):
        part[:] = 0.0
        for i in range(start, min(n, start + CHUNK)):
            r, square, low, high = -response[i], 0.0, -response[i], -response[i]
            for j in range(d):
                r += rows[i, j] * centre[j]
                square += rows[i, j] * rows[i, j]
                one, other = rows[i, j] * ends[0, j], rows[i, j] * ends[1, j]
                low += min(one, other)
                high += max(one, other)
            # the same operations as in the loss, so that a single point has its score
            size = abs(r) / bend
            clipped = min(size, 1.0)
            loss = clipped * (size - clipped / 2.0)
            if radius == 0.0:
                part[d + VALUE] += math.floor(loss * (bend / grain))
                psi = np.trunc(min(max(r, -bend), bend) * (PSI / bend)) / PSI
                for j in range(d):
                    part[g + j] += psi * rows[i, j]
                continue
            part[d + VALUE] += loss
            tangent = math.copysign(clipped, r)
            spare = (abs(low) + abs(high)) * (ROUNDING - 1.0)
            move = math.sqrt(square) * radius * ROUNDING
            low, high = max(low - spare, r - move), min(high + spare, r + move)
            if len(half) > 0:
                within, at = 0.0, -response[i]
                for k in range(d):
                    along = 0.0
                    for j in range(k + 1):
                        along += rows[i, j] * shear[j, k]
                    within += abs(along) * half[k]
                    at += rows[i, k] * middle[k]
                    if k < d - 1:
                        within += slack * abs(rows[i, k])
                within *= ROUNDING
                low, high = max(low, at - within), min(high, at + within)
            low, high = min(low, r), max(high, r)
            least, most = min(max(low, -bend), bend), min(max(high, -bend), bend)
            slope = (most - least) / (high - low) if high > low else 0.0
            chord, above, below = least + slope * (r - low), 0.0, 0.0
            if low < -bend < high:
                miss = -bend - least - slope * (-bend - low)
                above, below = max(above, miss), min(below, miss)
            if low < bend < high:
                miss = bend - least - slope * (bend - low)
                above, below = max(above, miss), min(below, miss)
            psi, slope = (chord + (above + below) / 2.0) / bend, slope / bend
            miss = (above - below) / (2.0 * bend)
            part[d + OPEN] += miss * max(high - r, r - low)
            if weighs_value:
                size = max(0.0, low, -high) / bend
                clipped = min(size, 1.0)
                part[d + FLOOR] += clipped * (size - clipped / 2.0)
                size = max(abs(low), abs(high)) / bend
                clipped = min(size, 1.0)
                part[d + CEILING] += clipped * (size - clipped / 2.0)
            for j in range(d):
                x = rows[i, j]
                part[g + j] += psi * x
                part[a + j] += tangent * x
                part[o + j] += miss * abs(x)
                sums[0, j] += min(least * x, most * x) / bend
                sums[1, j] += max(least * x, most * x) / bend
                for k in range(d):
                    part[h + j * d + k] += slope * x * rows[i, k]
        for m in range(d + BEND, len(out)):
            out[m] += part[m]
    out[d + VALUE] *= grain if radius == 0.0 else bend
    out[d + OPEN] *= ROUNDING
    for j in range(d):
        # truncation and rounding of sums, or rounding alone at a single point
        out[o + j] += n * ENDS * (2.0 * FUZZ if radius > 0.0 else 2.0**-36)
        out[o + j] *= ROUNDING
    if radius == 0.0:
        out[d + CEILING] = np.inf
    elif weighs_value:
        # losses are rounded down to steps of the grain
        doubt = 2.0**-38 * (1.0 + n * 2.0**-24) * bend * out[d + CEILING]
        out[d + FLOOR] = bend * out[d + FLOOR] - n * grain - doubt
        out[d + CEILING] = bend * out[d + CEILING] + doubt
    else:
        for j in range(d):
            out[d + FLOOR] = max(out[d + FLOOR], sums[0, j], -sums[1, j])
            out[d + CEILING] = max(out[d + CEILING], -sums[0, j], sums[1, j])
        out[d + FLOOR] -= n * ENDS * 2.0 * FUZZ
        out[d + CEILING] += n * ENDS * 2.0 * FUZZ


@compiled("void(f8[:,::1], f8[::1], f8, f8[:,::1], f8[::1], f8, f8[::1])")
def floor_distances(rows, centre, radius, shear, half, slack, out):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Bound the gradient over a box from below, along w, its direction at the centre.

        ||sum u_i||  >=  sum w'u_i,      w'u_i = w'(theta - x_i) / |theta - x_i|

    The numerator is at least w'(centre - x_i) minus how far the box reaches along w, and the
    distance within the radius of that at the centre. It is the better bound for a box that is
    close to many records and beside all of them.
    """
    n, d = rows.shape
    w = out[3 * d + SCALARS : 4 * d + SCALARS] * 1.0
    length, wide = 0.0, 0.0
    for j in range(d):
        length += w[j] * w[j]
    length = math.sqrt(length)
    if length == 0.0:
        return
    w /= length
    for k in range(d):
        along = 0.0
        for j in range(k + 1):
            along += w[j] * shear[j, k]
        wide += abs(along) * half[k]
        if k < d - 1:
            wide += slack * abs(w[k])
    wide = wide * ROUNDING + 2.0**-30 * radius
    floor = 0.0
    for start in range(0, n, CHUNK):
        part = 0.0
        for i in range(start, min(n, start + CHUNK)):
            square, along = 0.0, -wide
            for j in range(d):
                away = centre[j] - rows[i, j]
                square += away * away
                along += w[j] * away
            r = math.sqrt(square)
            along -= 2.0**-40 * r
            if along > 0.0:
                part += along / (r + radius)
            elif r > radius:
                part += max(-1.0, along / (r - radius))
            else:
                part -= 1.0
        floor += part
    out[d + FLOOR] = floor / ROUNDING - n * math.sqrt(d) * FUZZ


@compiled(
    "void(i8, f8[:,::1], f8[::1], f8, f8, f8[:,::1], f8[::1], f8, f8[:,::1], f8[::1], f8[::1], f8,"
    " b1, b1, f8[::1])"
)
def expand(  # type: ignore[no-untyped-def]  # noqa: PLR0917
    kind, rows, response, bend, grain, ends, centre, radius, shear, middle, half, slack,
    weighs_value, sharp, out,
):  # fmt: skip
    """Expand around a centre for all points within a radius; exactly, if the radius is 0.

    With half sides it holds for the points of that box alone. ``sharp`` asks for the FLOOR of
    distances, for which the records are read twice.
    """
    d = rows.shape[1]
    for j in range(len(out)):
        out[j] = 0.0
    for j in range(d):
        out[j] = centre[j]
    out[d + RADIUS] = radius
    if kind == DISTANCE:
        expand_distances(rows, centre, radius, sharp, out)
        if sharp and radius > 0.0 and len(half) > 0 and not weighs_value:
            floor_distances(rows, centre, radius, shear, half, slack, out)
    else:
        expand_huber(
            rows, response, bend, grain, ends, centre, radius, shear, middle, half, slack,
            weighs_value, out,
        )  # fmt: skip
