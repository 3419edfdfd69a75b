"""The unnormalised log density of coefficients at one point, for chains and tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kng.core.privacy import Assumption
from kng.core.regression import (
    AffineField,
    BallDomain,
    CoefficientPlan,
    RealNorm,
    Vector,
    tail_of,
)

CHAIN_ASSUMPTIONS = (
    Assumption.RANDOM_BITS,
    Assumption.UNSEEN_CLOCK,
    Assumption.REAL_ARITHMETIC,
    Assumption.CONVERGED,
)


@dataclass(frozen=True)
class Target:
    """log p(theta) up to a constant; minus infinity outside Theta.

        gradient   -rate * || G(theta) / Delta(theta) ||_K          (KNG)
        value      -rate / Delta * (theta'A theta / 2 - b'theta)      (exponential mechanism)

    plus the base measure: 0 on a ball, -(d + freedom) log(1 + ||theta||_1) on the whole space.
    """

    plan: CoefficientPlan
    field: AffineField

    def log_density(self, theta: Vector) -> float:
        """Return the log density at one point."""
        plan, field = self.plan, self.field
        size = float(np.abs(theta).sum())
        domain = plan.problem.domain
        base = 0.0
        if isinstance(domain, BallDomain):
            if size > float(domain.radius):
                return -np.inf
        elif (tail := tail_of(domain)) is not None:
            base = -(len(theta) + tail.freedom) * float(np.log1p(size))
        if plan.score == "value":
            value, _, _ = field.derivatives(theta)
            return base - plan.rate * value / plan.scale.bound
        norm = plan.problem.norm
        assert isinstance(norm, RealNorm)
        gradient = field.matrix @ theta + float(plan.ridge) * theta - field.vector
        divided = gradient[None, :] / plan.scale.widths(theta[None, :])
        return base - plan.rate * float(norm.lengths(divided)[0])
