"""Bounds on the exponent over a box of planes, compiled: from its sums over decided records."""

from __future__ import annotations

import numpy as np

from kng.core.boxes.halving import LOWER, UPPER
from kng.core.compiled import compiled
from kng.losses.enclosures.plane_sides import ROUNDING
from kng.losses.enclosures.record_tree import HIGH

# Facts of the loss: tau = P / Q, the norm |g_0| + SLOPE (max |g_j| - |g_0|)_+, the rate, whether
# the loss's value is weighed and not its gradient, and what rounding may add to an exponent.
P, Q, SLOPE, RATE, VALUE, SLACK = 0, 1, 2, 3, 4, 5
# Running numbers of the loop, after those of `halving`: least loss seen, room for errors in it.
LEAST, DOUBT = 4, 5


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
