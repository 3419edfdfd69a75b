"""The K-norm gradient mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from kng.core.errors import IncompatibleParts
from kng.core.plan import DensityPlan
from kng.core.problem import Problem
from kng.core.protocols import BoxDomain, GradientLoss


@dataclass(frozen=True, slots=True)
class KNG:
    """Weigh theta by the size of the loss's gradient there.

        p(theta) proportional to exp( -(epsilon / 2 Delta(theta)) * || sum_i g(x_i, theta) ||_K )

    Paper    Theorem 3.1. It asks for integrability of exp(-score); what is needed is that of
             exp(-(epsilon/2) score), which a finite Theta gives.
    Privacy  Fact A: any per-record function g with a public bound Delta on its change.
             docs/proofs/mechanisms/density.md.
    Cost     The plan is arithmetic on public numbers.
    """

    name: ClassVar[str] = "kng"

    def plan(self, problem: Problem, epsilon: Fraction) -> DensityPlan:
        """Fix the density before the charge."""
        if not isinstance(problem.loss, GradientLoss):
            raise IncompatibleParts(
                f"KNG needs a loss with a gradient; {type(problem.loss).__name__} offers none."
            )
        if not isinstance(problem.domain, BoxDomain):
            raise IncompatibleParts(
                f"KNG needs a bounded domain; on {type(problem.domain).__name__} its density may "
                "not have a finite integral. Use domains.Box, or KNorm for a mean."
            )
        sensitivity = problem.loss.gradient_sensitivity(
            problem.norm, problem.records, problem.unit.neighbours
        )
        return DensityPlan(problem, epsilon, self.name, "gradient", sensitivity)
