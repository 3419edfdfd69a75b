"""Bounds on the exponent of a density over boxes of lattice points, in float64.

They decide where a sampler looks and how fast it is. Every draw is accepted by its exact exponent,
so no privacy rests on them, but that they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kng.core.capabilities import FactoredLoss, ReachingLoss
from kng.core.delta import product_delta, product_deltas
from kng.core.following import ends_of, followed_bounds, reach_bounds, regions
from kng.core.parts import Array, described
from kng.core.shapes import facets_of

if TYPE_CHECKING:
    from kng.core.plan import DensityPlan

# Rates are rounded outwards by this.
_OUTWARDS = 2.0**-48
# What a theta in float64 may be away from the one it stands for, in parts of its terms.
_ROUNDED = 2.0**-50
# Exponents of a base measure up to this are told apart by 2**-8 or so.
_STEEPEST = 2.0**40
# Bounds on Delta over boxes, from their corners (first, last).
DeltaBounds = Callable[[Array, Array], tuple[Array, Array]]
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
        least, most = followed_bounds(plan, low, high, first, last)
    else:
        least, most = plan.problem.norm.bounds(low, high)
    slow, fast = _rates(plan, first, last)
    lower = np.maximum(least, 0.0) * slow * (1 - _OUTWARDS)
    upper = np.where(most > 0, most, 0.0) * fast * (1 + _OUTWARDS)
    if plan.problem.domain.base.even:
        return lower, upper
    near, far = base_bounds(plan, first, last)
    return (lower + near) * (1 - _OUTWARDS), (upper + far) * (1 + _OUTWARDS)


def base_bounds(plan: DensityPlan, first: Array, last: Array) -> tuple[Array, Array]:
    """Return bounds on the exponent of the base measure over boxes of lattice points."""
    grid = plan.problem.grid
    origin, step = (np.array([float(v) for v in each]) for each in (grid.origin, grid.step))
    ends = [origin + step * corner for corner in (first, last)]
    room = [_ROUNDED * (np.abs(origin) + np.abs(step * corner)) for corner in (first, last)]
    return plan.problem.domain.base.exponent_bounds(ends[0] - room[0], ends[1] + room[1])


def too_steep(plan: DensityPlan) -> str | None:
    """Refuse a base measure whose exponents float64 could not tell apart, or return None."""
    domain = plan.problem.domain
    if domain.base.even:
        return None
    corners = (np.array([end], dtype=np.float64) for end in (plan.domain.first, plan.domain.last))
    _, most = base_bounds(plan, *corners)
    if most[0] <= _STEEPEST:
        return None
    return (
        f"The base measure of {described(domain)} falls by a factor of more than exp(2**40) within "
        "it, far beyond what branch and bound can follow. Use a wider base, or a smaller domain."
    )


def _rates(plan: DensityPlan, first: Array, last: Array) -> tuple[Array | float, Array | float]:
    """Return bounds on epsilon / (2 Delta) over each box."""
    if plan.steady is not None:
        slowest, fastest = _floats(plan.rate / plan.steady)
        return slowest * (1 - _OUTWARDS), fastest * (1 + _OUTWARDS)
    together = _together(plan)
    if together is not None:
        least, most = together(first, last)
        rate, _ = _floats(plan.rate)
        with np.errstate(all="ignore"):
            return rate / most * (1 - 2 * _OUTWARDS), rate / least * (1 + 2 * _OUTWARDS)
    slow, fast = np.empty(len(first)), np.empty(len(first))
    for i, region in enumerate(regions(plan, first, last)):
        under = plan.delta.under(region)
        slow[i], _ = _floats(plan.rate / plan.delta.over(region))
        fast[i] = _floats(plan.rate / under)[1] if under > 0 else np.inf
    return slow * (1 - _OUTWARDS), fast * (1 + _OUTWARDS)


@lru_cache(maxsize=16)
def _together(plan: DensityPlan) -> DeltaBounds | None:
    """Return bounds on Delta over many boxes at once; None if each is asked for by itself."""
    loss, norm = plan.problem.loss, plan.problem.norm
    if plan.weighs == "value":
        return None
    reach = loss.reach if isinstance(loss, ReachingLoss) else None
    facets = facets_of(norm.shape, loss.dim)
    if reach is not None and facets:
        directions = np.array([[float(v) for v in row] for row in facets])

        def along(first: Array, last: Array) -> tuple[Array, Array]:
            narrow, wide = reach_bounds(plan, reach, directions, first, last)
            return narrow.max(axis=1), wide.max(axis=1)

        return along
    factor = loss.factor if isinstance(loss, FactoredLoss) else None
    if factor is None:
        return None
    sizes = product_deltas(norm, factor.rows, plan.problem.unit)
    single, double = (np.asarray(size, dtype=np.float64) for size in sizes)

    def weighed(first: Array, last: Array) -> tuple[Array, Array]:
        low, high, common_low, common_high = factor.bounds(*ends_of(plan, first, last))
        least = product_delta(single, double, common_low, common_high)
        return least, product_delta(single, double, low, high)

    return weighed


def _floats(number: Fraction) -> tuple[float, float]:
    """Return float64 near a number above 0; below and above it where it has left float64."""
    try:
        return float(number), max(float(number), _LEAST)
    except OverflowError:
        return _LARGEST, np.inf
