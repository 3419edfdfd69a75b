"""The names of columns: the first line of a file, and never more than that."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from kng.core.errors import SchemaError
from kng.core.naming import argument
from kng.data.text.csv_format import SEPARATORS, CsvFormat
from kng.data.text.notation import Notation
from kng.data.text.text_lines import LONGEST_HEADER


def names_of(line: bytes, separator: str) -> tuple[str, ...]:
    """Return the names in a first line, none of them if it is no header.

    A line that holds a number, or a quote that is not closed, is none: it may be a record.
    """
    text = line.decode("utf-8", "replace").removeprefix("\ufeff").removesuffix("\r")
    if "\r" in text or len(line) > LONGEST_HEADER:
        return ()
    mark = re.escape(separator)
    cell = re.compile(rf'(?:"((?:[^"]|"")*+)"|((?!")[^{mark}]*+))({mark}|\Z)')
    names, at, more = [], 0, True
    while more:
        found = cell.match(text, at)
        if found is None:
            return ()
        quoted, plain, mark = found.groups()
        names.append((plain if quoted is None else quoted.replace('""', '"')).strip())
        at, more = found.end(), bool(mark)
    return tuple(names) if any(names) and not any(map(_is_number, names)) else ()


def _is_number(name: str) -> bool:
    """Whether a name is a number in a common notation, declared or not: it may be a record's."""
    return any(np.isfinite(notation.read(name.encode())) for notation in _NOTATIONS)


_RETURNS = argument("ending", "\r")
_NOTATIONS = tuple(
    Notation(decimal, thousands, ("$", "€", "£", "%"))
    for decimal, thousands in ((".", ","), (",", "."), (",", " "), (".", "'"))
)


def header_names(line: bytes, name: str, form: CsvFormat) -> tuple[str, ...]:
    """Return the names in the first line of the file of this name; the line is never repeated."""
    names = names_of(line, form.separator)
    if not names:
        is_not = "does not name columns" if line.strip() else "is empty"
        how = SEPARATORS.get(form.separator, f"{form.separator!r}")
        advice = separator_advice(line, (), names, form.separator)
        if form.ending != "\r" and b"\r" in line.removesuffix(b"\r"):
            advice = f" If its lines end in carriage returns, say {_RETURNS}."
        raise SchemaError(
            f"the first line of {name} {is_not}. Put the column names there, "
            f"separated by {how}.{advice}"
        )
    return names


def separator_advice(
    line: bytes, wanted: Sequence[str], names: Sequence[str], separator: str
) -> str:
    """Return a sentence about separators if the line looks like one with another of them."""
    for other, word in SEPARATORS.items():
        found = names_of(line, other) if other != separator else ()
        if (wanted and {*wanted} <= {*found}) or len(names) < 2 <= len(found):
            return f" If its columns are separated by {word}, say {argument('separator', other)}."
    return ""
