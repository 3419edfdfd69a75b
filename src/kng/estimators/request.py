"""What every call states before anything is read: epsilon, neighbours, ledger and bits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Any, Literal, TypeVar

from kng.core.bits import Bits, bits_of
from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts, SchemaError, SpecError, SpecTypeError
from kng.core.events import Counting, tell
from kng.core.exact import listed, positive, show, whole
from kng.core.groups import Groups
from kng.core.kinds import members, require
from kng.core.naming import Code, argument, in_python, keyword
from kng.core.parts import Base, Domain, Norm, described
from kng.core.payment import BLOCKS, Ledger
from kng.core.privacy import AddRemove, PrivacyUnit, RemoveAndAdd, ReplaceOne, read_records
from kng.core.records import USUAL_MEMORY, Opened, Source
from kng.data import ALL, Present, Table
from kng.estimators.based import base_part
from kng.ledger import Ledger as StoredLedger

Function = TypeVar("Function", bound=Callable[..., Any])

# What a mechanism of `kng` states, whichever it is.
_MECHANISM = ("name", "loss", "norm", "domain", "sampler", "share", "centre")


@dataclass(frozen=True, slots=True)
class Request:
    """The options that all functions share, read and checked."""

    epsilon: Fraction
    neighbours: str
    n_max: int | None
    records_per_person: int
    ledger: Ledger | None
    bits: Bits
    present: Present = ALL
    memory: int = USUAL_MEMORY  # bytes that what is made of the records may take

    def of(self, source: Source) -> Request:
        """Return the request with what a source says of memory."""
        return replace(self, memory=source.memory)

    def unit(self, source: Opened, groups: Groups | None = None) -> PrivacyUnit:
        """Return the privacy unit; counts the records only where their number is public.

        In groups a replaced record may change its group, and how many each has is private.
        """
        if source.promise is not None:
            source.promise.require(self.neighbours, self.ledger)
        if self.present.person is not None:
            return self.people()
        rows = source.rows_per_record
        if self.neighbours == AddRemove.name:
            return _unit(None, self.n_max, self.records_per_person, rows, source.presence)
        if rows is not None:
            raise SpecError(
                "The query can drop or multiply rows, so their number depends on what records "
                f"hold. Use {argument('neighbours', 'add-remove')}, which keeps it private."
            )
        tell(Counting())
        n = source.count()
        if n == 0:
            raise SchemaError("The data are empty. Provide at least one record.")
        if groups is not None:
            return PrivacyUnit(RemoveAndAdd(n), self.records_per_person, source.presence)
        return _unit(n, None, self.records_per_person, None, source.presence)

    def people(self) -> PrivacyUnit:
        """Return the unit of people: how many records each has, and all together, is private."""
        relation = RemoveAndAdd if self.neighbours == ReplaceOne.name else AddRemove
        known = relation() if self.n_max is None else relation(self.n_max)
        return PrivacyUnit(known, self.records_per_person, "optional")


def present_of(where: Any, person: Any, max_records: Any, records_per_person: Any) -> Present:
    """Read which records count."""
    if person is None and max_records is None:
        return ALL if where is None else Present(where)
    if person is None or max_records is None:
        lacking = "max_records" if max_records is None else "person"
        each = argument("person"), argument("max_records")
        both = f"{argument('person', 'id')}{in_python(',')} {argument('max_records', 5)}"
        why = f"{' and '.join(each)} belong together, as in {both}"
        raise SpecError(f"{argument(lacking)} is missing; {why}.")
    if not isinstance(person, str):
        raise SpecError(f"{argument('person')} must be the name of the column, got {person!r}.")
    if records_per_person != 1:
        raise SpecError(
            f"{argument('records_per_person')} states how many records a person has, and "
            f"{argument('max_records')} enforces it. Leave {argument('records_per_person')} out."
        )
    most = whole(max_records, "max_records", 1)
    read_records(most)
    return Present(where, person, most)


def table_states(*facts: str) -> Callable[[Function], Function]:
    """Let a declared table state options of a function that its caller leaves out.

    Parameters
    ----------
    facts : str
        Options that are facts about columns, "bounds" and "granularity". The relation and the
        ledger of the table are taken in any case.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            named = (*given, options.get("data"), options.get("column"))
            table = next((value for value in named if issubclass(type(value), Table)), None)
            if table is not None:
                # Imported here: few calls need it.
                from kng.estimators.declarations import filled

                options = filled(table, facts, options)
            return function(*given, **options)

        return call  # type: ignore[return-value]

    return decorate


