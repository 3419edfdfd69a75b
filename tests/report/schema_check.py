"""The part of JSON Schema that the schema of receipts uses; another keyword is an error."""

from __future__ import annotations

import re
from typing import Any

_SAID = {"$schema", "$id", "$defs", "title", "description"}
_ABOUT = {"pattern": str, "minimum": (int, float), "required": dict, "properties": dict}
_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """Return what of a value does not fit a schema."""
    found = []
    for word, rule in schema.items():
        if word in _SAID or word in ("additionalProperties", "items"):
            continue
        if not isinstance(value, _ABOUT.get(word, object)):
            continue  # such a word says nothing about other values
        if word == "$ref":
            found += faults(value, root["$defs"][rule.removeprefix("#/$defs/")], root, at)
        elif word == "type":
            names = rule if isinstance(rule, list) else [rule]
            fits = any(_is(value, name) for name in names)
            found += [] if fits else [f"{at} is not {rule}"]
        elif word == "const":
            found += [] if value == rule else [f"{at} is not {rule}"]
        elif word == "enum":
            found += [] if value in rule else [f"{at} is none of {rule}"]
        elif word == "pattern":
            found += [] if re.search(rule, value) else [f"{at} does not look like {rule}"]
        elif word == "minimum":
            found += [] if value >= rule else [f"{at} is below {rule}"]
        elif word == "required":
            found += [f"{at} lacks {name}" for name in rule if name not in value]
        elif word == "anyOf":
            ways = [faults(value, one, root, at) for one in rule]
            found += [] if [] in ways else min(ways, key=len)
        elif word == "properties":
            for name in rule.keys() & value.keys():
                found += faults(value[name], rule[name], root, f"{at}.{name}")
        else:
            raise AssertionError(f"the check does not know {word}")
    if isinstance(value, list) and "items" in schema:
        for place, item in enumerate(value):
            found += faults(item, schema["items"], root, f"{at}[{place}]")
    if isinstance(value, dict) and "additionalProperties" in schema:
        rest, rule = (
            value.keys() - schema.get("properties", {}).keys(),
            schema["additionalProperties"],
        )
        for name in rest:
            fault = [f"{at} has {name}"]
            found += fault if rule is False else faults(value[name], rule, root, f"{at}.{name}")
    return found


def _is(value: Any, name: str) -> bool:
    truth = isinstance(value, bool)
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not truth)
