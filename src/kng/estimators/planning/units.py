"""The privacy unit of a planned release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.estimators.request import Request


def unit_of(ask: Request, n: int, missing: Any) -> PrivacyUnit:
    """Return the privacy unit of a table of n records, some of whose cells may be missing."""
    if ask.present.person is not None:
        return ask.people()
    filled = missing not in (None, "drop") and not isinstance(missing, Mapping)
    presence: Any = "always" if filled and ask.present.where is None else "optional"
    if ask.neighbours == ReplaceOne.name:
        return PrivacyUnit(ReplaceOne(n), ask.records_per_person, presence)
    relation = AddRemove() if ask.n_max is None else AddRemove(ask.n_max)
    return PrivacyUnit(relation, ask.records_per_person, presence)
