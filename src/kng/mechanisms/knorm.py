"""Additive K-norm noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from kng.core.errors import IncompatibleParts
from kng.core.plan import NoisePlan
from kng.core.problem import Problem
from kng.core.protocols import LocationLoss


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
        loss, neighbours = problem.loss, problem.unit.neighbours
        if not isinstance(loss, LocationLoss):
            raise IncompatibleParts(
                f"KNorm needs an estimate that is a function of a sum; {type(loss).__name__} "
                "has none. Use KNG."
            )
        if problem.domain.proper:
            raise IncompatibleParts(
                "KNorm keeps the whole epsilon only on the whole space with a uniform base; "
                "elsewhere its normaliser depends on the data. Use domains.Whole with "
                "base=Uniform(); answers are clamped after the draw."
            )
        widths = loss.sum_widths(problem.records, neighbours)
        return NoisePlan(
            problem,
            epsilon,
            self.name,
            problem.norm.largest([-w for w in widths], widths),
            loss.sum_steps(problem.records, neighbours),
        )
