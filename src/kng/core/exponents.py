"""Bounds on the exponent of a density over boxes of lattice points, in float64.

They decide where a sampler looks and how fast it is. Every draw is accepted by its exact exponent,
so no privacy rests on them, but that they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from kng.core.capabilities import DirectedNorm, ReachingLoss
from kng.core.delta import farthest
from kng.core.errors import KngError
from kng.core.parts import Array
from kng.core.regions import Region

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
    elif plan.varies:
        least, most = _measured(plan, low, high, first, last)
    else:
        least, most = plan.problem.norm.bounds(low, high)
    slow, fast = _rates(plan, first, last)
    lower = np.maximum(least, 0.0) * slow * (1 - _OUTWARDS)
    return lower, np.where(most > 0, most, 0.0) * fast * (1 + _OUTWARDS)


def _measured(
    plan: DensityPlan, low: Array, high: Array, first: Array, last: Array
) -> tuple[Array, Array]:
    """Return bounds on norms that follow theta, of vectors between corners."""
    loss, norm = plan.problem.loss, plan.problem.norm
    reach = loss.reach if isinstance(loss, ReachingLoss) else None
    if reach is None or not isinstance(norm, DirectedNorm):
        return _one_by_one(plan, low, high, first, last)
    directions = np.array([[float(v) for v in row] for row in norm.followed(loss.dim)])
    grid = plan.problem.grid
    origin, step = (np.array([float(v) for v in part]) for part in (grid.origin, grid.step))
    ends = [origin + step * corner for corner in (first, last)]
    start, end, doubt = reach.bounds(directions, *ends)
    wide = farthest(start - doubt, end + doubt, plan.problem.unit)
    narrow = np.maximum(farthest(start + doubt, end - doubt, plan.problem.unit), 0.0)
    with np.errstate(all="ignore"):
        up, down = np.maximum(directions, 0.0).T, np.minimum(directions, 0.0).T
        sizes = np.where(np.isfinite(low) & np.isfinite(high), np.maximum(-low, high), np.inf)
        fuzz = _OUTWARDS * (sizes @ (up - down))
        lowest = low @ up + high @ down - fuzz
        highest = high @ up + low @ down + fuzz
        lowest = np.where(np.isnan(lowest), -np.inf, lowest)
        highest = np.where(np.isnan(highest), np.inf, highest)
        least = np.maximum(np.maximum(lowest, -highest), 0.0) / wide
        most = np.maximum(-lowest, highest) / narrow
    # Where no record can change anything along a direction, nothing there is known.
    least, most = np.nan_to_num(least, nan=0.0, posinf=0.0), np.nan_to_num(most, nan=np.inf)
    return least.max(axis=1) * (1 - _OUTWARDS), most.max(axis=1) * (1 + _OUTWARDS)


def _one_by_one(
    plan: DensityPlan, low: Array, high: Array, first: Array, last: Array
) -> tuple[Array, Array]:
    """Return the same from norms that are fitted to each box."""
    least, most = np.zeros(len(low)), np.full(len(low), np.inf)
    for i, region in enumerate(_regions(plan, first, last)):
        row = slice(i, i + 1)
        least[i] = plan.delta.norm_over(region).bounds(low[row], high[row])[0][0]
        try:
            longer = plan.delta.norm_under(region)
        except KngError:  # what every theta of the box has in common spans nothing
            continue
        most[i] = longer.bounds(low[row], high[row])[1][0]
    return least, most


def _regions(plan: DensityPlan, first: Array, last: Array) -> Iterator[Region]:
    """Yield the region of each box."""
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        yield plan.problem.grid.region(tuple(int(v) for v in a), tuple(int(v) for v in b))


def _rates(plan: DensityPlan, first: Array, last: Array) -> tuple[Array | float, Array | float]:
    """Return bounds on epsilon / (2 Delta) over each box."""
    if plan.steady is not None:
        slowest, fastest = _floats(plan.rate / plan.steady)
        return slowest * (1 - _OUTWARDS), fastest * (1 + _OUTWARDS)
    slow, fast = np.empty(len(first)), np.empty(len(first))
    for i, region in enumerate(_regions(plan, first, last)):
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
