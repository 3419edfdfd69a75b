"""Declarations written as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_KEY = re.compile(r"[A-Za-z0-9_-]+")
# Settings that are numbers, texts though they are here.
_COUNTED = ("bounds", "step", "rows_per_record", "threads")
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def table_text(name: str, facts: Mapping[str, Any], columns: Mapping[str, Any]) -> str:
    """Return a table of kng.toml.

    Parameters
    ----------
    name : str
    facts : mapping
        What is stated of the table: source, relation, ledger and how it is read.
    columns : mapping
        What is stated of each column. Numbers are texts, written as they were typed.
    """
    blocks = [_block(("tables", name), facts)]
    blocks += [
        _block(("tables", name, "columns", column), stated) for column, stated in columns.items()
    ]
    return "\n".join(blocks)


def _block(path: Sequence[str], facts: Mapping[str, Any]) -> str:
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(name)} = {_value(name, value)}" for name, value in facts.items()]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if _KEY.fullmatch(name) else _text(name)


def _value(name: str, value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(name, item) for item in value)}]"
    if name in _COUNTED and _NUMBER.fullmatch(value):
        return str(value)
    return _text(value)


def _text(value: str) -> str:
    """Write a basic string, whose escapes are those of JSON but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
