"""Bins as callers declare them: public, and never read from the data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf, isinf
from numbers import Real
from typing import Any

import numpy as np

from kng.core.errors import SpecError
from kng.core.exact import exact, show
from kng.core.naming import argument
from kng.data.bins import Edges, Levels

_EXAMPLES = {
    "edges": f"{argument('edges', [0, 18, 65, 120])}",
    "levels": f"{argument('levels', ['F', 'M'])}",
}


@dataclass(frozen=True, slots=True)
class DeclaredBins:
    """A rule for cells, the names of its bins, the column if it is named, and what is missing."""

    rule: Edges | Levels
    names: tuple[str, ...]
    column: str | None
    instead: int | None  # the bin of a missing cell; None leaves its record out


def bins_of(edges: Any, levels: Any, other: Any, missing: Any) -> DeclaredBins:
    """Read ``edges=`` or ``levels=``, one of them."""
    if (edges is None) == (levels is None):
        found = "neither" if edges is None else "both"
        raise SpecError(
            f"A histogram has edges or levels; got {found}. State the bins, as in "
            f"{_EXAMPLES['edges']} or {_EXAMPLES['levels']}."
        )
    if edges is not None:
        if other is not None:
            raise SpecError(
                f"{argument('other')} goes with levels. For numbers outside the edges start with "
                "-inf or end with inf, as in "
                f"{argument('edges', [float('-inf'), 0, 100, float('inf')])}."
            )
        column, given = _named(edges, "edges")
        rule: Edges | Levels = _edges(given)
        names = _intervals(given)
    else:
        column, given = _named(levels, "levels")
        rule, names = _levels(given, other)
    return DeclaredBins(rule, names, column, _instead(missing, rule))


def _named(value: Any, name: str) -> tuple[str | None, list[Any]]:
    """Return the column, if it is named, and the list."""
    column = None
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise SpecError(f"{argument(name)} must name one column, got {len(value)}.")
        ((key, value),) = value.items()
        column = str(key)
    if isinstance(value, str | bytes | Iterator) or not isinstance(value, Iterable):
        raise SpecError(f"{argument(name)} must be a list, as in {_EXAMPLES[name]}; got {value!r}.")
    return column, [item.item() if isinstance(item, np.generic) else item for item in value]


def _edge(value: Any) -> Fraction | float:
    if isinstance(value, str) and value.strip().lower() in ("inf", "+inf", "-inf"):
        return float(value)
    plain = isinstance(value, float) and isinf(value)
    return value if plain else exact(value, "edges (each)")


def _edges(given: list[Any]) -> Edges:
    found = [_edge(value) for value in given]
    if len(found) < 2:
        raise SpecError(
            f"{argument('edges')} must be two or more numbers, got {len(found)}; n + 1 edges make "
            "n bins."
        )
    numbers = [float(value) for value in found]
    for (a, b), (near, next_) in zip(pairwise(found), pairwise(numbers), strict=True):
        if a >= b or near >= next_:
            raise SpecError(
                f"{argument('edges')} must grow, got {_shown(a)} and then {_shown(b)}. List each "
                "edge once, from the least to the largest."
            )
    if numbers[0] == -inf and numbers[-1] == inf and len(numbers) == 2:
        raise SpecError(
            f"{argument('edges')} -inf and inf make one bin of all records. Add edges between."
        )
    return Edges(tuple(numbers))


def _shown(value: Fraction | float) -> str:
    return show(value) if isinstance(value, Fraction) else str(value)


def _intervals(given: list[Any]) -> tuple[str, ...]:
    """Return the bins as intervals: [0, 18), [18, 65]."""
    texts = [_shown(_edge(value)) for value in given]
    last = len(texts) - 2
    return tuple(
        f"[{a}, {b}{']' if i == last else ')'}" for i, (a, b) in enumerate(pairwise(texts))
    )


def _levels(given: list[Any], other: Any) -> tuple[Levels, tuple[str, ...]]:
    if not given:
        raise SpecError(
            f"{argument('levels')} are empty. State the values to count, as in "
            f"{_EXAMPLES['levels']}."
        )
    text = all(isinstance(level, str) for level in given)
    if not text and not all(_number(level) for level in given):
        raise SpecError(
            f"{argument('levels')} must all be finite numbers or all be text, got {given[:5]!r}. "
            "Code them in one of the two ways."
        )
    if text and any("\ud800" <= sign <= "\udfff" for level in given for sign in level):
        raise SpecError(
            f"{argument('levels')} hold half of a character (a lone surrogate). Write it as text."
        )
    if text and not all(level.strip() for level in given):
        raise SpecError(
            f"{argument('levels')} hold an empty text, which is missing in the data. Leave it out."
        )
    keys: list[Any] = [
        level.strip() if text else level if isinstance(level, bool) else float(level)
        for level in given
    ]
    seen: set[Any] = set()
    for level, key in zip(given, keys, strict=True):
        if key in seen:
            raise SpecError(f"{argument('levels')} name {level!r} twice. Name each level once.")
        seen.add(key)
    names = [key if text else str(level) for level, key in zip(given, keys, strict=True)]
    if other is None:
        return Levels(tuple(keys)), tuple(names)
    if not isinstance(other, str) or not other.strip():
        raise SpecError(
            f"{argument('other')} must be a name for all other values, as in "
            f"{argument('other', 'other')}; got {other!r}."
        )
    if other in names:
        raise SpecError(
            f"{argument('other', other)} is the name of a level, too. Choose another name."
        )
    return Levels(tuple(keys), others=True), (*names, other)


def _number(level: Any) -> bool:
    return isinstance(level, Real) and bool(abs(level) <= sys.float_info.max)  # type: ignore[operator]


def _instead(missing: Any, rule: Edges | Levels) -> int | None:
    """Return the bin of a missing cell; None if its record is absent."""
    if missing is None or (isinstance(missing, str) and missing == "drop"):
        return None
    if isinstance(rule, Levels) and rule.text:
        if missing in rule.levels:
            return rule.levels.index(missing)
    else:
        (code,) = rule.codes(np.array([float(exact(missing, "missing"))]))
        if not np.isnan(code):
            return int(code)
    raise SpecError(
        f"{argument('missing')} must be 'drop' or a value that has a bin; got {missing!r}."
    )
