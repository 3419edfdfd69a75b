"""What every call states before anything is read: epsilon, neighbours, ledger and bits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from kng.core.bits import Bits, bits_of
from kng.core.encoding import Encoding
from kng.core.errors import SchemaError, SpecError, SpecTypeError
from kng.core.exact import listed, positive, show, whole
from kng.core.kinds import members, require
from kng.core.parts import Ledger, Norm
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.records import Source
from kng.ledger import Ledger as StoredLedger


@dataclass(frozen=True, slots=True)
class Request:
    """The options that all functions share, read and checked."""

    epsilon: Fraction
    neighbours: str
    n_max: int | None
    records_per_person: int
    ledger: Ledger | None
    bits: Bits

    def unit(self, source: Source) -> PrivacyUnit:
        """Return the privacy unit; counts the records only where their number is public."""
        if self.neighbours == AddRemove.name:
            return _unit(None, self.n_max, self.records_per_person)
        n = source.count()
        if n == 0:
            raise SchemaError("The data are empty. Provide at least one record.")
        return _unit(n, None, self.records_per_person)


@lru_cache(maxsize=64)
def _unit(n: int | None, n_max: int | None, records_per_person: int) -> PrivacyUnit:
    """Return the unit for a public number of records, or for a private one."""
    if n is not None:
        return PrivacyUnit(ReplaceOne(n), records_per_person)
    return PrivacyUnit(AddRemove() if n_max is None else AddRemove(n_max), records_per_person)


def request_of(
    *,
    epsilon: Any,
    neighbours: Any,
    n_max: Any,
    records_per_person: Any,
    ledger: Any,
    random_state: Any,
) -> Request:
    """Check the shared options; every fault is found here, before the data are touched."""
    if epsilon is None:
        raise SpecError("epsilon is missing; state what the release may cost, as in epsilon=1.")
    one_of("neighbours", neighbours, (ReplaceOne.name, AddRemove.name))
    if n_max is not None and neighbours == ReplaceOne.name:
        raise SpecError(
            "n_max belongs to neighbours='add-remove'; under replace-one the number of records "
            "is public."
        )
    read = _numbers if _hashable(epsilon, n_max, records_per_person) else _numbers.__wrapped__
    return Request(
        *read(epsilon, neighbours, n_max, records_per_person),
        _ledger(ledger),
        bits_of(random_state),
    )


def _hashable(*values: Any) -> bool:
    """Tell whether arguments can be looked up; arrays and lists cannot."""
    try:
        hash(values)
    except TypeError:
        return False
    return True


# Typed: 1, 1.0 and True are read differently.
@lru_cache(maxsize=256, typed=True)
def _numbers(
    epsilon: Any, neighbours: str, n_max: Any, records_per_person: Any
) -> tuple[Fraction, str, int | None, int]:
    """Read the numbers that every call states."""
    return (
        positive(epsilon, "epsilon"),
        neighbours,
        None if n_max is None else whole(n_max, "n_max", 1),
        whole(records_per_person, "records_per_person", 1),
    )


def _ledger(value: Any) -> Ledger | None:
    if value is None:
        return None
    if isinstance(value, StoredLedger):
        return value
    if isinstance(value, str | os.PathLike):
        return StoredLedger(value)
    raise SpecTypeError(
        f"ledger must be a kng.Ledger or the path of one, got {type(value).__name__}."
    )


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Check an option that takes one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise SpecError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def named_norm(value: Any, names: Mapping[str, Norm]) -> Norm:
    """Return the norm that an option names, or the one that it is."""
    if isinstance(value, str) and value in names:
        return names[value]
    if isinstance(value, str):
        listed_names = ", ".join(map(repr, names))
        raise SpecError(
            f"norm must be one of {listed_names}, or a norm of kng.norms; got {value!r}."
        )
    require(value, "norm", members(Norm))
    norm: Norm = value
    return norm


def details(records: Encoding, unit: PrivacyUnit) -> dict[str, str]:
    """Return the public facts about the records that a receipt shows."""
    return dict(_details(records, unit))


@lru_cache(maxsize=64)
def _details(records: Encoding, unit: PrivacyUnit) -> tuple[tuple[str, str], ...]:
    facts = {
        "granularity": listed(show(step) for step in records.step),
        "missing counts as": listed(
            show(value) for value in records.lattice.units(records.missing)
        ),
    }
    if isinstance(unit.neighbours, ReplaceOne):
        facts["records"] = f"{unit.neighbours.n} (public)"
    else:
        stated = unit.neighbours.stated
        facts["records"] = "private" if stated is None else f"private, at most {stated}"
    return tuple(facts.items())
