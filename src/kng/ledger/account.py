"""What an account accepts: certified releases, up to its cap in one currency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction

from kng.core.errors import BudgetError, SpecError
from kng.core.naming import argument
from kng.core.privacy import PrivacyEvent
from kng.ledger.amounts import short, tell
from kng.ledger.conversion import Conversion, convert


class Currency(StrEnum):
    """What a cap limits: the sum of epsilons, or the sum of rhos (concentrated privacy)."""

    EPSILON = "epsilon"
    RHO = "rho"


@dataclass(frozen=True, slots=True)
class Share:
    """What one analyst may spend of an account, and has spent."""

    cap: Fraction
    spent: Fraction = Fraction(0)

    @property
    def remaining(self) -> Fraction:
        """What the analyst may still spend, if the account has it."""
        return self.cap - self.spent


@dataclass(frozen=True, slots=True)
class Account:
    """The budget of one dataset under one relation.

    ``neighbours`` and ``records_per_person`` are None until they are fixed, at the latest by the
    first charge. ``epsilon`` and ``rho`` are what all charges add up to in both currencies;
    epsilon is None where charges in rho were lost and booked by their sum.

    Privacy  Epsilons of adaptively chosen pure releases add up, and so do rhos of concentrated
             ones: a sum that stays below the cap is a valid filter (Rogers et al. 2016; Feldman
             and Zrnic 2021). They add up only under one relation, so others are converted.
    """

    name: str
    cap: Fraction
    spent: Fraction = Fraction(0)
    neighbours: str | None = None
    records_per_person: int | None = None
    currency: Currency = Currency.EPSILON
    epsilon: Fraction | None = Fraction(0)
    rho: Fraction = Fraction(0)
    closed: bool = False
    shares: Mapping[str, Share] = field(default_factory=dict)

    @property
    def remaining(self) -> Fraction:
        """What may still be charged."""
        return Fraction(0) if self.closed else self.cap - self.spent

    def counts(self, event: PrivacyEvent) -> Conversion:
        """Return how often an event counts here, or refuse it."""
        return convert(event, self.name, self.neighbours, self.records_per_person)

    def charged(self, event: PrivacyEvent, analyst: str | None = None) -> Account:
        """Return the account after an accepted event, or refuse it."""
        self._require_open()
        conversion = self.counts(event)
        steps = conversion.steps
        epsilon, rho = short(steps * event.epsilon), short(steps**2 * event.rho)
        amount = epsilon if self.currency is Currency.EPSILON else rho
        spent = short(self.spent + amount)
        if spent > self.cap:
            raise self._refusal(event, conversion, amount, f"account {self.name!r}", self)
        shares = self.shares
        if analyst is not None:
            share = self.share(analyst)
            after = short(share.spent + amount)
            if after > share.cap:
                whose = f"analyst {analyst!r} of account {self.name!r}"
                raise self._refusal(event, conversion, amount, whose, share)
            shares = {**shares, analyst: replace(share, spent=after)}
        return replace(
            self,
            spent=spent,
            neighbours=self.neighbours or event.neighbours,
            records_per_person=self.records_per_person or event.records_per_person,
            epsilon=None if self.epsilon is None else short(self.epsilon + epsilon),
            rho=short(self.rho + rho),
            shares=shares,
        )

    def share(self, analyst: str) -> Share:
        """Return what an analyst has, or say that there is none of this name."""
        if analyst not in self.shares:
            raise SpecError(
                f"Account {self.name!r} has no analyst {analyst!r} yet. Give a share of the budget "
                f"first, as in kng.Ledger(..., {argument('analyst', analyst)}, cap=0.5)."
            )
        return self.shares[analyst]

    def shared(self, analyst: str, cap: Fraction) -> Account:
        """Return the account with a share for one more analyst."""
        self._require_open()
        if analyst in self.shares:
            raise SpecError(f"Analyst {analyst!r} has a share of account {self.name!r} already.")
        if cap > self.cap:
            raise SpecError(
                f"{argument('cap')} of analyst {analyst!r} must be at most that of account "
                f"{self.name!r}, {tell(self.cap)}; got {tell(cap)}."
            )
        return replace(self, shares={**self.shares, analyst: Share(cap)})

    def lost(self, amount: Fraction) -> Account:
        """Return the account after charges that are lost, of which only the sum is known.

        Pure releases of epsilon together are epsilon**2 / 2 concentrated; concentrated ones of
        rho have no epsilon.
        """
        spent = short(self.spent + amount)
        if spent > self.cap:
            raise SpecError(
                f"{argument('spent')} must be at most what account {self.name!r} had left, "
                f"{tell(self.cap - self.spent)}; got {tell(amount)}."
            )
        if self.currency is Currency.RHO:
            unknown = None if amount else self.epsilon
            return replace(self, spent=spent, epsilon=unknown, rho=short(self.rho + amount))
        # A rho account alone can lose its epsilon.
        known = None if self.epsilon is None else short(self.epsilon + amount)
        return replace(self, spent=spent, epsilon=known, rho=short(self.rho + amount**2 / 2))

    def shut(self) -> Account:
        """Return the account after it is closed, for good."""
        self._require_open()
        return replace(self, closed=True)

    def _require_open(self) -> None:
        if self.closed:
            raise BudgetError(
                f"Account {self.name!r} is closed, so nothing more is charged to it.",
                requested=Fraction(0),
                remaining=Fraction(0),
            )

    def _refusal(
        self,
        event: PrivacyEvent,
        conversion: Conversion,
        amount: Fraction,
        whose: str,
        limit: Account | Share,
    ) -> BudgetError:
        counted = ""
        if conversion:
            counted = (
                f", which is epsilon {tell(event.epsilon)} counted {conversion.steps} times "
                f"({conversion.why})"
            )
        elif self.currency is Currency.RHO:
            counted = f" (epsilon {tell(event.epsilon)})"
        advice = "Ask for less; a cap never changes."
        if not limit.remaining:
            advice = "The budget of this dataset is spent; a cap never changes."
            if isinstance(limit, Share):
                advice = "This share of the budget is spent; a cap never changes."
        return BudgetError(
            f"This release asks for {self.currency.value} {tell(amount)}{counted}, but {whose} "
            f"has {tell(limit.remaining)} left of its cap of {tell(limit.cap)}. Nothing was "
            f"charged and no answer was drawn. {advice}",
            requested=amount,
            remaining=limit.remaining,
        )
