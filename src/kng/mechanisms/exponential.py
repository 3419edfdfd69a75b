"""The exponential mechanism, KNG's rival in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, overload

import numpy as np

from kng.core.errors import IncompatibleParts
from kng.core.plan import DensityPlan
from kng.core.problem import Problem
from kng.core.protocols import BoxDomain, PlaneLoss, ValueLoss
from kng.core.regression import (
    AffineLoss,
    BallDomain,
    CoefficientPlan,
    Plan,
    Regression,
    Scale,
)


@dataclass(frozen=True, slots=True)
class Exponential:
    """Weigh theta by the loss itself.

        p(theta) proportional to exp( -(epsilon / 2 Delta) * sum_i l(theta; x_i) )

    Paper    Proposition 2.2. Its baseline for quantile regression doubles Delta without need:
             losses are not negative, so one record changes the sum by at most its largest loss.
    Privacy  Fact A with the loss in place of the gradient. docs/proofs/mechanisms/density.md.
    Cost     The plan is arithmetic on public numbers.
    """

    name: ClassVar[str] = "exponential"

    @overload
    def plan(self, problem: Problem, epsilon: Fraction) -> DensityPlan: ...

    @overload
    def plan(self, problem: Regression, epsilon: Fraction) -> CoefficientPlan: ...

    def plan(self, problem: Problem | Regression, epsilon: Fraction) -> Plan:
        """Fix the density before the charge."""
        if isinstance(problem, Regression):
            return _coefficients(problem, epsilon)
        if isinstance(problem.loss, PlaneLoss) and isinstance(problem.domain, BoxDomain):
            sensitivity = problem.loss.plane_sensitivity(problem.domain, problem.answers)
            return DensityPlan(problem, epsilon, self.name, "value", sensitivity)
        if not isinstance(problem.loss, ValueLoss):
            raise IncompatibleParts(
                f"Exponential needs a loss with a bounded value; {type(problem.loss).__name__} "
                "offers none. Use KNG."
            )
        if not isinstance(problem.domain, BoxDomain):
            raise IncompatibleParts(
                "Exponential needs the lattice points of a bounded domain, because a loss is "
                "bounded only there. Use domains.LatticeBox."
            )
        inside = all(
            first >= 0 and last <= most
            for first, last, most in zip(
                problem.domain.first, problem.domain.last, problem.records.last, strict=True
            )
        )
        if not inside:
            raise IncompatibleParts(
                "Exponential bounds the loss between the bounds of a record only; the domain "
                "reaches beyond them. Use a LatticeBox inside the lattice of the records."
            )
        sensitivity = problem.loss.value_sensitivity(problem.records, problem.unit.neighbours)
        return DensityPlan(problem, epsilon, self.name, "value", sensitivity)


def _coefficients(problem: Regression, epsilon: Fraction) -> CoefficientPlan:
    """Plan for a quadratic loss on a ball: a Gaussian, cut to it."""
    loss, domain = problem.loss, problem.domain
    if not isinstance(loss, AffineLoss):
        raise IncompatibleParts(
            f"Exponential for regression draws quadratic losses; {type(loss).__name__} is not "
            "one. Use ObjectivePerturbation."
        )
    if not isinstance(domain, BallDomain):
        raise IncompatibleParts(
            "Exponential needs a bound on the coefficients, because a squared loss is bounded "
            "only then. Give coef_bound."
        )
    largest = float(loss.value_sensitivity(domain.radius))
    scale = Scale(lambda theta: np.full(theta.shape, largest), largest)
    return CoefficientPlan(problem, epsilon, Exponential.name, "value", scale, Fraction(0))
