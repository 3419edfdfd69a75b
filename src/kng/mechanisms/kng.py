"""The K-norm gradient mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, overload

import numpy as np

from kng.core.errors import IncompatibleParts
from kng.core.plan import DensityPlan
from kng.core.problem import Problem
from kng.core.protocols import BoxDomain, GradientLoss
from kng.core.regression import (
    AffineLoss,
    BallDomain,
    CoefficientPlan,
    Matrix,
    Plan,
    RealNorm,
    Regression,
    Scale,
)
from kng.core.shapes import BoxShape, RoundShape, SumShape


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

    @overload
    def plan(self, problem: Problem, epsilon: Fraction) -> DensityPlan: ...

    @overload
    def plan(self, problem: Regression, epsilon: Fraction) -> CoefficientPlan: ...

    def plan(self, problem: Problem | Regression, epsilon: Fraction) -> Plan:
        """Fix the density before the charge."""
        if isinstance(problem, Regression):
            return _coefficients(problem, epsilon)
        if not isinstance(problem.loss, GradientLoss):
            raise IncompatibleParts(
                f"KNG needs a loss with a gradient; {type(problem.loss).__name__} offers none."
            )
        if not isinstance(problem.domain, BoxDomain):
            domain = problem.domain
            reason = (
                "it is not a set of them"
                if domain.proper
                else ("on it a density may not have a finite integral")
            )
            raise IncompatibleParts(
                f"KNG needs the lattice points of a bounded domain, got {domain!r}: {reason}. "
                "Use domains.LatticeBox, or KNorm for a mean."
            )
        if problem.domain.dim == 1 and problem.norm.value((Fraction(1),)) != 1:
            raise IncompatibleParts(
                "On one coordinate a norm is a multiple of the absolute value, and the score is "
                "measured in the absolute value itself. Use norms.LInf."
            )
        sensitivity = problem.loss.gradient_sensitivity(
            problem.norm, problem.records, problem.unit.neighbours
        )
        return DensityPlan(problem, epsilon, self.name, "gradient", sensitivity)


def _coefficients(problem: Regression, epsilon: Fraction) -> CoefficientPlan:
    """Plan for a gradient that is affine in the coefficients.

    On a ball the paper's constant is used: the largest sensitivity over the ball. On the whole
    space the sensitivity is the one at theta, and a ridge of the order of the noise keeps
    directions without data in range; it is public and moves with no record.
    """
    loss, norm, design, unit = problem.loss, problem.norm, problem.design, problem.unit
    if not isinstance(loss, AffineLoss):
        raise IncompatibleParts(
            f"KNG for regression draws losses with an affine gradient so far; "
            f"{type(loss).__name__} has none. Use ObjectivePerturbation."
        )
    if not isinstance(norm, RealNorm):
        raise IncompatibleParts(f"KNG cannot draw from the norm {type(norm).__name__} here.")
    if norm.shape not in (None, BoxShape(), SumShape(), RoundShape()):
        # The samplers split coordinates, and a part of them has no weights of its own.
        raise IncompatibleParts(
            f"KNG for regression draws norms without weights so far; {type(norm).__name__} has "
            "some. Use norms.LInf() or norms.CoordinateSup()."
        )
    ones = (Fraction(1),) * design.dim
    corner = norm.largest([-one for one in ones], ones)
    if isinstance(problem.domain, BallDomain):
        largest = corner * loss.gradient_bound(problem.domain.radius, design, unit.neighbours)
        constant = Scale(lambda theta: np.full(theta.shape, float(largest)), float(largest))
        return CoefficientPlan(problem, epsilon, KNG.name, "gradient", constant, Fraction(0))

    def widths(theta: Matrix) -> Matrix:
        return norm.divisor(loss.widths(theta, design, unit.neighbours))

    slope = loss.slope(design, unit.neighbours)
    scale = Scale(widths, float(corner * slope))
    ridge = slope * (design.dim + 1) * unit.records_per_person / (2 * epsilon)
    return CoefficientPlan(problem, epsilon, KNG.name, "gradient", scale, ridge)
