"""What a receipt says of a request: which records count, and how many there are."""

from __future__ import annotations

from functools import lru_cache

from kng.core.encoding import Encoding
from kng.core.exact import listed, show
from kng.core.groups import Groups
from kng.core.privacy import PrivacyUnit, RemoveAndAdd, ReplaceOne
from kng.data import Present


def stated(present: Present, groups: Groups | None = None) -> dict[str, str]:
    """Return what a receipt says of which records count, and of their groups."""
    facts = {} if groups is None else {"by": groups.described}
    if present.where is not None:
        facts["where"] = f"{present.where} (other records are absent)"
    if present.person is not None:
        facts["person"] = (
            f"column {present.person}; at most {present.max_records} records of each are used"
        )
    return facts


def details(records: Encoding, unit: PrivacyUnit) -> dict[str, str]:
    """Return the public facts about the records that a receipt shows."""
    return dict(_details(records, unit))


def _missing(records: Encoding, unit: PrivacyUnit) -> dict[str, str]:
    """Return what a receipt says of missing cells; nothing where there can be none."""
    if unit.presence == "always" and records.complete:
        return {}
    lattice = records.lattice
    each = [
        "dropped" if k is None else show(low + k * step)
        for k, low, step in zip(records.missing, lattice.origin, lattice.step, strict=True)
    ]
    if set(each) == {"dropped"}:
        said = "empty or not a number: the record is left out; how many are stays private"
        return {"missing cells": said}
    return {"missing counts as": listed(each)}


@lru_cache(maxsize=64)
def _details(records: Encoding, unit: PrivacyUnit) -> tuple[tuple[str, str], ...]:
    facts = {
        "granularity": listed(show(step) for step in records.step),
        **_missing(records, unit),
        **records_stated(unit),
    }
    return tuple(facts.items())


def records_stated(unit: PrivacyUnit) -> dict[str, str]:
    """Return what a receipt says of the number of records."""
    facts = {}
    if isinstance(unit.neighbours, ReplaceOne):
        facts["records"] = f"{unit.neighbours.n} (public)"
    elif isinstance(unit.neighbours, RemoveAndAdd) and unit.neighbours.stated is not None:
        facts["records"] = (
            f"{unit.neighbours.stated} (public); how many are in each group is private"
        )
    else:
        stated = unit.neighbours.stated
        facts["records"] = "private" if stated is None else f"private, at most {stated}"
    if unit.rows_per_record is not None:
        facts["rows per record"] = f"at most {unit.rows_per_record} (stated)"
    return facts
