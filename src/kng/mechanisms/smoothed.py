"""Quantile planes by objective perturbation: a wide bandwidth first, then a narrow one around it.

    wide     smoothed check loss at a wide bandwidth, the ridge around the centre of y
    narrow   at a narrow bandwidth, the ridge around the plane that was drawn first

A narrow bandwidth has little bias and little curvature, so the ridge that privacy asks for would
pull far. Around a plane that is near already it has little to pull.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import expm1, sqrt
from statistics import NormalDist
from typing import ClassVar

from kng.core.errors import SpecError
from kng.core.lattice import Lattice
from kng.core.parts import Point
from kng.core.perturbed import AdaptivePlan, PerturbedPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.scale import Scale
from kng.mechanisms.objective import SHARES, Perturbation, rounded_up
from kng.mechanisms.scaled import designed, fine_lattice

# Bandwidths are multiples of the scale of y with few bits; these are compared.
_PARTS = 64
_NARROW = [Fraction(k, _PARTS) for k in (*range(2, 16), *range(16, 49, 4))]
# The wide bandwidth, and the narrow one where the number of records is private.
_WIDE, _USUAL = Fraction(3, 4), Fraction(1, 4)
# What is expected: residuals of this part of the scale of y, coefficients of this many scales, and
# covariates that are uniform between their bounds, whose mean square is a third.
_RESIDUAL, _EFFECTS, _SPREAD = 0.7, 1.5, 3
# Residuals need not be symmetric: at the median their density may rise as it does so far away.
_SKEWED = 0.5
# The normal distribution is looked at no farther out than at this quantile.
_TAIL = 1e-6
# The share of the noise where the number of records is private.
_USUAL_SHARE = Fraction(7, 10)
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Tuning:
    """Bandwidth in scales of y, share of the noise, ridge, and the predicted error in scales."""

    bandwidth: Fraction
    share: Fraction
    ridge: Fraction
    error: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """The squared error of a smoothed fit, predicted from public facts, in scales of y.

        ( b^2 |z| / (6 s) )^2  +  b^2 (a + (gamma t / b)^2) / (h + gamma)^2

    the bias of a uniform kernel for normal residuals of standard deviation s, z their quantile, but
    1/2 at least; and noise and the ridge's pull over the curvature. b is the bandwidth,
    a = E ||u||_2^2, t the distance of theta from the ridge's centre, h = n b f / 3 with f the
    density of residuals at z.
    """

    facts: Perturbation
    unit: PrivacyUnit
    epsilon: Fraction
    tau: Fraction

    def best(self, distance: float, bandwidths: Sequence[Fraction]) -> Tuning:
        """Return the choice with the least predicted error."""
        if not isinstance(self.unit.neighbours, ReplaceOne):
            width = bandwidths[0] if len(bandwidths) == 1 else _USUAL
            ridge = self.facts.ridge(self.epsilon, _USUAL_SHARE)
            return Tuning(width, _USUAL_SHARE, ridge, distance / 4)
        found = [self._at(b, distance, self.unit.neighbours.n) for b in bandwidths]
        return min(found, key=lambda each: each.error)

    def _at(self, bandwidth: Fraction, distance: float, n: int) -> Tuning:
        """Return the best share at a bandwidth."""
        b, z = float(bandwidth), _NORMAL.inv_cdf(min(max(float(self.tau), _TAIL), 1 - _TAIL))
        away = abs(z)
        bias = b * b * max(away, _SKEWED) / (6 * _RESIDUAL)
        curved = n * min(b * _NORMAL.pdf(z) / _RESIDUAL, 0.5) / _SPREAD
        noise, most = self.facts.noise_error(self.epsilon), float(self.facts.curvature)
        each = float(self.epsilon / self.unit.records_per_person)

        def error(share: Fraction) -> float:
            gamma = most / expm1(min((1 - float(share)) * each, 10.0))
            pull = gamma * distance / b
            return (noise / float(share) ** 2 + pull * pull) / (curved + gamma) ** 2

        share = min(SHARES, key=error)
        total = sqrt(bias * bias + b * b * error(share))
        return Tuning(bandwidth, share, self.facts.ridge(self.epsilon, share), total)


@dataclass(frozen=True, slots=True)
class SmoothedPerturbation:
    """Objective perturbation of the smoothed check loss, in two steps that share epsilon.

        minimise  sum of smoothed losses of  z'theta - (y - middle) / b
                  + (gamma / 2) ||theta - c||^2 + u'theta

    ``scale`` reads the scale of y off what was drawn, ``bandwidth`` is b, if the caller states it,
    in units of y.

    Paper    beyond it; section 4.3 with the loss of section 4.5, smoothed.
    Privacy  For every bandwidth and centre each step is ObjectivePerturbation with a sufficient
             ridge; what was drawn before is released, so epsilons add.
             docs/proofs/mechanisms/smoothed.md.
    Cost     Arithmetic on public numbers.
    """

    tau: Fraction
    scale: Callable[[Sequence[Point]], Scale]
    bandwidth: Fraction | None = None
    share: Fraction | None = None
    name: ClassVar[str] = "objective"
    wide: ClassVar[Fraction] = Fraction(1, 4)

    def plans(
        self, problem: Problem, epsilon: Fraction, position: int
    ) -> tuple[AdaptivePlan, AdaptivePlan, Tuning]:
        """Fix both steps before the charge; ``position`` is where the first plane is drawn.

        ``problem`` is in half ranges of y.
        """
        if self.share is not None and not 0 < self.share < 1:
            raise SpecError(f"share must lie strictly between 0 and 1, got {self.share}.")
        facts, lattice = Perturbation.of(problem), fine_lattice(problem)
        shares = self.wide * epsilon, (1 - self.wide) * epsilon
        predictions = [Prediction(facts, problem.unit, each, self.tau) for each in shares]
        widths = [_WIDE], _NARROW
        if self.bandwidth is not None:  # then the scale is that of the bounds
            widths = ([self.bandwidth / self.scale(()).size],) * 2
        first = predictions[0].best(_EFFECTS, widths[0])
        second = predictions[1].best(first.error, widths[1])

        def wide(drawn: Sequence[Point]) -> PerturbedPlan:
            return self._at(drawn, problem, shares[0], lattice, first, None)

        def narrow(drawn: Sequence[Point]) -> PerturbedPlan:
            return self._at(drawn, problem, shares[1], lattice, second, drawn[position])

        made = zip(shares, (wide, narrow), strict=True)
        one, other = (AdaptivePlan(problem, each, self.name, lattice, then) for each, then in made)
        return one, other, second

    def _at(  # noqa: PLR0917
        self,
        drawn: Sequence[Point],
        problem: Problem,
        epsilon: Fraction,
        lattice: Lattice,
        tuning: Tuning,
        around: Point | None,
    ) -> PerturbedPlan:
        """Return the plan of a step once the stages before it are drawn."""
        scale, loss = self.scale(drawn), designed(problem)
        width = self.bandwidth or tuning.bandwidth * scale.size
        design = loss.design
        factor = design.half_y / width
        inner = replace(problem, loss=loss.rescaled(width), domain=problem.domain.scaled(factor))
        centre = (Fraction(0),) * design.dim
        if around is not None:
            centre = lattice.scaled(factor).units(around)
        elif design.intercept:
            centre = ((scale.centre - design.middles[-1]) / width, *centre[1:])
        facts = Perturbation.of(inner)
        share = self.share or tuning.share
        return PerturbedPlan(
            facts.problem,
            epsilon,
            self.name,
            share,
            share * epsilon / facts.sensitivity,
            rounded_up(facts.ridge(epsilon, share)),
            centre,
            lattice.scaled(factor),
        )
