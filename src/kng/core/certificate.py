"""What is promised for a draw before the charge, and how promises add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from kng.core.parts import Sampler, Standing, standing_of
from kng.core.privacy import Assumption, Guarantee, PrivacyEvent, PrivacyUnit, rho_of
from kng.core.smoothing import Smoothing


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a sampler promises for a plan, from public facts; it is the one that will draw."""

    sampler: Sampler[Any, Any]
    guarantee: Guarantee
    assumptions: tuple[Assumption, ...]
    smoothing: Smoothing | None = None

    def with_parts(self, standing: Standing) -> Certificate:
        """Return the promise for parts of this standing, drawn by this sampler.

        What nobody but the caller answers for is at best ``ideal``, and the receipt says so.
        """
        if standing is standing_of(self.sampler) is Standing.PROVED:
            return self
        guarantee = weakest([self.guarantee, Guarantee.IDEAL])
        return replace(
            self, guarantee=guarantee, assumptions=(*self.assumptions, Assumption.CALLERS_PARTS)
        )


def weakest(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Return the weakest of several promises."""
    return max(guarantees, key=list(Guarantee).index)


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
    """Return what several plans cost together: epsilons add, ranges add, and so do their rhos."""
    return PrivacyEvent(
        epsilon=sum((plan.epsilon for plan in plans), Fraction(0)),
        width=sum((plan.width for plan in plans), Fraction(0)),
        mechanism=plans[-1].mechanism,
        neighbours=unit.neighbours.name,
        records_per_person=unit.records_per_person,
        guarantee=guarantee,
        rho=sum((rho_of(plan.width) for plan in plans), Fraction(0)),
    )


def parallel(events: Sequence[PrivacyEvent], unit: PrivacyUnit) -> PrivacyEvent:
    """Return what releases of disjoint groups cost together: the largest epsilon.

    A unit changes so many rows, each in one group, and each row costs its share of that group's
    epsilon. Smoothing widens the range of the loss once for each group that changes.
    docs/proofs/lemmas/groups.md.
    """
    epsilon = max(event.epsilon for event in events)
    further = max(event.width - event.epsilon for event in events)
    touched = min(unit.rows, len(events))
    width = min(epsilon + touched * further, 2 * epsilon)
    # Where rows lie in several groups, all draws together have this range, and 0 stands for it.
    rho = max(event.rho for event in events) if touched == 1 else Fraction(0)
    return replace(events[0], epsilon=epsilon, width=width, rho=rho)
