"""The part of a box that lies within the domain, compiled: what bounds have to hold for."""

from __future__ import annotations

import math

import numpy as np

from kng.core.boxes.halving import climb
from kng.core.compiled import compiled

# Rounds over all walls.
_ROUNDS = 2
# Covers what float64 rounds of sums of a few products.
_ROOM = 2.0**-40


@compiled(
    "b1(f8[:,::1], f8[::1], f8[:,::1], i8[:,::1], i8, f8, i8[::1], f8[::1], f8[::1], f8[:,::1])"
)
def cut_off(walls, limits, shear, turn, shift, slack, u, t, half, span):  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0917
    """Shrink a box to a smaller one that holds its points within the walls; False if none is left.

    A point is t + V xi - f with |xi_k| <= half_k and 0 <= |f_j| < slack. A wall a't <= b leaves

        (a'V)_k xi_k  <=  b - a't + slack sum_j |a_j| - sum_{i != k} min (a'V)_i xi_i

    Centre ``u``, ``t`` and ``half`` become those of the smaller box, all of them whole numbers;
    ``span`` is room to work in.
    """
    d = len(t)
    for k in range(d):
        span[0, k], span[1, k] = -half[k], half[k]
    for _ in range(_ROUNDS):
        for m in range(len(limits)):
            room, size, least = limits[m], abs(limits[m]), 0.0
            for j in range(d):
                room -= walls[m, j] * t[j]
                size += abs(walls[m, j] * t[j])
                if j < d - 1:
                    room += slack * abs(walls[m, j])
                q = climb(walls, m, shear, j)
                least += min(q * span[0, j], q * span[1, j])
                size += abs(q) * half[j]
            room += _ROOM * size
            if least > room:
                return False
            for k in range(d):
                q = climb(walls, m, shear, k)
                own = min(q * span[0, k], q * span[1, k])
                if q > 0.0:
                    span[1, k] = min(span[1, k], math.floor((room - least + own) / q) + 1.0)
                elif q < 0.0:
                    span[0, k] = max(span[0, k], math.ceil((room - least + own) / q) - 1.0)
                if span[0, k] > span[1, k]:
                    return False
                least += min(q * span[0, k], q * span[1, k]) - own
    for k in range(d):
        middle = math.floor((span[0, k] + span[1, k]) / 2.0)
        half[k] = max(span[1, k] - middle, middle - span[0, k])
        u[k] += np.int64(middle)
    for j in range(d):
        lean = np.int64(0)
        for k in range(j + 1, d):
            lean += turn[j, k] * u[k]
        t[j] = u[j] + (lean >> shift)
    return True
