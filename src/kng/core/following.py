"""Bounds on norms that follow what one record can change, over boxes of theta, in float64.

    shorter   the norm fitted to all changes at any theta of a box
    longer    the norm fitted to changes that every theta of a box has

lie on either side of the norm at each theta of the box (docs/proofs/norms/hull.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kng.core.capabilities import DirectedNorm, Reach, ReachingLoss
from kng.core.delta import farthest
from kng.core.errors import KngError
from kng.core.parts import Array
from kng.core.regions import Region

if TYPE_CHECKING:
    from kng.core.plan import DensityPlan

# Sums of a few products are rounded outwards by this.
_OUTWARDS = 2.0**-48


def followed_bounds(
    plan: DensityPlan, low: Array, high: Array, first: Array, last: Array
) -> tuple[Array, Array]:
    """Return bounds on the norm of vectors between corners, at any theta of boxes.

    ``low`` and ``high`` are rows of vectors, ``first`` and ``last`` lattice points: the boxes.
    """
    loss, norm = plan.problem.loss, plan.problem.norm
    reach = loss.reach if isinstance(loss, ReachingLoss) else None
    if reach is None or not isinstance(norm, DirectedNorm):
        return _one_by_one(plan, low, high, first, last)
    directions = np.array([[float(v) for v in row] for row in norm.followed(loss.dim)])
    narrow, wide = reach_bounds(plan, reach, directions, first, last)
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


def reach_bounds(
    plan: DensityPlan, reach: Reach, directions: Array, first: Array, last: Array
) -> tuple[Array, Array]:
    """Return bounds on how far one record moves along directions, at any theta of boxes."""
    grid, unit = plan.problem.grid, plan.problem.unit
    origin, step = (np.array([float(v) for v in part]) for part in (grid.origin, grid.step))
    ends = [origin + step * corner for corner in (first, last)]
    start, end, doubt = reach.bounds(directions, *ends)
    wide = farthest(start - doubt, end + doubt, unit)
    return np.maximum(farthest(start + doubt, end - doubt, unit), 0.0), wide


def _one_by_one(
    plan: DensityPlan, low: Array, high: Array, first: Array, last: Array
) -> tuple[Array, Array]:
    """Return the same from norms that are fitted to each box."""
    least, most = np.zeros(len(low)), np.full(len(low), np.inf)
    for i, region in enumerate(regions(plan, first, last)):
        row = slice(i, i + 1)
        least[i] = plan.delta.norm_over(region).bounds(low[row], high[row])[0][0]
        try:
            longer = plan.delta.norm_under(region)
        except KngError:  # what every theta of the box has in common spans nothing
            continue
        most[i] = longer.bounds(low[row], high[row])[1][0]
    return least, most


def regions(plan: DensityPlan, first: Array, last: Array) -> Iterator[Region]:
    """Yield the region of each box."""
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        yield plan.problem.grid.region(tuple(int(v) for v in a), tuple(int(v) for v in b))
