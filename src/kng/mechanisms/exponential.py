"""The exponential mechanism, KNG's rival in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from kng.core.errors import IncompatibleParts
from kng.core.plan import DensityPlan
from kng.core.problem import Problem
from kng.core.protocols import BoxDomain, ValueLoss


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

    def plan(self, problem: Problem, epsilon: Fraction) -> DensityPlan:
        """Fix the density before the charge."""
        if not isinstance(problem.loss, ValueLoss):
            raise IncompatibleParts(
                f"Exponential needs a loss with a bounded value; {type(problem.loss).__name__} "
                "offers none. Use KNG."
            )
        if not isinstance(problem.domain, BoxDomain):
            raise IncompatibleParts(
                "Exponential needs a bounded domain, because a loss is bounded only there. "
                "Use domains.Box."
            )
        sensitivity = problem.loss.value_sensitivity(problem.records, problem.unit.neighbours)
        return DensityPlan(problem, epsilon, self.name, "value", sensitivity)
