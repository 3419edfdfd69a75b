"""Tables and queries of a PostgreSQL server, streamed as Arrow batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kng.core.errors import SchemaError, SpecError
from kng.core.naming import argument, keyword
from kng.core.privacy import Assumption
from kng.data.arrow import block_of
from kng.data.arrow_cells import prepare
from kng.data.engine import Asked, Blocks, Column, LocalEngine
from kng.data.postgres_session import Session
from kng.data.sql.marks import dotted, quoted, string
from kng.data.sql.postgres_dialect import postgres_value
from kng.data.sql.postgres_types import Family, PostgresType, together, type_of
from kng.data.sql.reading import select_of
from kng.data.sql.scope import Columns, Scope
from kng.data.sql.stated_rows import rows_per_record
from kng.data.sql.tree import Expression, Files, Select, Star, Stored
from kng.data.sql.writing import written
from kng.data.table import Table

# Ordinary tables, partitioned ones, and queries whose result is stored.
_READ = ("r", "p", "m")
_TABLE = """
SELECT n.nspname::text, c.relname::text, c.relkind::text, row_security_active(c.oid), EXISTS (
  WITH RECURSIVE tree(id) AS (
    SELECT c.oid UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON inhparent = id)
  SELECT FROM tree JOIN pg_catalog.pg_class f ON f.oid = id WHERE f.relkind = 'f')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass({name})
"""
# Domains are what they are made of; text that is not compared byte by byte is left alone.
_COLUMNS = """
WITH RECURSIVE base(attnum, id, modifier) AS (
  SELECT attnum, atttypid, atttypmod FROM pg_catalog.pg_attribute
  WHERE attrelid = to_regclass({name}) AND attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT attnum, typbasetype, typtypmod FROM base JOIN pg_catalog.pg_type d ON d.oid = id
  WHERE d.typtype = 'd')
SELECT a.attname::text,
  CASE WHEN coalesce(c.collisdeterministic, true) AND t.typnamespace = 'pg_catalog'::regnamespace
    THEN t.typname::text ELSE '' END,
  b.modifier, format_type(a.atttypid, a.atttypmod), coalesce(c.oid::text, ''), a.attnotnull,
  a.attgenerated::text
FROM pg_catalog.pg_attribute a JOIN base b ON b.attnum = a.attnum
JOIN pg_catalog.pg_type t ON t.oid = b.id AND t.typtype <> 'd'
LEFT JOIN pg_catalog.pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = to_regclass({name}) ORDER BY a.attnum
"""
_NAMES = """
SELECT c.relname::text FROM pg_catalog.pg_class c
WHERE c.relkind IN ('r', 'p', 'm') AND pg_catalog.pg_table_is_visible(c.oid)
  AND c.relnamespace <> 'pg_catalog'::regnamespace ORDER BY 1 LIMIT 20
"""
_DOUBLE = "CAST({} AS double precision)"
# How a column becomes a number, correctly rounded once. Decimals that a float64 may not hold are
# read as text, because casting them could fail.
_NUMBERS = {
    Family.DECIMAL: _DOUBLE,
    Family.NUMERIC: "CAST({} AS text)",
    Family.MONEY: _DOUBLE.format("CAST({} AS numeric)"),
    # Infinite dates are infinite numbers, which the types of a stream do not have.
    Family.DATE: _DOUBLE.format("EXTRACT(EPOCH FROM {})"),
}
# Numbers that come as text; labels may stand in a column of it.
_READ_AS_TEXT = (Family.NUMERIC, Family.TEXT, Family.CONSTANT)


class PostgresQuery:
    """A query in PostgreSQL; tables are looked up in the catalogue."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def table(self, table: Stored | Files) -> tuple[str, Columns[PostgresType]]:
        """Return a table with its schema, and the columns that it declares."""
        if isinstance(table, Files):
            raise SchemaError("the query reads files, and its database is PostgreSQL.")
        # Unquoted names are of small letters, and the tree does not tell which were quoted.
        small = tuple(part.lower() for part in table.path)
        found = [path for path in dict.fromkeys((table.path, small)) if self._found(path)]
        if len(found) > 1:
            raise SchemaError(
                f"the database has tables {dotted(found[0])} and {dotted(found[1])}; give the one "
                f"that you mean by {keyword('table')}."
            )
        return self.stored(found[0] if found else table.path)

    def stored(self, path: Sequence[str]) -> tuple[str, Columns[PostgresType]]:
        """Return a table by its exact name."""
        shown = ".".join(path)
        found = self._found(path)
        if not found:
            known = ", ".join(repr(name) for (name,) in self._session.rows(_NAMES))
            listed = f" It has {known}." if known else ""
            raise SchemaError(f"the database has no table {shown!r}.{listed}")
        ((schema, name, kind, hidden, foreign),) = found
        if kind == "v":
            raise SchemaError(
                f"{shown!r} is a view, and what it computes could fail on a record. Give its query "
                "instead, or a table."
            )
        if kind not in _READ or foreign:
            raise SchemaError(f"{shown!r} is not stored in this database. Copy it into a table.")
        if hidden:
            raise SchemaError(
                f"a row security policy hides rows of {shown!r} from this user. Connect as a user "
                "who sees all of them."
            )
        columns = {}
        for column, base, modifier, declared, collation, filled, computed in self._session.rows(
            _COLUMNS.format(name=string(dotted(path)))
        ):
            if computed == "v":
                raise SchemaError(
                    f"column {column!r} of {shown!r} is computed when it is read, and could fail "
                    "on a record. Copy the table first."
                )
            columns[column] = type_of(base, modifier, declared, collation, filled=filled)
        return dotted((schema, name)), columns

    def value(self, value: Expression, scope: Scope[PostgresType]) -> tuple[str, PostgresType]:
        """Return a value that is never an error."""
        return postgres_value(value, scope)

    def condition(self, value: Expression, scope: Scope[PostgresType]) -> str:
        """Return a condition."""
        text, kind = self.value(value, scope)
        if kind.family is not Family.BOOLEAN:
            raise SchemaError(
                f"WHERE in the query has {kind.family.value}, not a condition. Compare it, as in "
                "WHERE age >= 40."
            )
        return text

    def joins(self, left: PostgresType, right: PostgresType) -> None:
        """Refuse to join columns whose comparison could fail."""
        together(left, right)

    def _found(self, path: Sequence[str]) -> list[tuple[Any, ...]]:
        if len(path) > 2 or any("\0" in part for part in path):
            return []
        return self._session.rows(_TABLE.format(name=string(dotted(path))))


