"""Objective perturbation: noise in the objective, then a convex solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import expm1
from typing import ClassVar

from kng.core.capabilities import BallDomain, SmoothLoss
from kng.core.delta import delta
from kng.core.enclosures import ball, floor_ceil, precision
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.lazy_noise import noise_refusal, noise_size
from kng.core.naming import argument
from kng.core.parts import described
from kng.core.perturbed import PerturbedPlan
from kng.core.problem import Problem

# Shares of epsilon for the noise that are compared when none is given.
SHARES = [Fraction(k, 100) for k in range(20, 100)]
# A larger ridge is as private. Beyond 10 it is the solver's foothold where columns are collinear,
# 5e-5 of one record's curvature, and may not vanish.
_MOST = Fraction(10)
# A ridge is rounded up to this many significant bits, which keeps the solver's fractions short.
_RIDGE_BITS = 24


@dataclass(frozen=True, slots=True)
class ObjectivePerturbation:
    """Minimise the loss plus a random linear term and a ridge.

        theta = argmin over Theta of  sum l(theta; x_i) + (gamma / 2) ||theta - c||^2 + u'theta
        u with density proportional to exp( -q epsilon ||u||_K / Delta )
        gamma >= lambda / (exp((1 - q) epsilon) - 1)

    The density of theta is exp(-q epsilon ||gradient|| / Delta) det(Hessian + gamma), so a share q
    of epsilon pays for the gradient and the rest for the determinant: one record changes the
    Hessian by a matrix of rank one with eigenvalue at most lambda, hence the determinant by a
    factor of at most 1 + lambda / gamma.

    ``share`` is q; None takes the one with the smallest predicted error from public facts, and
    Fraction(1, 2) is the paper's. ``centre`` is c, a public guess of theta in standardised units,
    which may be an earlier release; None is 0. It is a linear term that neighbours share.

    Paper    Section 4.3 and its supplement, with q = 1/2.
    Privacy  docs/proofs/mechanisms/objective.md.
    Cost     The plan is arithmetic on public numbers.
    """

    share: Fraction | None = None
    centre: tuple[Fraction, ...] | None = None
    name: ClassVar[str] = "objective"

    def plan(self, problem: Problem, epsilon: Fraction) -> PerturbedPlan:
        """Fix noise and ridge before the charge."""
        if self.share is not None and not 0 < self.share < 1:
            raise SpecError(
                f"{argument('share')} must lie strictly between 0 and 1, got {self.share}."
            )
        facts, d = Perturbation.of(problem), problem.loss.dim
        if self.centre is not None and len(self.centre) != d:
            raise SpecError(
                f"{argument('centre')} has {len(self.centre)} numbers for {d} coefficients."
            )
        share = self.share or min(SHARES, key=self._prediction(facts, epsilon))
        lattice, length = problem.answers, problem.domain.region().length
        return PerturbedPlan(
            facts.problem,
            epsilon,
            self.name,
            share,
            share * epsilon / facts.sensitivity,
            facts.ridge(epsilon, share),
            self.centre or (Fraction(0),) * d,
            lattice if length is None else lattice.around(length),
        )

    def predicted_error(
        self, problem: Problem, epsilon: Fraction, share: Fraction | None = None
    ) -> float:
        """Return the predicted squared error of the gradient: noise plus the ridge's pull.

        For a share of epsilon, or for the one that a plan takes.

        The pull is gamma^2 ||theta - c||^2 at the loss's public guess of the size of theta, or at a
        quarter of it if a centre is given: who gives one expects to be near.
        """
        error = self._prediction(Perturbation.of(problem), epsilon)
        return error(share or self.share or min(SHARES, key=error))

    def _prediction(self, facts: Perturbation, epsilon: Fraction) -> Callable[[Fraction], float]:
        """Return the predicted error as a function of the share."""
        distance = float(facts.typical_size) / (4 if self.centre else 1)
        noise, curvature = facts.noise_error(epsilon), float(facts.curvature)
        each = float(epsilon / facts.rows)

        def error(share: Fraction) -> float:
            q = float(share)
            ridge_size = curvature / expm1(min((1 - q) * each, float(_MOST)))
            return noise / q**2 + (ridge_size * distance) ** 2

        return error


@dataclass(frozen=True, slots=True)
class Perturbation:
    """What objective perturbation needs to know of a problem, in the norm its noise is drawn from.

    ``sensitivity`` is the largest change of the gradient over Theta in the norm, for the whole
    unit; ``curvature`` is lambda, the largest eigenvalue of one record's Hessian.
    """

    problem: Problem
    sensitivity: Fraction
    curvature: Fraction
    typical_size: Fraction
    rows: int

    @classmethod
    def of(cls, problem: Problem) -> Perturbation:
        """Ask the parts, or refuse what cannot be perturbed."""
        loss, domain, unit = problem.loss, problem.domain, problem.unit
        curvature = loss.curvature() if isinstance(loss, SmoothLoss) else None
        if not isinstance(loss, SmoothLoss):
            raise IncompatibleParts(
                f"Objective perturbation is for linear models, not for {described(loss)}. Use KNG, "
                "or losses.Linear."
            )
        if curvature is None:
            raise IncompatibleParts(
                "Objective perturbation needs the true gradient of a loss with a bounded "
                f"curvature; that of {described(loss)} is rounded or jumps. Use KNG."
            )
        problem.refuse_norm(loss.dim)
        if domain.bounded and not isinstance(domain, BallDomain):
            raise IncompatibleParts(
                f"Objective perturbation minimises {described(loss)} over an L1Ball or over "
                f"everything (Whole), not over {described(domain)}. Use one of these, or KNG."
            )
        if domain.bounded and not domain.base.even:
            raise IncompatibleParts(
                f"Objective perturbation of {described(loss)} has no base measure, and "
                f"{described(domain)} has one. Use a uniform base, or KNG."
            )
        region = domain.region()
        body = loss.body(region)
        problem = problem.fitted(body)
        refused = noise_refusal(problem.norm, loss.dim)
        if refused is not None:
            raise IncompatibleParts(f"Objective perturbation of {described(loss)} {refused}")
        return cls(
            problem,
            unit.group(delta(problem.norm, body, unit)),
            curvature,
            loss.typical_size(region.length),
            unit.rows,
        )

    def ridge(self, epsilon: Fraction, share: Fraction) -> Fraction:
        """Return gamma >= lambda / (exp((1 - q) epsilon / k) - 1), rounded up.

        k records of one person change the Hessian k times.
        """
        rest = min((1 - share) * epsilon / self.rows, _MOST)
        # exp(x) - 1 >= x, so that the enclosure below stays above 0 at this many bits.
        bits = 64 + max(0, (rest.denominator // rest.numerator).bit_length())
        with precision(bits + 64):
            low, _ = floor_ceil(ball(rest).expm1(), bits)
        return rounded_up(self.curvature * 2**bits / low)

    def noise_error(self, epsilon: Fraction) -> float:
        """Return E ||u||_2^2 of the noise that epsilon pays for."""
        size = noise_size(self.problem.norm, self.problem.loss.dim)
        return size * float(self.sensitivity / epsilon) ** 2


def rounded_up(number: Fraction) -> Fraction:
    """Return a number of few bits that is not below this one, and above it by 2**-23 at most."""
    shift = _RIDGE_BITS - (number.numerator.bit_length() - number.denominator.bit_length())
    scaled = number * Fraction(2) ** shift
    return -(-scaled.numerator // scaled.denominator) / Fraction(2) ** shift
