"""Every fault of a declaration in one message: a line each, with where it is."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from kng.data.declared.facts import found

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

# Settings whose value may hold a password or a query; it is not shown.
_HIDDEN = ("source", "query", "ledger")
# Settings of which a file has several by name, and what each is called in a message.
_NAMED = {"tables": "table", "columns": "column"}


def lines(error: ValidationError, settings: Sequence[str]) -> list[str]:
    """Return the faults as lines; ``settings`` are the names that a misspelt one may stand for."""
    return [_line(fault, settings) for fault in error.errors(include_url=False)]


def told(called: str, faults: Sequence[str]) -> str:
    """Return the message: how many faults there are, and each on a line of its own."""
    number = "one fault" if len(faults) == 1 else f"{len(faults)} faults"
    return f"{called} has {number}; nothing was read.\n" + "\n".join(f"  {line}" for line in faults)


def _line(fault: ErrorDetails, settings: Sequence[str]) -> str:
    at = [str(part) for part in fault["loc"]]
    places = []
    while len(at) >= 2 and at[0] in _NAMED:
        places.append(f"{_NAMED[at[0]]} {at[1]!r}")
        at = at[2:]
    name = at[0] if at else "it"
    where = f"{', '.join(places)}: " if places else ""
    return where + _said(fault, name, settings)


def _said(fault: ErrorDetails, name: str, settings: Sequence[str]) -> str:
    kind, value = fault["type"], fault["input"]
    shown = "" if name in _HIDDEN else f", found {found(value)}"
    match kind:
        case "value_error":
            return str(fault["ctx"]["error"])
        case "extra_forbidden":
            close = get_close_matches(name, settings, n=1)
            return f"{name!r} is not a setting" + (f"; did you mean {close[0]}?" if close else "")
        case "literal_error":
            return f"{name} must be {fault['ctx']['expected']}{shown}"
        case "missing":
            return f"{name} is missing"
        case "string_type":
            return f"{name} must be text{shown}"
        case "greater_than_equal" | "int_type" | "int_from_float" | "int_parsing":
            return f"{name} must be a whole number of at least 1{shown}"
        case _:
            return f"{name} must be a table of settings, found {_kind(value)}"


def _kind(value: Any) -> str:
    names = {"str": "text", "int": "a number", "Decimal": "a number", "list": "a list"}
    return names.get(type(value).__name__, type(value).__name__)