class PostgresEngine(LocalEngine):
    """A table or a query, read in one snapshot; every pass asks the server again."""

    def __init__(
        self,
        session: Session,
        query: tuple[str, Columns[PostgresType]],
        called: str,
        room: int,
        rows_per_record: int | None,
    ) -> None:
        self.called, self.room, self.rows_per_record = called, room, rows_per_record
        self.assumptions = () if rows_per_record is None else (Assumption.ROWS_PER_RECORD,)
        self._session, (self._query, columns) = session, query
        self._columns = tuple(columns.items())
        # From here on names of functions and operators are the server's own.
        session.rows("SET LOCAL search_path = pg_catalog")
        ((self._encoding,),) = session.rows("SHOW server_encoding")

    def columns(self) -> tuple[Column, ...]:
        """Return names, kinds and whether a cell can be missing, from the catalogue."""
        return tuple(
            Column(name, kind.kind, kind.optional, kind.declared) for name, kind in self._columns
        )

    def prepare(self, asked: Asked) -> None:
        """Let the server plan the query, which runs nothing, and load what reads these columns."""
        if asked.texts and self._encoding != "UTF8":
            raise SchemaError(
                f"the database's encoding is {self._encoding}, and text is read from UTF8 only. "
                "Give labels as numbers."
            )
        if any(self._columns[at][1].family in _READ_AS_TEXT for at in asked.numbers):
            prepare(pa.string())
        self._session.rows(f"EXPLAIN {self._selected(asked)}")
        # No row, but what a stream of them needs is loaded.
        for _ in self._session.batches("SELECT CAST(NULL AS double precision) AS c WHERE false"):
            pass

    def count(self) -> int:
        """Return the number of records; no column is read."""
        return self._session.count(f"SELECT count(*) FROM ({self._query}) AS q")

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records in whatever order the server sends them."""
        first, last = len(asked.numbers), len(asked.numbers) + len(asked.texts)
        placed = Asked(tuple(range(first)), tuple(range(first, last)))
        for batch in self._session.batches(self._selected(asked)):
            yield block_of(batch, placed)

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _selected(self, asked: Asked) -> str:
        wanted = [self._number(at) for at in asked.numbers]
        wanted += [self._text(at) for at in asked.texts]
        listed = ", ".join(f"{value} AS c{k}" for k, value in enumerate(wanted))
        return f"SELECT {listed} FROM ({self._query}) AS q"

    def _number(self, at: int) -> str:
        name, kind = self._columns[at]
        return _NUMBERS.get(kind.family, "{}").format(f"q.{quoted(name)}")

    def _text(self, at: int) -> str:
        """Return text as its bytes: turning them into another encoding could fail."""
        name, kind = self._columns[at]
        if kind.family not in (Family.TEXT, Family.CONSTANT):
            return "CAST(NULL AS bytea)"
        return f"convert_to(CAST(q.{quoted(name)} AS text), 'UTF8')"


def open_table(table: Table) -> PostgresEngine:
    """Open a table or a query of a server; reads its catalogue."""
    table.refuse("PostgreSQL", takes=("table", "query", "rows_per_record"))
    if (table.table is None) == (table.query is None):
        raise SpecError(
            "an address of PostgreSQL needs the name of a table, or else a query: "
            f"{argument('table', 'people')}, or {argument('query', 'SELECT age FROM people')}."
        )
    if table.query is not None:
        select, called = select_of(table.query), "the query"
    else:
        select, called = Select((Star(None),), Stored(())), f"table {table.table!r}"
    stated = rows_per_record(select, table.rows_per_record)
    session = Session(str(table.source))
    try:
        query = PostgresQuery(session)
        if table.table is None:
            text = written(select, query)
        else:
            place, columns = query.stored(_path(str(table.table)))
            text = f"SELECT * FROM {place}", columns
        return PostgresEngine(session, text, called, table.resources.kept, stated)
    except BaseException:
        session.close()
        raise


def _path(name: str) -> Sequence[str]:
    """Split a schema from the name of its table."""
    schema, dot, rest = name.partition(".")
    return (schema, rest) if dot else (name,)
