"""Declared facts of a column, read one by one; what is wrong is said by a ``ValueError``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from kng.core.errors import KngError
from kng.core.exact import exact, show

# What `kng init` leaves for its holder to fill in.
_BLANK: tuple[Any, ...] = ([], (), "", {})


def bounds_in(value: Any, kind: str | None) -> tuple[Any, Any]:
    """Return the two ends of a range of numbers or dates."""
    if kind in ("category", "boolean"):
        raise ValueError(f"bounds mean nothing for a {kind}; leave them out")
    if value in _BLANK:
        raise ValueError("bounds are blank; state the public range of a cell, as in [0, 100]")
    if not _listed(value) or len(value) != 2:
        raise ValueError(f"bounds must be [low, high], found {found(value)}")
    read: Callable[[Any, str], Any] = _date if kind == "date" else _number
    low, high = (read(end, "bounds") for end in value)
    if type(low) is not type(high):
        raise ValueError(f"bounds must be two days or two times of day, found {found(value)}")
    if not low < high:
        raise ValueError(f"bounds must have low < high, found {found(value)}")
    return low, high


def step_in(value: Any, kind: str | None, bounds: tuple[Any, Any] | None) -> Fraction:
    """Return the public step of numbers."""
    if kind not in (None, "number"):
        raise ValueError(f"step means nothing for a {kind}; leave it out")
    if value in _BLANK:
        raise ValueError(
            "step is blank; state the public step of the cells, as in 0.01, or leave it out"
        )
    step = _number(value, "step")
    if step <= 0:
        raise ValueError(f"step must be positive, found {found(value)}")
    if bounds is not None and step > bounds[1] - bounds[0]:
        raise ValueError(
            f"step {show(step)} is larger than the range of the bounds, "
            f"{show(bounds[1] - bounds[0])}"
        )
    return step


def levels_in(value: Any, kind: str | None) -> tuple[Any, ...]:
    """Return two or more different levels, all of them texts or all numbers."""
    if kind in ("number", "date"):
        raise ValueError(f"levels mean nothing for a {kind}; leave them out, or use kind category")
    if value is None:
        raise ValueError('levels of a category are missing; list them, as in ["F", "M"]')
    if value in _BLANK:
        raise ValueError('levels are blank; list them, as in ["F", "M"]')
    if not _listed(value):
        raise ValueError(f'levels must be a list such as ["F", "M"], found {found(value)}')
    levels = tuple(level.strip() if isinstance(level, str) else level for level in value)
    text = all(isinstance(level, str) for level in levels)
    number = all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in levels)
    if not text and not number:
        raise ValueError(f"levels must all be text or all be numbers, found {found(value)}")
    twice = [level for level in levels if levels.count(level) > 1]
    if twice:
        raise ValueError(f"levels name {found(twice[0])} twice; name each once")
    if len(levels) < 2 or (kind == "boolean" and len(levels) != 2):
        need = "exactly two, false and then true" if kind == "boolean" else "two or more"
        raise ValueError(f"levels must be {need}, found {len(levels)}")
    return tuple(float(v) if isinstance(v, Decimal) else v for v in levels)


def other_in(value: Any, kind: str | None) -> Any:
    """Return the level that all other cells count as: one of the levels, or a further one."""
    if kind not in (None, "category"):
        raise ValueError(f"other means nothing for a {kind}; leave it out")
    if value in _BLANK:
        raise ValueError("other is blank; name a level for all other cells, or leave it out")
    if not isinstance(value, str | int | float | Decimal) or isinstance(value, bool):
        raise ValueError(f"other must be a text or a number, found {found(value)}")  # noqa: TRY004
    return value.strip() if isinstance(value, str) else value


def reference_in(value: Any, levels: Sequence[Any] | None, other: Any) -> Any:
    """Return one of the levels."""
    if value in _BLANK:
        raise ValueError("reference is blank; name one of the levels, or leave it out")
    if levels is None:
        raise ValueError("reference names a level, and no levels are declared")
    level = value.strip() if isinstance(value, str) else value
    if level not in levels and (other is None or level != other):
        raise ValueError(
            f"reference must be one of the levels {', '.join(map(found, levels))}; found "
            f"{found(value)}"
        )
    return level


def found(value: Any) -> str:
    """Write a declared value as it stands in a file, cut where it is long."""
    if isinstance(value, Decimal | Fraction):
        text = str(value)
    elif isinstance(value, date):
        text = value.isoformat()
    elif _listed(value):
        text = f"[{', '.join(map(found, value))}]"
    else:
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _number(value: Any, name: str) -> Fraction:
    try:
        return exact(value, name)
    except KngError:
        raise ValueError(f"{name} must be made of numbers, found {found(value)}") from None


def _date(value: Any, name: str) -> date | datetime:
    """Read a day, or a time of day, in ISO form."""
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        for read in (date.fromisoformat, datetime.fromisoformat):
            try:
                return read(value)
            except ValueError:
                continue
    raise ValueError(f"{name} must be dates such as 2026-01-31, found {found(value)}")
