"""Objective perturbation at a threshold that a private scale of the response decides.

    threshold T   from the scale, which is drawn first and released
    fit           Huber's loss in units of T, for  y - centre,  with the epsilon that is left

Residuals beyond T are clipped. With T at some standard deviations that is least squares for all but
outliers, and one record can still move the gradient by 2 T at most, whatever bounds were stated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import ClassVar, Protocol

from kng.core.capabilities import DesignedLoss
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.lattice import Lattice
from kng.core.naming import argument
from kng.core.parts import Point, described
from kng.core.perturbed import AdaptivePlan, PerturbedPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.regions import Theta
from kng.core.scale import Scale
from kng.mechanisms.objective import SHARES, Perturbation, rounded_up

# Coefficients live in steps of 2**-40 half ranges of y: fine enough for the least scale there is.
_STEP = Fraction(1, 2**40)
# Multiples of a scale are public and have few bits.
_PARTS = 64
# A covariate that is uniform between its bounds has a third of the largest curvature.
_SPREAD = Fraction(1, 3)
# Effects that a ridge should do no harm to below, in standard deviations of y.
_SMALL_EFFECT = Fraction(3, 4)
# How much nearer than 0 a centre that the caller gives is thought to be.
_NEARER = Fraction(1, 4)


class Threshold(Protocol):
    """A public rule for where residuals are clipped."""

    @property
    def effects(self) -> Fraction:
        """Size of the coefficients that are expected, in standard deviations of y."""
        ...

    def __call__(self, scale: Scale) -> tuple[Fraction, Fraction]:
        """Return the threshold and the standard deviation of y, in the units of y."""
        ...


@dataclass(frozen=True, slots=True)
class Clipped:
    """For least squares: so far out that clipping fades as records become many.

        T = multiple * s,  at most the distance of the farthest response from the centre

    Where the scale is that of a heap of equal responses it says nothing about the others, and
    nothing is clipped.
    """

    multiple: Fraction
    effects: ClassVar[Fraction] = Fraction(3)

    @classmethod
    def of(cls, epsilon: Fraction, dim: int, unit: PrivacyUnit) -> Clipped:
        """Choose the multiple from public facts.

            max( 3/4,  (1/3) epsilon sqrt(n) / (d + 3/2) )

        puts the noise of a coefficient at about its sampling error. Where n is private it is 2.
        """
        if not isinstance(unit.neighbours, ReplaceOne):
            return cls(Fraction(2))
        each = float(epsilon / unit.rows)
        wanted = each * sqrt(unit.neighbours.n) / (3 * (dim + 1.5))
        return cls(Fraction(max(48, round(min(wanted, 2.0**20) * _PARTS)), _PARTS))

    def __call__(self, scale: Scale) -> tuple[Fraction, Fraction]:
        """Return the threshold and the standard deviation."""
        if scale.heaped:
            return scale.farthest, scale.farthest / 3
        return min(self.multiple * scale.size, scale.farthest), scale.size


@dataclass(frozen=True, slots=True)
class Bent:
    """For Huber's own estimator: T = 3/4 s, where residuals begin to count linearly."""

    multiple: ClassVar[Fraction] = Fraction(3, 4)
    effects: ClassVar[Fraction] = Fraction(3, 2)

    def __call__(self, scale: Scale) -> tuple[Fraction, Fraction]:
        """Return the threshold and the standard deviation."""
        return min(self.multiple * scale.size, scale.farthest), scale.size


@dataclass(frozen=True, slots=True)
class Unclipped:
    """Where records are too few to pay for a scale: T is the farthest response there can be."""

    effects: ClassVar[Fraction] = Fraction(3)

    def __call__(self, scale: Scale) -> tuple[Fraction, Fraction]:
        """Return the threshold and a third of it."""
        return scale.farthest, scale.farthest / 3


