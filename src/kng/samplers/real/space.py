"""A density on real space, as samplers in float64 take it from a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
        if plan.steady is not None and not plan.varies:
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
