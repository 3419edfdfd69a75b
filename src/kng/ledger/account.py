"""What an account accepts: certified epsilons of one relation, up to its cap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from kng.core.errors import BudgetError, SpecError, SpecTypeError
from kng.core.exact import exact, positive
from kng.core.privacy import AddRemove, Guarantee, PrivacyEvent, ReplaceOne, read_records
from kng.ledger.amounts import short, tell

RELATIONS = (ReplaceOne.name, AddRemove.name)

_REFUSED = {
    Guarantee.SIMULATION: (
        "A ledger books no seeded release: anyone who knows the seed can repeat it and learn the "
        "records. Leave random_state=None, or run the simulation without a ledger."
    ),
    Guarantee.APPROXIMATE: (
        "A ledger books no approximate release: a Markov chain has no certificate, so its epsilon "
        "is not known to hold. Use sampler='auto', or run without a ledger."
    ),
}


@dataclass(frozen=True, slots=True)
class Account:
    """The budget of one dataset under one relation.

    ``neighbours`` and ``records_per_person`` are None until they are fixed, at the latest by the
    first charge.

    Privacy  Epsilons of adaptively chosen pure releases add up, so a sum that stays below the cap
             is a valid filter (Rogers et al. 2016). They add up only under one relation.
    """

    name: str
    cap: Fraction
    spent: Fraction
    neighbours: str | None
    records_per_person: int | None

    @property
    def remaining(self) -> Fraction:
        """What may still be charged."""
        return self.cap - self.spent

    def charged(self, event: PrivacyEvent) -> Account:
        """Return the account after an accepted event, or refuse it."""
        self._check_relation(event)
        spent = short(self.spent + event.epsilon)
        if spent > self.cap:
            raise BudgetError(
                f"This release asks for epsilon {tell(event.epsilon)}, but account {self.name!r} "
                f"has {tell(self.remaining)} left of its cap of {tell(self.cap)}. Nothing was "
                "charged and no answer was drawn. "
                + (
                    "Ask for less; a cap never changes."
                    if self.remaining
                    else "The budget of this dataset is spent; a cap never changes."
                ),
                requested=event.epsilon,
                remaining=self.remaining,
            )
        return replace(
            self,
            spent=spent,
            neighbours=event.neighbours,
            records_per_person=event.records_per_person,
        )

    def _check_relation(self, event: PrivacyEvent) -> None:
        for name, kept, asked in (
            ("neighbours", self.neighbours, event.neighbours),
            ("records_per_person", self.records_per_person, event.records_per_person),
        ):
            if kept is not None and kept != asked:
                raise SpecError(
                    f"Account {self.name!r} is kept for {name}={kept!r}, but this release has "
                    f"{name}={asked!r}. Epsilons of different promises do not add up: release "
                    f"with {name}={kept!r}. Nothing was charged."
                )


def accept(event: PrivacyEvent) -> PrivacyEvent:
    """Return an event in the form that is booked, or say why it cannot be."""
    if not isinstance(event, PrivacyEvent):
        raise SpecTypeError(f"event must be a PrivacyEvent, got {type(event).__name__}.")
    try:
        guarantee = Guarantee(event.guarantee)
    except ValueError:
        raise SpecError(
            f"guarantee must be one of {', '.join(Guarantee)}, got {event.guarantee!r}."
        ) from None
    if guarantee in _REFUSED:
        raise SpecError(_REFUSED[guarantee])
    epsilon, width = positive(event.epsilon, "epsilon"), exact(event.width, "width")
    if not epsilon <= width <= 2 * epsilon:
        raise SpecError(
            "width must lie between epsilon and 2 epsilon: the privacy loss of a pure release "
            f"stays within -epsilon and epsilon. Got width {tell(width)}, epsilon {tell(epsilon)}."
        )
    epsilon = short(epsilon)
    return PrivacyEvent(
        epsilon=epsilon,
        width=max(epsilon, short(width)),
        mechanism=read_text(event.mechanism, "mechanism"),
        neighbours=read_relation(event.neighbours),
        records_per_person=read_records(event.records_per_person),
        guarantee=guarantee,
    )


def read_relation(value: Any) -> str:
    """Read the name of a neighbouring relation."""
    if not isinstance(value, str) or value not in RELATIONS:
        raise SpecError(f"neighbours must be {' or '.join(map(repr, RELATIONS))}, got {value!r}.")
    return str(value)


def read_name(value: Any) -> str:
    """Read the name of an account."""
    name = read_text(value, "account")
    if not name.strip() or not name.isprintable() or len(name) > 200:
        raise SpecError(
            f"account must be a name of 1 to 200 printable characters, got {name[:40]!r}."
        )
    return name


def read_text(value: Any, name: str) -> str:
    """Read a string as a string."""
    if not isinstance(value, str):
        raise SpecTypeError(f"{name} must be a string, got {type(value).__name__}.")
    return str(value)
