"""Quantile planes by objective perturbation: a wide bandwidth first, then narrower ones around it.

    wide      smoothed check loss at a wide bandwidth, the ridge around the centre of y
    narrow    at a narrow bandwidth, the ridge around a plane that was drawn before

A narrow bandwidth has little bias and little curvature, so the ridge that privacy asks for would
pull far. Around a plane that is near already it has little to pull. The bandwidth is a multiple of
a private scale of the residuals of that plane, or of y where records are few.
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
from kng.core.naming import argument
from kng.core.parts import Point
from kng.core.perturbed import AdaptivePlan, PerturbedPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.scale import ResidualScale, Scale
from kng.mechanisms.objective import SHARES, Perturbation, rounded_up
from kng.mechanisms.scaled import designed, fine_lattice

# Bandwidths are multiples of a scale with few bits; these are compared.
_PARTS = 64
NARROW = [Fraction(k, _PARTS) for k in (*range(2, 16), *range(16, 49, 4))]
# The wide bandwidth, and the narrow one where the number of records is private.
WIDE, _USUAL = Fraction(3, 4), Fraction(1, 4)
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
    """Bandwidth in scales, share of the noise, and the predicted error in scales.

    ``slopes`` is the error without the kernel's bias, which a shift of the plane takes away.
    """

    bandwidth: Fraction
    share: Fraction
    error: float
    slopes: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """The squared error of a smoothed fit, predicted from public facts, in units of a scale.

        ( b^2 |z| / (6 s) )^2  +  b^2 (a + (gamma t / b)^2) / (h + gamma)^2

    the bias of a uniform kernel for normal residuals of standard deviation s, z their quantile, but
    1/2 at least; and noise and the ridge's pull over the curvature. b is the bandwidth,
    a = E ||u||_2^2, t the distance of theta from the ridge's centre, h = n b f / 3 with f the
    density of residuals at z. ``residual`` is s: 1 if the scale is that of the residuals.
    """

    facts: Perturbation
    unit: PrivacyUnit
    epsilon: Fraction
    tau: Fraction
    residual: float = _RESIDUAL

    def best(self, distance: float, bandwidths: Sequence[Fraction]) -> Tuning:
        """Return the choice with the least predicted error."""
        if not isinstance(self.unit.neighbours, ReplaceOne):
            width = bandwidths[0] if len(bandwidths) == 1 else _USUAL
            return Tuning(width, _USUAL_SHARE, distance / 4, distance / 4)
        found = [self._at(b, distance, self.unit.neighbours.n) for b in bandwidths]
        return min(found, key=lambda each: each.error)

    def _at(self, bandwidth: Fraction, distance: float, n: int) -> Tuning:
        """Return the best share at a bandwidth."""
        b, z = float(bandwidth), _NORMAL.inv_cdf(min(max(float(self.tau), _TAIL), 1 - _TAIL))
        away = abs(z)
        bias = b * b * max(away, _SKEWED) / (6 * self.residual)
        curved = n * min(b * _NORMAL.pdf(z) / self.residual, 0.5) / _SPREAD
        noise, most = self.facts.noise_error(self.epsilon), float(self.facts.curvature)
        each = float(self.epsilon / self.unit.rows)

        def error(share: Fraction) -> float:
            gamma = most / expm1(min((1 - float(share)) * each, 10.0))
            pull = gamma * distance / b
            return (noise / float(share) ** 2 + pull * pull) / (curved + gamma) ** 2

        share = min(SHARES, key=error)
        slopes = b * sqrt(error(share))
        return Tuning(bandwidth, share, sqrt(bias * bias + slopes * slopes), slopes)


@dataclass(frozen=True, slots=True)
class SmoothedPerturbation:
    """Objective perturbation of the smoothed check loss, in steps that share epsilon.

        minimise  sum of smoothed losses of  z'theta - (y - middle) / b
                  + (gamma / 2) ||theta - c||^2 + u'theta

    ``scale`` reads the scale of y off what was drawn, ``bandwidth`` is b, if the caller states it,
    in units of y. ``problem`` is in half ranges of y.

    Paper    beyond it; section 4.3 with the loss of section 4.5, smoothed.
    Privacy  For every bandwidth and centre each step is ObjectivePerturbation with a sufficient
             ridge; what was drawn before is released, so epsilons add.
             docs/proofs/mechanisms/smoothed.md.
    Cost     Arithmetic on public numbers.
    """

    problem: Problem
    tau: Fraction
    scale: Callable[[Sequence[Point]], Scale]
    bandwidth: Fraction | None = None
    share: Fraction | None = None
    name: ClassVar[str] = "objective"

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < self.share < 1:
            raise SpecError(
                f"{argument('share')} must lie strictly between 0 and 1, got {self.share}."
            )

    @property
    def lattice(self) -> Lattice:
        """Where planes live, in half ranges of y."""
        return fine_lattice(self.problem)

    def wide(self, epsilon: Fraction) -> tuple[AdaptivePlan, Tuning]:
        """Plan the first step, before the charge."""
        facts, design = Perturbation.of(self.problem), designed(self.problem).design
        tuning = self._predicted(facts, epsilon).best(_EFFECTS, self._widths([WIDE]))

        def then(drawn: Sequence[Point]) -> PerturbedPlan:
            scale = self.scale(drawn)
            centre = [Fraction(0)] * design.dim
            if design.intercept:
                centre[0] = (scale.centre - design.middles[-1]) / design.half_y
            return self._at(tuning.bandwidth * scale.size, tuning.share, epsilon, centre)

        return self._plan(epsilon, then), tuning

    def narrow(
        self, epsilon: Fraction, distance: float, position: int
    ) -> tuple[AdaptivePlan, Tuning]:
        """Plan a step around a plane, at a multiple of the scale of y.

        ``position`` is where the plane is drawn, ``distance`` how far off it is thought to be.
        """
        facts, lattice = Perturbation.of(self.problem), self.lattice
        tuning = self._predicted(facts, epsilon).best(distance, self._widths(NARROW))

        def then(drawn: Sequence[Point]) -> PerturbedPlan:
            width = tuning.bandwidth * self.scale(drawn).size
            return self._at(width, tuning.share, epsilon, lattice.units(drawn[position]))

        return self._plan(epsilon, then), tuning

    def refined(self, refinement: Refinement) -> AdaptivePlan:
        """Plan a step around a plane, at a multiple of the scale of its residuals."""
        design, lattice = designed(self.problem).design, self.lattice

        def then(drawn: Sequence[Point]) -> PerturbedPlan:
            found, tuning = refinement.spread(drawn), refinement.tuning(drawn)
            centre = list(lattice.units(found.plane))
            if design.intercept:
                centre[0] += found.shift / design.half_y
            return self._at(tuning.bandwidth * found.size, tuning.share, refinement.epsilon, centre)

        return self._plan(refinement.epsilon, then)

    def _widths(self, usual: Sequence[Fraction]) -> Sequence[Fraction]:
        """Return the multiples that are compared; one if the caller states it."""
        if self.bandwidth is None:
            return usual
        return [self.bandwidth / self.scale(()).size]  # then the scale is that of the bounds

    def _predicted(self, facts: Perturbation, epsilon: Fraction) -> Prediction:
        return Prediction(facts, self.problem.unit, epsilon, self.tau)

    def _plan(
        self, epsilon: Fraction, then: Callable[[Sequence[Point]], PerturbedPlan]
    ) -> AdaptivePlan:
        return AdaptivePlan(self.problem, epsilon, self.name, self.lattice, then)

    def _at(
        self, width: Fraction, share: Fraction, epsilon: Fraction, centre: Sequence[Fraction]
    ) -> PerturbedPlan:
        """Return the plan of a step at a bandwidth, around a centre in half ranges of y."""
        loss, q = designed(self.problem), self.share or share
        factor = loss.design.half_y / width
        inner = replace(
            self.problem, loss=loss.rescaled(width), domain=self.problem.domain.scaled(factor)
        )
        facts = Perturbation.of(inner)
        return PerturbedPlan(
            facts.problem,
            epsilon,
            self.name,
            q,
            q * epsilon / facts.sensitivity,
            rounded_up(facts.ridge(epsilon, q)),
            tuple(factor * c for c in centre),
            self.lattice.scaled(factor),
        )


@dataclass(frozen=True, slots=True)
class Refinement:
    """A step whose bandwidth and centre follow from residuals that were drawn before.

    ``off`` is how far off the plane is thought to be in its slopes, in units of y.
    """

    prediction: Prediction
    spread: Callable[[Sequence[Point]], ResidualScale]
    off: Callable[[Sequence[Point]], Fraction]
    bandwidths: Sequence[Fraction]

    @property
    def epsilon(self) -> Fraction:
        """What the step may spend."""
        return self.prediction.epsilon

    def tuning(self, drawn: Sequence[Point]) -> Tuning:
        """Return the best choice, in units of the residuals' scale.

        A plane is no farther off than its residuals spread.
        """
        distance = min(self.off(drawn) / self.spread(drawn).size, Fraction(1))
        return self.prediction.best(float(distance), self.bandwidths)

    def bandwidth(self, drawn: Sequence[Point]) -> Fraction:
        """Return the bandwidth in units of y."""
        return self.tuning(drawn).bandwidth * self.spread(drawn).size

    def slopes(self, drawn: Sequence[Point]) -> Fraction:
        """Return how far off its own plane may be in its slopes, in units of y."""
        return Fraction(self.tuning(drawn).slopes) * self.spread(drawn).size