@lru_cache(maxsize=64)
def _unit(
    n: int | None,
    n_max: int | None,
    records_per_person: int,
    rows_per_record: int | None,
    presence: Literal["always", "optional"],
) -> PrivacyUnit:
    """Return the unit for a public number of records, or for a private one."""
    if n is not None:
        return PrivacyUnit(ReplaceOne(n), records_per_person, presence)
    relation = AddRemove() if n_max is None else AddRemove(n_max)
    return PrivacyUnit(relation, records_per_person, presence, rows_per_record)


def request_of(
    *,
    epsilon: Any,
    neighbours: Any,
    n_max: Any,
    records_per_person: Any,
    ledger: Any,
    random_state: Any,
    present: Present = ALL,
) -> Request:
    """Check the shared options; every fault is found here, before the data are touched."""
    if epsilon is None:
        raise SpecError(
            f"{argument('epsilon')} is missing; state what the release may cost, as in "
            f"{argument('epsilon', 1)}."
        )
    one_of("neighbours", neighbours, (ReplaceOne.name, AddRemove.name))
    if n_max is not None and neighbours == ReplaceOne.name:
        raise SpecError(
            f"{argument('n_max')} belongs to {argument('neighbours', 'add-remove')}; under "
            "replace-one the number of records is public."
        )
    read = _numbers if _hashable(epsilon, n_max, records_per_person) else _numbers.__wrapped__
    return Request(
        *read(epsilon, neighbours, n_max, present.max_records or records_per_person),
        _ledger(ledger),
        bits_of(random_state),
        present,
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
    """Return who pays: a ledger, the one at a path or an address, or that of a ``with`` block."""
    if value is None:
        blocks = BLOCKS.ours.get()
        return blocks[-1] if blocks else None
    if isinstance(value, str | os.PathLike):
        return StoredLedger(value)
    if isinstance(value, Ledger):
        return value
    raise SpecTypeError(
        f"{argument('ledger')} must be a kng.Ledger, the path or the address of one, or an object "
        f"with its methods reserve and settle; got {type(value).__name__}."
    )


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Check an option that takes one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise SpecError(
            f"{argument(name)} must be one of {', '.join(map(repr, choices))}; got {value!r}."
        )


def named_norm(value: Any, names: Mapping[str, Norm]) -> Norm:
    """Return the norm that an option names, or the one that it is."""
    if isinstance(value, str) and value in names:
        return names[value]
    if type(value).__module__ == "builtins" and not isinstance(value, type):
        raise SpecError(
            f"{argument('norm')} must be one of {', '.join(map(repr, names))}"
            f"{in_python(', or a norm of kng.norms')}; got {value!r}."
        )
    require(value, "norm", members(Norm))
    norm: Norm = value
    return norm


def domain_part(domain: Any) -> None:
    """Refuse what cannot be a domain, its base measure included."""
    require(domain, "domain", members(Domain))
    require(domain.base, "base", members(Base))
    if domain.waits:
        raise IncompatibleParts(
            f"{described(domain)} depends on a point of the same release that is drawn before, and "
            "here there is none. Use its box, or state the other plane."
        )


@dataclass(frozen=True, slots=True)
class Way:
    """How an estimator weighs theta: a mechanism by name, and what the caller states of it."""

    name: str
    norm: Any
    domain: Domain | None
    sampler: str
    share: Fraction | None = None
    centre: Any = None
    base: Any = None

    def refuse_base(self) -> None:
        """Refuse a base measure where no theta is weighed."""
        if self.base is not None:
            raise IncompatibleParts(
                f"{argument('base')} says how likely theta is before the records are seen, and "
                f"{argument('mechanism', self.name)}, which adds noise, does not use it. Use "
                f"{argument('mechanism', 'kng')} or 'exponential'."
            )

    def refuse_norm(self) -> None:
        """Refuse a norm where nothing is measured in one."""
        if self.name == "exponential" and not _same(self.norm, "auto"):
            raise IncompatibleParts(
                f"{argument('mechanism', 'exponential')} has no norm: it weighs the loss."
            )

    def refuse_centre(self) -> None:
        """Refuse a centre where there is no ridge."""
        if self.centre is not None:
            raise IncompatibleParts(
                f"{argument('centre')} is where the ridge of objective perturbation draws to, and "
                f"{argument('mechanism', self.name)} has none. Use objective perturbation."
            )


def way_of(
    mechanism: Any,
    names: tuple[str, ...],
    *,
    norm: Any = "auto",
    domain: Any = None,
    sampler: Any = "auto",
    centre: Any = None,
    base: Any = None,
) -> Way:
    """Read ``mechanism=``, a name or an object, beside the options that speak of the same."""
    if domain is not None:
        domain_part(domain)
    if base is not None:
        base_part(base)
    way = _named(mechanism, names, Way("", norm, domain, sampler, None, centre))
    if base is not None and way.domain is not None:
        raise SpecError(
            f"{described(way.domain)} has a base measure, and {keyword('base')} states one as "
            "well. State it in the domain, as in Box(-5, 5, base=...)."
        )
    return way if base is None else replace(way, base=base)


def _named(mechanism: Any, names: tuple[str, ...], said: Way) -> Way:
    """Join what a mechanism says, if it is an object, and what the options say."""
    if type(mechanism).__module__ == "builtins" and not isinstance(mechanism, type):
        one_of("mechanism", mechanism, names)
        return replace(said, name=mechanism)
    require(mechanism, "mechanism", _MECHANISM)
    one_of("mechanism", mechanism.name, names)
    kind = type(mechanism).__name__
    if mechanism.loss is not None:
        raise IncompatibleParts(
            f"{argument('mechanism', Code(f'{kind}({described(mechanism.loss)})'))} brings a "
            f"loss, and this estimator has its own. Give {kind}() without one, or call "
            f"{kind}(...).release."
        )
    stated = {
        "norm": (said.norm, mechanism.norm, "auto"),
        "domain": (said.domain, mechanism.domain, None),
        "sampler": (said.sampler, mechanism.sampler, "auto"),
        "centre": (said.centre, mechanism.centre, None),
    }
    found: dict[str, Any] = {}
    for name, (here, there, usual) in stated.items():
        both = [value for value in (here, there) if not _same(value, usual)]
        if len(both) > 1:
            raise SpecError(
                f"{argument(name)} is stated twice, here and in "
                f"{argument('mechanism', Code(f'{kind}(...)'))}. State it once."
            )
        found[name] = both[0] if both else usual
    return Way(mechanism.name, share=mechanism.share, **found)


def _same(value: Any, usual: str | None) -> bool:
    """Whether an option is as it is if nobody states it; arrays have no single answer to ==."""
    return value is usual or (isinstance(value, str) and value == usual)


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
    facts, stated = {}, unit.neighbours.stated
    if isinstance(unit.neighbours, ReplaceOne):
        facts["records"] = f"{unit.neighbours.n} (public)"
    elif isinstance(unit.neighbours, RemoveAndAdd) and stated is not None:
        facts["records"] = f"{stated} (public); how many are in each group is private"
    else:
        facts["records"] = "private" if stated is None else f"private, at most {stated}"
    if unit.rows_per_record is not None:
        facts["rows per record"] = f"at most {unit.rows_per_record} (stated)"
    return facts
