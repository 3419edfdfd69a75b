"""Sums of unit vectors over a box: first-order expansions of far records, intervals of the others.

    u = a / |a|,   a = theta - x,      derivative (I - uu') / |a|

Where the centre is at r >= 2 radius from a record, the second derivative is at most
sqrt(4/3) / (r - radius)^2. Every u_j grows with a_j, and falls in size as the size of another
coordinate of a grows, so over a box it lies between its values at two corners.
"""

from __future__ import annotations

import math

import numpy as np

from kng.core.compiled import compiled

CHUNK = 4096
# Half of sqrt(4/3), and what rounding may add to it.
SECOND = 0.5774


@compiled("f8(f8, f8)")
def unit(a, others):  # type: ignore[no-untyped-def]
    """Return a / sqrt(a^2 + others), 0 where both are."""
    square = a * a + others
    return a / math.sqrt(square) if square > 0.0 else 0.0


@compiled("void(f8[:,::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], f8[::1])")
def expand_units(rows, centre, low, high, value, slope, out):  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0917
    """Add value, slope and what they leave out, around a centre between two whole corners."""
    n, d = rows.shape
    sums, lines, left = np.zeros(d), np.zeros((d, d)), np.zeros(d)
    u, first, last = np.zeros(d), np.zeros(d), np.zeros(d)
    square = 0.0
    for j in range(d):
        reach = max(centre[j] - low[j], high[j] - centre[j])
        square += reach * reach
    radius = math.sqrt(square) * (1.0 + 2.0**-40)
    for start in range(0, n, CHUNK):
        sums[:], lines[:], left[:] = 0.0, 0.0, 0.0
        for i in range(start, min(n, start + CHUNK)):
            square, near, far = 0.0, 0.0, 0.0
            for j in range(d):
                u[j] = centre[j] - rows[i, j]
                square += u[j] * u[j]
                a, b = low[j] - rows[i, j], high[j] - rows[i, j]
                small = 0.0 if a <= 0.0 <= b else min(abs(a), abs(b))
                large = max(abs(a), abs(b))
                near += small * small
                far += large * large
            wide = 0.0
            for j in range(d):
                a, b = low[j] - rows[i, j], high[j] - rows[i, j]
                small = 0.0 if a <= 0.0 <= b else min(abs(a), abs(b))
                large = max(abs(a), abs(b))
                # whole numbers below 2**53, so that these differences are exact
                least, most = near - small * small, far - large * large
                first[j] = unit(a, most if a > 0.0 else least)
                last[j] = unit(b, least if b > 0.0 else most)
                wide = max(wide, last[j] - first[j])
            r = math.sqrt(square)
            miss = np.inf
            if r >= 2.0 * radius:
                miss = SECOND * radius * radius / ((r - radius) * (r - radius))
            if miss < wide / 4.0:
                for j in range(d):
                    u[j] /= r
                for j in range(d):
                    sums[j] += u[j]
                    left[j] += miss
                    lines[j, j] += 1.0 / r
                    for k in range(d):
                        lines[j, k] -= u[j] * u[k] / r
                continue
            for j in range(d):
                sums[j] += (first[j] + last[j]) / 2.0
                left[j] += (last[j] - first[j]) / 2.0
        for j in range(d):
            value[j] += sums[j]
            out[j] += left[j]
            for k in range(d):
                slope[j, k] += lines[j, k]
