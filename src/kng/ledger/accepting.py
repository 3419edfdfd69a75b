"""Reading what is handed to a ledger: events, names and texts, in the form that is booked."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kng.core.errors import SpecError, SpecTypeError
from kng.core.exact import exact, positive
from kng.core.naming import argument
from kng.core.privacy import (
    AddRemove,
    Guarantee,
    PrivacyEvent,
    ReplaceOne,
    read_records,
    rho_of,
)
from kng.ledger.account import Currency
from kng.ledger.amounts import GRAIN, short, tell

RELATIONS = (ReplaceOne.name, AddRemove.name)

_REFUSED = {
    Guarantee.SIMULATION: (
        "A ledger books no seeded release: anyone who knows the seed can repeat it and learn the "
        f"records. Leave {argument('random_state', None)}, or run the simulation without a ledger."
    ),
    Guarantee.APPROXIMATE: (
        "A ledger books no approximate release: a Markov chain has no certificate, so its epsilon "
        f"is not known to hold. Use {argument('sampler', 'auto')}, or run without a ledger."
    ),
}


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
    width = max(epsilon, short(width))
    # A ledger's own rounding may have added a grain.
    if not 0 < event.rho <= rho_of(width) + Fraction(1, GRAIN):
        raise SpecError(
            "rho must be above 0 and at most width**2 / 8, which is that of a single draw. Got rho "
            f"{tell(event.rho)}, width {tell(width)}."
        )
    return PrivacyEvent(
        epsilon=epsilon,
        width=width,
        mechanism=read_text(event.mechanism, "mechanism"),
        neighbours=read_relation(event.neighbours),
        records_per_person=read_records(event.records_per_person),
        guarantee=guarantee,
        rho=short(event.rho),
    )


def read_relation(value: Any) -> str:
    """Read the name of a neighbouring relation."""
    if not isinstance(value, str) or value not in RELATIONS:
        raise SpecError(
            f"{argument('neighbours')} must be {' or '.join(map(repr, RELATIONS))}, got {value!r}."
        )
    return str(value)


def read_currency(value: Any) -> Currency:
    """Read what a cap is counted in."""
    try:
        return Currency(value)
    except ValueError:
        raise SpecError(f"currency must be 'epsilon' or 'rho', got {value!r}.") from None


def read_name(value: Any, name: str = "account") -> str:
    """Read the name of an account, an analyst or a request."""
    text = read_text(value, name)
    if not text.strip() or not text.isprintable() or len(text) > 200:
        raise SpecError(
            f"{argument(name)} must be a name of 1 to 200 printable characters, got {text[:40]!r}."
        )
    return text


def read_text(value: Any, name: str) -> str:
    """Read a string as a string."""
    if not isinstance(value, str):
        raise SpecTypeError(f"{argument(name)} must be a string, got {type(value).__name__}.")
    return str(value)
