"""A density on real space, as samplers in float64 take it from a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kng.core.capabilities import AffineLoss, RealNorm
from kng.core.plan import DensityPlan
from kng.core.quadratic import Matrix


@dataclass(frozen=True, slots=True)
class Scale:
    """Delta(theta) per coordinate for rows of theta, and a bound on it.

    ``bound`` is s with Delta_j(theta) <= s (1 + ||theta||_1) on the whole space, or with
    Delta_j(theta) <= s where it is the same everywhere.
    """

    widths: Callable[[Matrix], Matrix]
    bound: float

    @classmethod
    def of(cls, plan: DensityPlan) -> Scale:
        """Return what a gradient is divided by."""
        if plan.steady is not None:
            largest = float(plan.steady)
            return cls(lambda theta: np.full(theta.shape, largest), largest)
        loss, norm, unit = plan.problem.loss, plan.problem.norm, plan.problem.unit
        assert isinstance(loss, AffineLoss)
        assert isinstance(norm, RealNorm)

        def widths(theta: Matrix) -> Matrix:
            return norm.divisor(loss.widths(theta, unit))

        growth = loss.growth(unit)
        assert growth is not None  # only an affine gradient is drawn here
        ends = (growth,) * loss.dim
        largest_growth = norm.largest(tuple(-s for s in ends), ends)
        return cls(widths, float(largest_growth))


def nearest(plan: DensityPlan, theta: Matrix) -> tuple[int, ...]:
    """Return the lattice point of the answers that is nearest to theta, on the plan's grid."""
    grid, answers = plan.problem.grid, plan.problem.answers
    index = answers.nearest([Fraction(float(v)) for v in theta])
    return tuple(
        k + round((origin - o) / h)
        for k, origin, o, h in zip(index, answers.origin, grid.origin, grid.step, strict=True)
    )