@dataclass(frozen=True, slots=True)
class ScaledPerturbation:
    """Objective perturbation in units of a threshold that is decided by what was drawn before.

        minimise  sum of Huber's losses of  z'theta - (y - middle) / T
                  + (gamma / 2) ||theta - c||^2 + u'theta

    The ridge draws towards a prediction of the drawn centre of y and coefficients of 0, unless the
    caller has a centre. With s / T from the rule, h = n / 3, t and t_1 the expected effects and a
    quarter of them (large and small ones, in thresholds), share q and ridge minimise

        (a + gamma^2 t^2) / (h + gamma)^2,    a = E ||u||_2^2,
        gamma = max( lambda / (exp((1 - q) epsilon) - 1),  a / (t_1^2 h) )

    the predicted squared error of theta. A larger ridge than privacy asks for keeps estimates from
    few records near the centre. Where n is private, a + gamma^2 t^2 is minimised. ``share`` is q,
    if the caller states it.

    Paper    beyond it; section 4.3 with a better loss.
    Privacy  For every threshold and centre this is ObjectivePerturbation of Huber's loss with a
             sufficient ridge; what was drawn before is released, so epsilons add.
             docs/proofs/mechanisms/scaled.md.
    Cost     Arithmetic on public numbers.
    """

    threshold: Threshold
    scale: Callable[[Sequence[Point]], Scale]
    centre: Theta | None = None
    share: Fraction | None = None
    name: ClassVar[str] = "objective"

    def plan(self, problem: Problem, epsilon: Fraction) -> AdaptivePlan:
        """Fix everything but the scale before the charge; ``problem`` is in half ranges of y."""
        d = problem.loss.dim
        if self.share is not None and not 0 < self.share < 1:
            raise SpecError(
                f"{argument('share')} must lie strictly between 0 and 1, got {self.share}."
            )
        if self.centre is not None and len(self.centre) != d:
            raise SpecError(
                f"{argument('centre')} has {len(self.centre)} numbers for {d} coefficients."
            )
        Perturbation.of(problem)  # refuses what cannot be perturbed
        lattice = fine_lattice(problem)

        made: dict[Scale, PerturbedPlan] = {}  # the last one: it is asked for again at once

        def then(drawn: Sequence[Point]) -> PerturbedPlan:
            scale = self.scale(drawn)
            if scale not in made:
                plan = self._at(scale, problem, epsilon, lattice)
                made.clear()
                made[scale] = plan
                return plan
            return made[scale]

        return AdaptivePlan(problem, epsilon, self.name, lattice, then)

    def _at(
        self, scale: Scale, problem: Problem, epsilon: Fraction, lattice: Lattice
    ) -> PerturbedPlan:
        """Return the plan for one scale."""
        threshold, size = self.threshold(scale)
        loss = designed(problem)
        design = loss.design
        factor = design.half_y / threshold
        inner = replace(
            problem,
            loss=loss.rescaled(threshold),
            domain=problem.domain.scaled(factor),
        )
        centre = (Fraction(0),) * design.dim
        if self.centre is not None:
            centre = tuple(factor * c for c in self.centre)
        elif design.intercept:
            centre = ((scale.centre - design.middles[-1]) / threshold, *centre[1:])
        facts = Perturbation.of(inner)
        share, gamma = self._tuned(facts, problem.unit, epsilon, size / threshold)
        return PerturbedPlan(
            facts.problem,
            epsilon,
            self.name,
            share,
            share * epsilon / facts.sensitivity,
            max(gamma, facts.ridge(epsilon, share)),
            centre,
            lattice.scaled(factor),
            size / threshold,
        )

    def _tuned(
        self, facts: Perturbation, unit: PrivacyUnit, epsilon: Fraction, size: Fraction
    ) -> tuple[Fraction, Fraction]:
        """Return the share and the ridge with the smallest predicted error."""
        near = _NEARER if self.centre is not None else Fraction(1)
        large = float(near * self.threshold.effects * size)
        small = float(near * _SMALL_EFFECT * size)
        neighbours, noise = unit.neighbours, facts.noise_error(epsilon)
        h = float(neighbours.n * _SPREAD) if isinstance(neighbours, ReplaceOne) else 0.0

        def choice(share: Fraction) -> tuple[float, Fraction, float]:
            a = noise / float(share) ** 2
            least = float(facts.ridge(epsilon, share))
            if not h:
                return a + (least * large) ** 2, share, least
            gamma = max(least, a / (small**2 * h))
            return (a + (gamma * large) ** 2) / (h + gamma) ** 2, share, gamma

        shares = SHARES if self.share is None else [self.share]
        _, share, gamma = min(map(choice, shares))
        return share, rounded_up(Fraction(gamma))


def designed(problem: Problem) -> DesignedLoss:
    """Return the loss, if it is one of a linear model."""
    if not isinstance(problem.loss, DesignedLoss):
        raise IncompatibleParts(
            f"A threshold can be drawn for linear models, not for {described(problem.loss)}. Use "
            "losses.Linear, or state the threshold."
        )
    return problem.loss


def fine_lattice(problem: Problem) -> Lattice:
    """Return where coefficients live, in half ranges of y."""
    plain = designed(problem).design.lattice
    ratio = int(plain.step[0] / _STEP)
    fine = Lattice(
        plain.origin, tuple(h / ratio for h in plain.step), tuple(ratio * k for k in plain.last)
    )
    length = problem.domain.region().length
    return fine if length is None else fine.around(length)
