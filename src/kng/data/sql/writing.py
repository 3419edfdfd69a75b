"""A query as a database is to run it: written anew from its tree, so that nothing else is run."""

from __future__ import annotations

from typing import Protocol, TypeVar

from kng.data.sql.marks import dotted, quoted
from kng.data.sql.scope import Columns, Scope, refuse_twice
from kng.data.sql.tree import (
    Expression,
    Files,
    From,
    Joined,
    Name,
    Nested,
    Select,
    Shown,
    Star,
    Stored,
)

T = TypeVar("T")


class Dialect(Protocol[T]):
    """How a database writes what is its own; T is what it knows of a column's type."""

    def table(self, table: Stored | Files) -> tuple[str, Columns[T]]:
        """Return a table as it stands in FROM, and its columns."""
        ...

    def value(self, value: Expression, scope: Scope[T]) -> tuple[str, T]:
        """Return a value that is never an error, whatever a row holds, and its type."""
        ...

    def condition(self, value: Expression, scope: Scope[T]) -> str:
        """Return what keeps a row where it is true; refuse what would be cast to that."""
        ...

    def joins(self, left: T, right: T) -> None:
        """Refuse columns that cannot be compared without a cast that may fail."""
        ...


def written(select: Select, dialect: Dialect[T]) -> tuple[str, Columns[T]]:
    """Return the query as SQL, and the columns of its result."""
    scope = _from(select.source, dialect)
    columns: list[tuple[str, str, T]] = []
    for column in select.columns:
        columns += _shown(column, scope, dialect)
    names = [name for name, _, _ in columns]
    refuse_twice(names)
    listed = ", ".join(f"{value} AS {quoted(name)}" for name, value, _ in columns)
    text = f"SELECT {listed} FROM {scope.text}"
    if select.where is not None:
        text += f" WHERE {dialect.condition(select.where, scope)}"
    return text, {name: kind for name, _, kind in columns}


def _shown(column: Shown | Star, scope: Scope[T], dialect: Dialect[T]) -> list[tuple[str, str, T]]:
    if isinstance(column, Star):
        return [(path[-1], dotted(path), kind) for path, kind in scope.all(column)]
    if isinstance(column.value, Name):
        path, kind = scope.find(column.value)
        return [(column.name or path[-1], dotted(path), kind)]
    return [(column.name or "", *dialect.value(column.value, scope))]


def _from(source: From, dialect: Dialect[T]) -> Scope[T]:
    if isinstance(source, Joined):
        left, right = _from(source.left, dialect), _from(source.right, dialect)
        both = left.beside(right, f"({left.text} CROSS JOIN {right.text})")
        equal = []
        for pair in source.equal:
            (one, its), (other, others) = (both.find(name) for name in pair)
            dialect.joins(its, others)
            equal.append(f"{dotted(one)} = {dotted(other)}")
        if not equal:
            return both
        return Scope(f"({left.text} JOIN {right.text} ON {' AND '.join(equal)})", both.tables)
    if isinstance(source, Nested):
        text, columns = written(source.select, dialect)
        return Scope(f"({text}) AS {quoted(source.alias)}", ((source.alias, columns),))
    text, columns = dialect.table(source)
    name = source.path[-1] if isinstance(source, Stored) else "files"
    alias = source.alias or name
    return Scope(f"{text} AS {quoted(alias)}", ((alias, columns),))
