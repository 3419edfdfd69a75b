"""What a release would be, known before any record is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kng.core.certificate import Certificate
from kng.core.errors import SpecError
from kng.core.exact import exact
from kng.core.law import Law
from kng.core.parts import described
from kng.core.perturbed import PerturbedPlan
from kng.core.plan import DensityPlan, NoisePlan
from kng.core.privacy import Assumption, Guarantee
from kng.core.problem import Problem
from kng.core.regions import Region, Theta


@dataclass(frozen=True, slots=True, repr=False)
class Planned:
    """A plan made from public facts alone.

    Attributes
    ----------
    predicted_error : float, tuple of float, or None
        K-norm noise: the standard deviation of the mean, for each column, before it is moved into
        the bounds; None where the number of records is not stated. Objective perturbation: the
        squared error of the gradient that shares of epsilon are chosen by. None for densities,
        whose error depends on the records.
    """

    _plan: DensityPlan | NoisePlan | PerturbedPlan
    _factor: Fraction
    predicted_error: Any

    def __repr__(self) -> str:
        law = self.law
        delta = "depends on theta" if law.delta is None else f"{float(Fraction(law.delta)):.4g}"
        return (
            f"Planned({law.mechanism} of {law.loss}, norm {law.norm}, domain {law.domain}: epsilon "
            f"{self.epsilon:g}, Delta {delta}, {self.guarantee.value} by {self.sampler})"
        )

    @property
    def epsilon(self) -> float:
        """What a release would cost."""
        return float(self._plan.epsilon)

    @property
    def problem(self) -> Problem:
        """The parts and the public facts that it was made from."""
        return self._plan.problem

    @property
    def law(self) -> Law:
        """How theta is weighed, in public numbers."""
        return self._plan.law

    @property
    def guarantee(self) -> Guarantee:
        """How far the epsilon is carried into the program, with random bits that nobody knows."""
        return self._certificate.guarantee

    @property
    def sampler(self) -> str:
        """How theta is drawn."""
        return self._certificate.sampler.name

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What a release takes for granted."""
        return self._certificate.assumptions

    def sensitivity(self, theta: Sequence[Any] | Any = None) -> float:
        """Return Delta at theta: the most that one record, or one person's, can do, in the norm.

        Parameters
        ----------
        theta : sequence of numbers, or a number
            A point of the domain, in the domain's units. Not needed where Delta is the same
            everywhere.

        Returns
        -------
        float
            In the units of the law. For the exponential mechanism that of the loss itself.
        """
        return float(self.exact_sensitivity(theta))

    def exact_sensitivity(self, theta: Sequence[Any] | Any = None) -> Fraction:
        """Return Delta at theta as a fraction."""
        plan, unit = self._plan, self._plan.problem.unit
        known = None if theta is None else self._inside(theta)
        if isinstance(plan, NoisePlan):
            return unit.group(plan.sensitivity)
        if isinstance(plan, PerturbedPlan):
            return plan.share * plan.epsilon / plan.rate
        if plan.steady is not None:
            return unit.group(plan.steady)
        if known is None:
            raise SpecError(
                f"The sensitivity of {described(plan.problem.loss)} depends on theta; give one."
            )
        return unit.group(plan.delta.over(Region.at(known)))

    def _inside(self, theta: Any) -> Theta:
        """Return theta in the loss's units, if the domain holds it."""
        several = hasattr(theta, "__len__") and not isinstance(theta, str)
        numbers = [exact(v, "theta") for v in (theta if several else [theta])]
        known = tuple(self._factor * v for v in numbers)
        domain = self._plan.problem.domain
        if len(known) != domain.dim or not domain.contains(known):
            raise SpecError(
                f"theta must be a point of the domain, with {domain.dim} "
                f"coordinate{'s'[: domain.dim > 1]} in its units; got {theta}."
            )
        return known

    @property
    def _certificate(self) -> Certificate:
        found = self._plan.certificate
        assert found is not None  # a plan is certified before it is shown
        return found
