"""A request with a key: asked again, it is answered again, and not charged again."""

from __future__ import annotations

import json
from typing import Any

from kng.core.errors import BudgetError, SpecError
from kng.core.privacy import PrivacyEvent
from kng.ledger import rows
from kng.ledger.entries import Booking, ChargeBody

# What may differ between two versions of kng that are asked the same.
_NOT_ASKED = ("version",)


def answered(
    db: rows.Connection,
    account: str,
    key: str,
    *,
    event: PrivacyEvent,
    parameters: str,
    dataset: str | None,
) -> Booking | None:
    """Return the stored answer of a request, None for a new one, or refuse it."""
    found = rows.request_at(db, account, key)
    if found is None:
        return None
    sequence, body, seal = found
    differs = _differences(body, event, parameters, dataset)
    if differs:
        raise SpecError(
            f"Request {key!r} was charged as entry {sequence} of account {account!r} with another "
            f"{' and another '.join(differs)}. Nothing was charged. Give a new request another key."
        )
    payload = rows.release_at(db, sequence)
    if payload is None:
        raise BudgetError(
            f"Request {key!r} was charged as entry {sequence} of account {account!r}, and has no "
            "stored answer: it is under way, or was cut short. The charge stays, and nothing more "
            "was charged. Wait for it, or ask anew under another key, which is charged again.",
            requested=event.epsilon,
            remaining=event.epsilon * 0,
        )
    return Booking(sequence, account, body.steps * event.epsilon, seal, payload)


def _differences(
    body: ChargeBody, event: PrivacyEvent, parameters: str, dataset: str | None
) -> list[str]:
    """Return what a request asks differently from what was charged."""
    names = ("epsilon", "mechanism", "neighbours", "records_per_person", "guarantee")
    found = [name for name in names if getattr(body.event, name) != getattr(event, name)]
    if not found and body.event != event:
        found.append("range of the privacy loss")
    if body.dataset != dataset:
        found.append("dataset")
    old, new = _facts(body.parameters), _facts(parameters)
    found += [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    return list(dict.fromkeys(found))


def _facts(parameters: str) -> dict[str, Any]:
    """Read parameters by name; a text that is no JSON object is one parameter."""
    try:
        facts = json.loads(parameters)
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        return {"parameters": parameters}
    return {name: fact for name, fact in facts.items() if name not in _NOT_ASKED}
