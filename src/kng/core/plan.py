"""What will be drawn, fixed before the charge. The only place where epsilon becomes a rate.

    DensityPlan   p(theta) proportional to exp( -(epsilon / 2) * score(theta) / Delta(theta) )
    NoisePlan     sum + u,  u with density proportional to exp( -epsilon * ||u||_K / Delta )

The 2 pays for the normaliser, which depends on the data. Additive noise has none, because its
normaliser is the same for every dataset; so a location family keeps the whole epsilon, at the
price of a privacy loss that ranges over 2 epsilon instead of epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, Protocol, Self

from kng.core.errors import IncompatibleParts
from kng.core.privacy import Assumption, Guarantee, PrivacyEvent, PrivacyUnit
from kng.core.problem import Problem
from kng.core.protocols import PlaneDomain, Point, Sensitivity, SteppedDomain, SteppedLoss
from kng.core.smoothing import EXTRA_RANGE, Smoothing


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a sampler promises for a plan, from public facts and before the charge."""

    sampler: str
    guarantee: Guarantee
    assumptions: tuple[Assumption, ...]
    smoothing: Smoothing | None = None


@dataclass(frozen=True, slots=True)
class DensityPlan:
    """Weigh every lattice point of a bounded domain by its score."""

    problem: Problem
    epsilon: Fraction
    mechanism: str
    score: Literal["gradient", "value"]
    sensitivity: Sensitivity
    certificate: Certificate | None = None
    # The bounded domain of the problem; a density plan exists only over one.
    domain: PlaneDomain = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.problem.domain, PlaneDomain):
            raise IncompatibleParts("A density plan needs a box of lattice points as its domain.")
        object.__setattr__(self, "domain", self.problem.domain)

    def certified(self, certificate: Certificate) -> Self:
        """Return the plan with a sampler's promise."""
        return replace(self, certificate=certificate)

    def after(self, drawn: Sequence[Point]) -> Self:
        """Return the plan once earlier stages of the same release are drawn."""
        if not isinstance(self.problem.loss, SteppedLoss):
            return self
        return replace(self, problem=replace(self.problem, loss=self.problem.loss.given(drawn)))

    def given(self, drawn: Sequence[Point]) -> Self:
        """Return the plan once earlier points of the same release are drawn."""
        # Boxes first: to ask a protocol takes as long as ten attempts of a draw.
        if not hasattr(self.domain, "given") or not isinstance(self.domain, SteppedDomain):
            return self
        domain = self.domain.given(drawn)
        return replace(self, problem=replace(self.problem, domain=domain))

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss: epsilon, and what smoothing adds."""
        return min(self.epsilon + EXTRA_RANGE, 2 * self.epsilon)

    @property
    def smoothing(self) -> Smoothing:
        """The sampler's public attempts and depth."""
        if self.certificate is None or self.certificate.smoothing is None:
            raise IncompatibleParts("This plan carries no sampler's certificate.")
        return self.certificate.smoothing

    @property
    def depth(self) -> int:
        """How far above the least exponent the sampler must look."""
        return self.smoothing.depth

    def exponent(self, theta: Point, score: Fraction) -> Fraction:
        """Return gamma(theta), so that the density is exp(-gamma)."""
        return self.epsilon * score / (2 * self.problem.unit.group(self.sensitivity.at(theta)))

    def score_at(self, theta: Point, exponent: Fraction) -> Fraction:
        """Return the raw score at theta that has this exponent; the inverse of `exponent`."""
        return exponent * 2 * self.problem.unit.group(self.sensitivity.at(theta)) / self.epsilon


@dataclass(frozen=True, slots=True)
class NoisePlan:
    """Add K-norm noise to a sum, then read the estimate off it."""

    problem: Problem
    epsilon: Fraction
    mechanism: str
    sensitivity: Fraction
    steps: tuple[Fraction, ...]
    certificate: Certificate | None = None

    def certified(self, certificate: Certificate) -> Self:
        """Return the plan with a sampler's promise."""
        return replace(self, certificate=certificate)

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss: both ends of [-epsilon, epsilon] are reached."""
        return 2 * self.epsilon

    @property
    def rate(self) -> Fraction:
        """Return c in exp(-c ||u||_K)."""
        return self.epsilon / self.problem.unit.group(self.sensitivity)


class Spending(Protocol):
    """What a plan says of its cost."""

    @property
    def epsilon(self) -> Fraction:
        """Privacy budget."""
        ...

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss."""
        ...

    @property
    def mechanism(self) -> str:
        """How theta is weighed."""
        ...


def event_of(plans: Sequence[Spending], unit: PrivacyUnit, guarantee: Guarantee) -> PrivacyEvent:
    """Return what several plans cost together: epsilons add, and so do the ranges."""
    return PrivacyEvent(
        epsilon=sum((plan.epsilon for plan in plans), Fraction(0)),
        width=sum((plan.width for plan in plans), Fraction(0)),
        mechanism=plans[-1].mechanism,
        neighbours=unit.neighbours.name,
        records_per_person=unit.records_per_person,
        guarantee=guarantee,
    )
