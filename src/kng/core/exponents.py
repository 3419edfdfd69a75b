"""Bounds on the exponent of a density over boxes of lattice points, in float64.

They decide where a sampler looks and how fast it is. Every draw is accepted by its exact exponent,
so no privacy rests on them, but that they hold.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from kng.core.parts import Array

if TYPE_CHECKING:
    from kng.core.plan import DensityPlan

# Rates are rounded outwards by this.
_OUTWARDS = 2.0**-48
_LEAST, _LARGEST = 2.0**-1000, float(np.finfo(np.float64).max)


def exponent_bounds(
    plan: DensityPlan, low: Array, high: Array, first: Array, last: Array
) -> tuple[Array, Array]:
    """Return bounds on gamma over boxes, rows of corners ``first``, ``last``.

    ``low`` and ``high`` bound the coordinates of the vector whose norm is the score.
    """
    if plan.weighs == "value":
        least, most = np.maximum(low[:, 0], 0.0), high[:, 0]
    else:
        least, most = plan.problem.norm.bounds(low, high)
    slow, fast = _rates(plan, first, last)
    lower = np.maximum(least, 0.0) * slow * (1 - _OUTWARDS)
    return lower, np.where(most > 0, most, 0.0) * fast * (1 + _OUTWARDS)


def _rates(plan: DensityPlan, first: Array, last: Array) -> tuple[Array | float, Array | float]:
    """Return bounds on epsilon / (2 Delta) over each box."""
    if plan.steady is not None:
        slowest, fastest = _floats(plan.rate / plan.steady)
        return slowest * (1 - _OUTWARDS), fastest * (1 + _OUTWARDS)
    slow, fast = np.empty(len(first)), np.empty(len(first))
    for i, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        ends = tuple(int(v) for v in a), tuple(int(v) for v in b)
        region = plan.problem.grid.region(*ends)
        least = plan.delta.under(region)
        slow[i], _ = _floats(plan.rate / plan.delta.over(region))
        fast[i] = _floats(plan.rate / least)[1] if least > 0 else np.inf
    return slow * (1 - _OUTWARDS), fast * (1 + _OUTWARDS)


def _floats(number: Fraction) -> tuple[float, float]:
    """Return float64 near a number above 0; below and above it where it has left float64."""
    try:
        return float(number), max(float(number), _LEAST)
    except OverflowError:
        return _LARGEST, np.inf
