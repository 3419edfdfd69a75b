"""Expected errors of means and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, hypot, sqrt

import numpy as np

from kng.core.plan import DensityPlan, NoisePlan
from kng.estimators.planning.declared import Column
from kng.estimators.planning.expected import Expected
from kng.losses.location_sum import counted
from kng.mechanisms.knorm import standard_deviations

# Points of the bounds at which the law of a quantile is looked at, and steps of its peak.
_POINTS = 4001
# Reach over the scale of the noise below which all of the noise counts as cut.
_NEAR = 1e-5


def mean_errors(
    plan: NoisePlan, columns: Sequence[Column], names: Sequence[str], n: int
) -> list[Expected] | None:
    """Return the errors of means: noise on the sum, and on the count where that is private.

        noise_j^2 = (sd of the sum^2 + (mean_j - middle_j)^2 sd of the count^2) / n^2

    None for norms that do not know their own size. A mean is moved into its bounds, so noise is no
    larger than they allow: it is taken as Laplace's, cut there.
    """
    sizes = standard_deviations(plan)
    if sizes is None:
        return None
    count = sizes[-1] if counted(plan.problem.unit) else 0.0
    found = []
    for name, column, size in zip(names, columns, sizes, strict=False):
        reach = (column.high - column.low) / 2
        away = column.mean - (column.low + column.high) / 2
        noise = hypot(size, away * count) / n
        found.append(Expected(name, cut(noise, reach), column.deviation / sqrt(n)))
    return found


def cut(deviation: float, reach: float) -> float:
    """Return the root mean square of Laplace noise that is cut at a distance."""
    b = deviation / sqrt(2)
    far = reach / b
    if far < _NEAR:  # nearly all of it is cut; the formula below would lose its digits
        return reach
    return deviation if far > 40 else deviation * sqrt(max(1 - exp(-far) * (1 + far), 0.0))


def quantile_errors(
    plans: Sequence[DensityPlan], column: Column, taus: Sequence[Fraction], n: int
) -> list[Expected]:
    """Return the errors of quantiles that are drawn one by one, or together."""
    if len(plans) == len(taus):
        pairs = zip(plans, taus, strict=True)
        return [quantile_error(_rate(plan), column, float(tau), n) for plan, tau in pairs]
    shifts = _bridge(len(taus))
    order = sorted(range(len(taus)), key=lambda i: taus[i])
    found = [quantile_error(_rate(plans[0]), column, float(tau), n) for tau in taus]
    for place, at in enumerate(order):
        alone = found[at]
        found[at] = Expected(alone.name, alone.noise * shifts[place], alone.sampling)
    return found


def _rate(plan: DensityPlan) -> float:
    assert plan.steady is not None
    return float(plan.epsilon / (2 * plan.problem.unit.group(plan.steady)))


def quantile_error(rate: float, column: Column, q: float, n: int) -> Expected:
    """Return the error of one quantile.

    The law of the draw for records that follow the declared shape exactly,

        p(theta) proportional to exp( -c n |F(theta) - q| )    between the bounds,

    has a peak of width 1 / (c n f) and tails that are flat where there are no records; both count.
    """
    at = column.quantile(q)
    density = max(column.density(at), 1e-300)
    sampling = sqrt(q * (1 - q) / n) / density
    wide = min(60 / (rate * n * density), column.high - column.low)
    near = np.linspace(max(at - wide, column.low), min(at + wide, column.high), _POINTS)
    all_ = np.linspace(column.low, column.high, _POINTS)
    points = np.unique(np.concatenate([near, all_, [at]]))
    weight = np.exp(-rate * n * np.abs(column.below(points) - q))
    mass = float(np.trapezoid(weight, points))
    noise = sqrt(float(np.trapezoid(weight * (points - at) ** 2, points)) / mass)
    reach = column.deviation * 10
    return Expected(f"{q:g}", noise, min(sampling, reach))


def _bridge(m: int) -> list[float]:
    """Return how much wider each of m quantiles is than alone, if they are drawn together.

    Ranks t_j have weights exp(-(c / 2) sum |t_j - t_(j-1)|) with 0 at both ends, so that t_j has
    the product of two convolutions of Laplace's density; alone it has variance 2 / c^2.
    """
    t = np.linspace(-80, 80, 4001)
    step = np.exp(-np.abs(t) / 2)
    sums = [step / step.sum()]
    for _ in range(m - 1):
        wide = np.convolve(sums[-1], sums[0], mode="same")
        sums.append(wide / wide.sum())
    found = []
    for j in range(m):
        both = sums[j] * sums[m - 1 - j]
        found.append(sqrt(float((both * t**2).sum() / both.sum()) / 2))
    return found
