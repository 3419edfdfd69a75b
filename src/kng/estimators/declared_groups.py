"""Groups as callers declare them: public, and never read from the data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from kng.core.errors import SpecError
from kng.core.groups import Groups, Level
from kng.core.naming import argument

_LARGEST = sys.float_info.max
# A group takes a draw of its own, and codes of groups are short numbers.
_MOST = 2**16 - 1


def groups_of(by: Any) -> Groups:
    """Read ``by={column: levels}``."""
    if not isinstance(by, Mapping):
        raise SpecError(
            f"{argument('by')} must name columns and their levels, as in "
            f"{argument('by', {'sex': ['F', 'M']})}. Which groups there are is never read from the "
            f"data; got {type(by).__name__}."
        )
    if not by:
        raise SpecError(
            f"{argument('by')} names no column. State the groups, as in "
            f"{argument('by', {'sex': ['F', 'M']})}."
        )
    names = [str(name) for name in by]
    if len(set(names)) < len(names):
        raise SpecError(f"{argument('by')} names a column twice. Name each column once.")
    pairs = zip(names, by.values(), strict=True)
    groups = Groups(tuple(names), tuple(_levels(name, levels) for name, levels in pairs))
    if len(groups) > _MOST:
        raise SpecError(
            f"{argument('by')} declares {len(groups)} groups; the most that can be is {_MOST}."
        )
    return groups


def _levels(name: str, levels: Any) -> tuple[Level, ...]:
    """Read the levels of one column: all of them texts, or all of them numbers."""
    # An iterator is empty when it is asked again.
    wrong = isinstance(levels, str | bytes | Mapping | Iterator)
    if wrong or not isinstance(levels, Iterable):
        raise SpecError(
            f"{argument('by')}: the levels of {name!r} must be a list, as in "
            f"{argument('by', {name: ['F', 'M']})}; got {levels!r}."
        )
    found = [level.item() if isinstance(level, np.generic) else level for level in levels]
    if not found:
        raise SpecError(f"{argument('by')}: column {name!r} has no levels. State at least one.")
    text = all(isinstance(level, str) for level in found)
    if not text and not all(isinstance(level, Real) and _finite(level) for level in found):
        raise SpecError(
            f"{argument('by')}: the levels of {name!r} must all be texts, or all be finite numbers "
            f"or truth values; got {found!r}."
        )
    if text and any("\ud800" <= sign <= "\udfff" for level in found for sign in level):
        raise SpecError(
            f"{argument('by')}: a level of {name!r} holds half of a character (a lone surrogate)."
        )
    kept = [_plain(level) for level in found]
    _refuse_twice(name, kept)
    return tuple(kept)


def _refuse_twice(name: str, levels: Sequence[Level]) -> None:
    seen: set[str | float] = set()
    for level in levels:
        key = level if isinstance(level, str) else float(level)
        if key in seen:
            raise SpecError(
                f"{argument('by')}: column {name!r} has the level {level!r} twice. Name it once."
            )
        seen.add(key)
    if "" in seen:
        raise SpecError(
            f"{argument('by')}: a level of {name!r} is empty; records without a level are absent."
        )


def _plain(level: Any) -> Level:
    """Return a text without spaces around it, or a number that JSON knows."""
    if isinstance(level, str):
        return level.strip()
    return level if isinstance(level, bool | int) else float(level)


def _finite(level: Any) -> bool:
    """Tell whether float64 holds a number; whole numbers may be too large for it."""
    return bool(abs(level) <= _LARGEST)
