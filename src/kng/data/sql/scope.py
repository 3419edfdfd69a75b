"""What the names in a query stand for: columns that its tables declare, and nothing else.

Databases know more, such as the number of a row, which depends on other records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kng.core.errors import SchemaError
from kng.data.sql.tree import Name, Star

T = TypeVar("T")
Columns = Mapping[str, T]


@dataclass(frozen=True, slots=True)
class Scope(Generic[T]):
    """Tables by their names in the query, with their columns; ``text`` is the FROM clause."""

    text: str
    tables: tuple[tuple[str, Columns[T]], ...]

    def find(self, name: Name) -> tuple[tuple[str, str], T]:
        """Return the table and the column that a name stands for, and its type.

        Databases differ in whether capitals matter, so they do not, unless two names are alike.
        """
        *table, column = name.path
        found = [
            ((alias, known), kind)
            for alias, columns in self.tables
            for known, kind in columns.items()
            if _alike(known, column) and (not table or _alike(alias, table[-1]))
        ]
        if len(found) == 1 and len(table) < 2:
            return found[0]
        shown = ".".join(name.path)
        if found:
            raise SchemaError(
                f"{shown!r} in the query can be more than one column. Write table.column."
            )
        raise SchemaError(f"the query has no column {shown!r}; its tables have {self._known()}.")

    def all(self, star: Star) -> list[tuple[tuple[str, str], T]]:
        """Return the columns that a star stands for."""
        chosen = [pair for pair in self.tables if star.table is None or _alike(pair[0], star.table)]
        if not chosen:
            raise SchemaError(f"the query has no table {star.table!r}.")
        return [
            ((alias, column), kind) for alias, columns in chosen for column, kind in columns.items()
        ]

    def beside(self, other: Scope[T], text: str) -> Scope[T]:
        """Return both together."""
        names = [alias.lower() for alias, _ in (*self.tables, *other.tables)]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise SchemaError(
                f"two tables of the query are named {twice[0]!r}. Give one of them a name of its "
                "own, as in FROM people AS p."
            )
        return Scope(text, (*self.tables, *other.tables))

    def _known(self) -> str:
        names = [repr(column) for _, columns in self.tables for column in columns]
        return ", ".join([*names[:20], "..."] if len(names) > 20 else names)


def _alike(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def refuse_twice(names: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    lower = [name.lower() for name in names]
    twice = [name for name in names if lower.count(name.lower()) > 1]
    if twice:
        raise SchemaError(f"the query has two columns {twice[0]!r}. Rename one of them by AS.")
