"""A query that looks at one row of each of its tables at a time.

Nothing else can be written down here: no aggregate, window, order, limit or set operation has a
node. So what a record adds to the result does not depend on other records, but for those it is
joined with.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Name:
    """A column, perhaps with its table."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant as it is written; ``kind`` is number, string, boolean or null."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator or a function of values, by its name in capitals or small letters."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Conditions with values, and a value for all others."""

    checks: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Cast:
    """A value as another type, named in capitals."""

    child: Expression
    kind: str


Expression = Name | Literal | Operation | Case | Cast


@dataclass(frozen=True, slots=True)
class Star:
    """All columns, perhaps of one table."""

    table: str | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A column of the result; without a name it has that of the column that it is."""

    value: Expression
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """A table of a database."""

    path: tuple[str, ...]
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """Parquet files, by paths and patterns."""

    patterns: tuple[str, ...]
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """Pairs of rows, all of them or those whose columns are equal."""

    left: From
    right: From
    equal: tuple[tuple[Name, Name], ...] = ()


@dataclass(frozen=True, slots=True)
class Nested:
    """The rows of another query."""

    select: Select
    alias: str


From = Stored | Files | Joined | Nested


@dataclass(frozen=True, slots=True)
class Select:
    """Columns made of rows, and which rows are kept."""

    columns: tuple[Shown | Star, ...]
    source: From
    where: Expression | None = None

    @property
    def keeps_rows(self) -> bool:
        """Whether every record is one row of the result, whatever it holds."""
        if self.where is not None or isinstance(self.source, Joined):
            return False
        return not isinstance(self.source, Nested) or self.source.select.keeps_rows
