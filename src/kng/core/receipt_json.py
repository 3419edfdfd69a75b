"""A release as JSON: the format of receipts that programs read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from kng.core.bounds import Bounds
from kng.core.errors import SpecError
from kng.core.exact import as_stored
from kng.core.groups import Groups
from kng.core.lattice import AffineMap, Lattice
from kng.core.law import Law
from kng.core.noise.stored import noise_from
from kng.core.privacy import Assumption, Guarantee, PrivacyEvent, rho_of
from kng.core.provenance import Provenance
from kng.core.receipt_words import in_words

if TYPE_CHECKING:
    from kng.core.release import Release

# What is written, and what is read: the first is that of version 0.1, which says less.
FORMAT = "kng-release-2"
_READ = ("kng-release-1", FORMAT)
# What JSON has for the level of a group.
_LEVELS = (str, int, float, bool)


def written(release: Release, indent: int | None) -> str:
    """Write a release as JSON; exact numbers are strings such as "1/10"."""
    one = rho_of(release.event.width)
    return json.dumps(
        {
            "format": FORMAT,
            "statistic": release.statistic,
            "value": np.asarray(release.value).tolist(),
            **({"also": release.also} if release.also else {}),
            "integers": list(release.integers),
            "lattice": {
                "origin": _texts(release.lattice.origin),
                "step": _texts(release.lattice.step),
                "last": list(release.lattice.last),
            },
            "units": None
            if release.units is None
            else {
                "matrix": [_texts(row) for row in release.units.matrix],
                "offset": _texts(release.units.offset),
            },
            "epsilon": str(release.event.epsilon),
            "loss_range": str(release.event.width),
            # Of one draw it follows from the range.
            **({} if release.event.rho == one else {"rho": str(release.event.rho)}),
            "guarantee": release.guarantee.value,
            "mechanism": release.mechanism,
            "sampler": release.sampler,
            "neighbours": release.neighbours,
            "records_per_person": release.event.records_per_person,
            "bounds": {
                "low": _texts(release.bounds.low),
                "high": _texts(release.bounds.high),
                "columns": release.bounds.columns,
            },
            "assumptions": [assumption.value for assumption in release.assumptions],
            "details": dict(release.details),
            "version": release.version,
            "law": None if release.law is None else release.law.to_mapping(),
            "noise": None if release.noise is None else release.noise.to_mapping(),
            **_by(release.groups),
            "provenance": None if release.provenance is None else release.provenance.to_mapping(),
            "in_words": in_words(release),
        },
        indent=indent,
    )


def _by(groups: Groups | None) -> dict[str, Any]:
    """Write groups as {column: levels}; nothing where there are none."""
    if groups is None:
        return {}
    return {"by": dict(zip(groups.columns, map(list, groups.levels), strict=True))}


def _groups(raw: Any) -> Groups | None:
    """Read groups back; every level must be a text, a number or a truth value."""
    if raw is None:
        return None
    lists = list(raw.values())
    known = all(type(level) in _LEVELS for levels in lists for level in levels)
    if not lists or not known or not all(isinstance(v, list) and v for v in lists):
        raise SpecError("this release holds something other than levels where groups belong.")
    return Groups(tuple(raw), tuple(map(tuple, lists)))


def fields(text: str) -> dict[str, Any]:
    """Read the fields of a release; anything but one raises an error of some kind."""
    raw = unambiguous(text)
    if raw["format"] not in _READ:
        raise SpecError(f"unknown release format {raw['format']!r}; expected {FORMAT!r}.")
    columns, units = raw["bounds"]["columns"], raw["units"]
    found = raw["provenance"] if raw["format"] == FORMAT else None
    texts = ("statistic", "mechanism", "sampler", "neighbours", "version")
    named = [raw[name] for name in texts] + list(columns or [])
    facts = {
        label: tuple(fact) if isinstance(fact, list) else fact
        for label, fact in raw["details"].items()
    }
    for fact in facts.values():
        named += fact if isinstance(fact, tuple) else [fact]
    if not all(isinstance(text, str) for text in [*named, *facts]):
        raise SpecError("this release holds something other than text where text belongs.")
    return {
        "statistic": raw["statistic"],
        "integers": _wholes(raw["integers"]),
        "lattice": Lattice(
            _fractions(raw["lattice"]["origin"]),
            _fractions(raw["lattice"]["step"]),
            _wholes(raw["lattice"]["last"]),
        ),
        "scalar": not isinstance(raw["value"], list),
        "event": PrivacyEvent(
            epsilon=as_stored(raw["epsilon"]),
            width=as_stored(raw["loss_range"]),
            mechanism=raw["mechanism"],
            neighbours=raw["neighbours"],
            records_per_person=_wholes([raw["records_per_person"]])[0],
            guarantee=Guarantee(raw["guarantee"]),
            rho=as_stored(raw.get("rho", "0")),
        ),
        "sampler": raw["sampler"],
        "bounds": Bounds(
            _fractions(raw["bounds"]["low"]),
            _fractions(raw["bounds"]["high"]),
            None if columns is None else tuple(columns),
        ),
        "assumptions": tuple(Assumption(item) for item in raw["assumptions"]),
        "details": facts,
        "version": raw["version"],
        "units": None
        if units is None
        else AffineMap(
            tuple(_fractions(row) for row in units["matrix"]), _fractions(units["offset"])
        ),
        # Receipts of version 0.1 have none.
        "law": None if raw.get("law") is None else Law.from_mapping(raw["law"]),
        "noise": noise_from(raw.get("noise")),
        "groups": _groups(raw.get("by")),
        "provenance": None if found is None else Provenance.from_mapping(found),
    }


def unambiguous(text: str) -> Any:
    """Read JSON in which no name stands twice: programs differ in which of the two they read."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refused)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise SpecError("this release names something twice; it was changed.")
    return found


def _refused(constant: str) -> Any:
    raise SpecError(f"this release holds {constant}, which is not a number; it was changed.")


def _wholes(numbers: Sequence[Any]) -> tuple[int, ...]:
    """Return whole numbers as they are; anything else would be cut to one."""
    if not all(type(number) is int for number in numbers):
        raise SpecError("this release holds something other than a whole number where one belongs.")
    return tuple(numbers)


def _texts(numbers: Sequence[Fraction]) -> list[str]:
    return [str(number) for number in numbers]


def _fractions(texts: Sequence[str]) -> tuple[Fraction, ...]:
    return tuple(as_stored(text) for text in texts)
