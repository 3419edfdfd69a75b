"""Additive K-norm noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from kng.core.capabilities import SumLoss
from kng.core.delta import delta
from kng.core.errors import IncompatibleParts
from kng.core.parts import described
from kng.core.plan import NoisePlan
from kng.core.problem import Problem


@dataclass(frozen=True, slots=True)
class KNorm:
    """Add noise to the sum that determines the estimate.

        released sum = sum_i x_i + u,     u with density prop. to exp( -epsilon ||u||_K / Delta )

    Paper    Section 4.1, remark: KNG for the mean is a location family, so its normaliser does
             not depend on the data and epsilon need not be halved. (The remark's sign is a
             misprint.) It holds on the whole space only, so we clamp after the draw instead of
             conditioning on the bounds, and put the noise on the integer sum.
    Privacy  Delta is the largest ||change of the sum||_K. docs/proofs/mechanisms/knorm.md.
    Cost     The plan is arithmetic on public numbers.
    """

    name: ClassVar[str] = "k-norm"

    def plan(self, problem: Problem, epsilon: Fraction) -> NoisePlan:
        """Fix the noise before the charge."""
        loss, unit, domain = problem.loss, problem.unit, problem.domain
        sums = loss.sums if isinstance(loss, SumLoss) else None
        if sums is None:
            raise IncompatibleParts(
                f"KNorm needs an estimate that is a function of a sum; {described(loss)} has none. "
                "Use KNG."
            )
        if domain.bounded:
            raise IncompatibleParts(
                f"KNorm keeps the whole epsilon only on the whole space; on {described(domain)} "
                "its normaliser depends on the data. Use domains.Whole; answers are clamped after "
                "the draw."
            )
        body, steps = sums.body(unit), sums.steps(unit)
        problem.refuse_norm(len(steps))
        return NoisePlan(problem, epsilon, self.name, delta(problem.norm, body, unit), steps)
