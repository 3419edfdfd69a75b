"""How names, constants and operators are written in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from kng.data.sql.tree import Literal


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def dotted(path: Sequence[str]) -> str:
    """Return a name with what it stands in."""
    return ".".join(map(quoted, path))


def string(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def constant(value: Literal) -> str:
    """Return a constant as SQL writes it."""
    if value.kind == "string":
        return string(value.text)
    return {"null": "NULL", "number": f"({value.text})"}.get(value.kind, value.text.upper())


def operation(name: str, arguments: Sequence[str]) -> str:
    """Return an operator or a function with its arguments."""
    first = arguments[0]
    if name in ("IS NULL", "IS NOT NULL"):
        return f"({first} {name})"
    if name == "NOT" or (name in ("-", "+") and len(arguments) == 1):
        return f"({name} {first})"
    if name == "IN":
        return f"({first} IN ({', '.join(arguments[1:])}))"
    if name == "BETWEEN":
        return f"({first} BETWEEN {arguments[1]} AND {arguments[2]})"
    if name in ("COALESCE", "TRY") or name.islower():
        return f"{name}({', '.join(arguments)})"
    return f"({f' {name} '.join(arguments)})"
