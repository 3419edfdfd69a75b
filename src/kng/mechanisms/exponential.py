"""The exponential mechanism, KNG's rival in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from kng.core.delta import Absolute, Delta
from kng.core.errors import IncompatibleParts
from kng.core.naming import argument
from kng.core.parts import described
from kng.core.plan import DensityPlan
from kng.core.problem import Problem


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
        loss, domain = problem.loss, problem.domain
        if not domain.bounded:
            raise IncompatibleParts(
                f"Exponential needs a bounded domain, because {described(loss)} has no largest "
                f"value on {described(domain)}. Use a Box or an L1Ball ({argument('coef_bound')})."
            )
        delta = Delta(Absolute(), problem.unit, loss.values, loss.values)
        return DensityPlan(problem, epsilon, self.name, "value", delta, delta.over(domain.region()))
