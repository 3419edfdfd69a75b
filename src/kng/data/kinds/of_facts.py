"""Declared facts, as in a file of declarations, become the kind of a column."""

from __future__ import annotations

from kng.core.errors import SpecError
from kng.data.declared.column import DeclaredColumn
from kng.data.kinds.boolean import Boolean
from kng.data.kinds.category import Category
from kng.data.kinds.date import Date
from kng.data.kinds.declared import Declared
from kng.data.kinds.number import Number


def kind_of_facts(name: str, facts: DeclaredColumn | Declared) -> Declared:
    """Return the kind that the facts about a column declare; a kind is itself."""
    if not isinstance(facts, DeclaredColumn):
        return facts
    if facts.kind == "category":
        if facts.levels is None:
            raise SpecError(
                f"column {name!r} is declared as a category without levels. List them, as in "
                "levels = ['F', 'M']."
            )
        return Category(facts.levels, facts.reference, facts.other)
    if facts.kind == "boolean":
        no, yes = facts.levels or (None, None)
        return Boolean(yes=yes, no=no)
    if facts.kind == "date":
        return Date(bounds=facts.bounds)
    return Number(facts.bounds, facts.step)
