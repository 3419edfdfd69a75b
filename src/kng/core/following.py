"""Bounds on norms that follow what one record can change, over boxes of theta, in float64.

    shorter   the norm fitted to all changes at any theta of a box
    longer    the norm fitted to changes that every theta of a box has

lie on either side of the norm at each theta of the box (docs/proofs/norms/hull.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from kng.core.bodies import product_set
from kng.core.capabilities import DirectedNorm, Factor, FactoredLoss, Reach, ReachingLoss
from kng.core.delta import changes, farthest
from kng.core.errors import KngError
from kng.core.parts import Array, Norm
from kng.core.regions import Region

if TYPE_CHECKING:
    from kng.core.plan import DensityPlan

# Sums of a few products are rounded outwards by this.
_OUTWARDS = 2.0**-48
# Widths of the range of w, in parts of its larger end, between 1 and 2, that norms are fitted to.
_WIDTHS = 64


def followed_bounds(
    plan: DensityPlan, low: Array, high: Array, first: Array, last: Array
) -> tuple[Array, Array]:
    """Return bounds on the norm of vectors between corners, at any theta of boxes.

    ``low`` and ``high`` are rows of vectors, ``first`` and ``last`` lattice points: the boxes.
    """
    loss, norm = plan.problem.loss, plan.problem.norm
    factor, reach = _known(plan)
    if factor is not None:
        ends = factor.bounds(*ends_of(plan, first, last))
        return _factored(low, high, ends, partial(_fitted, plan))
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
    unit = plan.problem.unit
    start, end, doubt = reach.bounds(directions, *ends_of(plan, first, last))
    wide = farthest(start - doubt, end + doubt, unit)
    return np.maximum(farthest(start + doubt, end - doubt, unit), 0.0), wide


def _factored(
    low: Array,
    high: Array,
    ends: tuple[Array, Array, Array, Array],
    fitted: Callable[[int], Norm],
) -> tuple[Array, Array]:
    """Return the same where scores are w z: changes grow with the larger end of w and its width.

    With the larger end 1 a norm depends on the width alone. It is fitted to a few widths, rounded
    up where it should be shorter and down where it should be longer.
    """
    outer_low, outer_high, inner_low, inner_high = ends
    with np.errstate(all="ignore"):
        wide, narrow = np.maximum(-outer_low, outer_high), np.maximum(-inner_low, inner_high)
        wider = np.ceil((outer_high - outer_low) / wide * _WIDTHS * (1 + _OUTWARDS))
        narrower = np.floor((inner_high - inner_low) / narrow * _WIDTHS * (1 - _OUTWARDS))
    least, most = np.zeros(len(low)), np.full(len(low), np.inf)
    for width in np.unique(wider).tolist():
        rows = wider == width
        shorter = fitted(min(int(width), 2 * _WIDTHS))
        least[rows] = shorter.bounds(low[rows], high[rows])[0]
    for width in np.unique(narrower[narrow > 0]).tolist():
        rows = (narrower == width) & (narrow > 0)
        longer = fitted(max(int(width), _WIDTHS))
        most[rows] = longer.bounds(low[rows], high[rows])[1]
    with np.errstate(all="ignore"):
        least, most = least / wide, most / narrow
    return least * (1 - 2 * _OUTWARDS), np.where(narrow > 0, most, np.inf) * (1 + 2 * _OUTWARDS)


@lru_cache(maxsize=16)
def _known(plan: DensityPlan) -> tuple[Factor | None, Reach | None]:
    """Return what the loss knows of its scores at many theta at once."""
    loss = plan.problem.loss
    return (
        loss.factor if isinstance(loss, FactoredLoss) else None,
        loss.reach if isinstance(loss, ReachingLoss) else None,
    )


@lru_cache(maxsize=256)
def _fitted(plan: DensityPlan, width: int) -> Norm:
    """Return the norm of changes for w between 1 - width / WIDTHS and 1."""
    factor, _ = _known(plan)
    assert factor is not None
    body = product_set((Fraction(_WIDTHS - width, _WIDTHS), Fraction(1)), factor.rows)
    return plan.problem.norm.at(changes(body, plan.problem.unit))


def ends_of(plan: DensityPlan, first: Array, last: Array) -> tuple[Array, Array]:
    """Return the corners of boxes in units of theta."""
    grid = plan.problem.grid
    origin, step = (np.array([float(v) for v in part]) for part in (grid.origin, grid.step))
    return origin + step * first, origin + step * last


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
