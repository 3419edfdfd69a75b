"""How a condition reads columns that are more than plain numbers and texts.

A declared column is read as it is declared: 1 and 0, days or seconds, missing if it is no level.
Where nothing declares a column, it is a boolean if it is compared with true or false; if all that
is asked is whether a cell is missing, numbers and texts are not. Types of dates are read as seconds
beside dates in quotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.data.engine import Column, Kind
from kng.data.kinds.boolean import Boolean
from kng.data.kinds.date import Date
from kng.data.kinds.untyped import Untyped
from kng.data.where.tree import (
    Both,
    Calculated,
    Compared,
    Either,
    Listed,
    Missing,
    Name,
    Node,
    Not,
    Number,
    Text,
    Truth,
)

if TYPE_CHECKING:
    from kng.data.kinds import Declared

Columns = Mapping[str, tuple[int, Column]]


def readings(
    condition: Node, known: Columns, stated: Mapping[str, Declared]
) -> dict[str, Declared]:
    """Return the declaration by which a condition reads each column that has one."""
    found: dict[str, Declared] = {}
    uses = list(_uses(condition))
    for name in {name for name, _ in uses if name in known}:
        kind, ways = known[name][1].kind, {way for each, way in uses if each == name}
        declared = stated.get(name)
        if declared is not None:
            found |= {} if declared.kind == "number" else {name: declared}
        elif kind is Kind.DATE and "number" not in ways:
            found[name] = Date("seconds")
        elif kind is Kind.CELLS and "truth" in ways:
            found[name] = Boolean()
        elif kind is Kind.CELLS and "missing" in ways and "number" not in ways:
            found[name] = Untyped()
    return found


def with_dates(node: Any, dates: Mapping[str, Date]) -> Any:
    """Replace dates in quotes by numbers where a column of dates stands beside them."""
    match node:
        case Compared(operation, Name(name), Text(text)) if name in dates:
            return Compared(operation, Name(name), _day(dates[name], text))
        case Compared(operation, Text(text), Name(name)) if name in dates:
            return Compared(operation, _day(dates[name], text), Name(name))
        case Listed(Name(name), among) if name in dates:
            days = [_day(dates[name], e.value) if isinstance(e, Text) else e for e in among]
            return Listed(Name(name), tuple(days))
        case Both(left, right):
            return Both(with_dates(left, dates), with_dates(right, dates))
        case Either(left, right):
            return Either(with_dates(left, dates), with_dates(right, dates))
        case Not(condition):
            return Not(with_dates(condition, dates))
    return node


def _day(date: Date, text: str) -> Number:
    number = date.number(text)
    if isinstance(number, str):
        raise SpecError(
            f"{argument('where')} compares a date with {text!r}, which is not a date. Write it as "
            "in '2024-01-31'."
        )
    return Number(float(number))


def _uses(node: Node) -> Iterator[tuple[str, str]]:
    """Yield columns, and what each is compared with: number, text, truth, or missing."""
    match node:
        case Missing(Name(name)):
            yield name, "missing"
        case Compared(_, Name(name), Text() | Truth() as other) | Compared(
            _, Text() | Truth() as other, Name(name)
        ):
            yield name, "text" if isinstance(other, Text) else "truth"
        case Listed(Name(name), among) if any(isinstance(item, Text) for item in among):
            yield name, "text"
        case Name(name):
            yield name, "number"
        case Listed(value, _):
            yield from _uses(value)
        case Not(condition):
            yield from _uses(condition)
        case (
            Calculated(_, left, right)
            | Compared(_, left, right)
            | Both(left, right)
            | Either(left, right)
        ):
            yield from (*_uses(left), *_uses(right))
