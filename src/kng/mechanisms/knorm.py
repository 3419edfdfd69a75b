"""Additive K-norm noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sinh, sqrt
from typing import ClassVar

from kng.core.capabilities import MeasuredBall, SumLoss
from kng.core.delta import delta
from kng.core.errors import IncompatibleParts
from kng.core.parts import described
from kng.core.plan import NoisePlan
from kng.core.problem import Problem
from kng.core.shapes import BoxShape, SumShape


def standard_deviations(plan: NoisePlan) -> tuple[float, ...] | None:
    """Return the noise's standard deviation in each coordinate, in the caller's units.

        one coordinate, sum norms   step / (sqrt(2) sinh(rate w step / 2)),  exactly
        box norms                   half width sqrt((d + 1) (d + 2) / 3) / rate, before rounding
        other norms                 sqrt((d + 1) (d + 2) E v_j^2) / rate,  v uniform in their ball

    None for norms that do not know E v_j^2.
    """
    norm, d, one = plan.problem.norm, len(plan.steps), Fraction(1)
    shape = norm.shape
    if d > 1 and isinstance(shape, BoxShape):
        sides = shape.half_widths or (one,) * d
        return tuple(float(w / plan.rate) * sqrt((d + 1) * (d + 2) / 3) for w in sides)
    if d > 1 and not isinstance(shape, SumShape):
        if not isinstance(norm, MeasuredBall):
            return None
        squares = [(d + 1) * (d + 2) * v for v in norm.second_moments(d)]
        return tuple(sqrt(v) / float(plan.rate) for v in squares)
    weights: tuple[Fraction, ...] = (one,) * d
    if d == 1:
        weights = (norm.value((one,)),)
    elif isinstance(shape, SumShape) and shape.weights:
        weights = shape.weights
    return tuple(
        float(step) / (sqrt(2) * sinh(float(plan.rate * w * step) / 2))
        for w, step in zip(weights, plan.steps, strict=True)
    )


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
        problem = problem.fitted(body)
        return NoisePlan(problem, epsilon, self.name, delta(problem.norm, body, unit), steps)
