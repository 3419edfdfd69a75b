"""Queries in DuckDB: over Parquet files, and over tables of its own databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from kng.core.errors import SchemaError, SpecError
from kng.core.naming import argument
from kng.data.duck import DuckEngine, connected, footers, scan
from kng.data.files import files_of
from kng.data.resources import Resources
from kng.data.sql.duck_dialect import bound, duck_value
from kng.data.sql.marks import dotted, string
from kng.data.sql.reading import select_of
from kng.data.sql.scope import Columns, Scope
from kng.data.sql.stated_rows import rows_per_record
from kng.data.sql.tree import Expression, Files, Select, Star, Stored
from kng.data.sql.writing import written
from kng.data.stamp import Stamp
from kng.data.table import Table

SUFFIXES = (".duckdb", ".db", ".ddb")
# What two expressions share would be computed once, outside of TRY, and fail there. Statistics of a
# row group do not know of NaN and of broken text, so rows that they leave out, and conditions that
# they decide, would make what becomes of one record depend on others.
_DISABLED = (
    *("common_subexpressions", "statistics_propagation", "row_group_pruner"),
    *("filter_pushdown", "join_filter_pushdown"),
)
_PARQUET = (".parquet", ".pq")
_DATABASE = "source"  # what a database is called inside


class DuckQuery:
    """A query in DuckDB: its tables are files, or of one database."""

    def __init__(self, resources: Resources, database: Path | None) -> None:
        self.connection = connected(resources)
        self.connection.execute(f"SET GLOBAL disabled_optimizers = '{','.join(_DISABLED)}'")
        self.files: list[Path] = []
        self._database = database
        if database is not None:
            self.files.append(database)
            self._attach(database)

    def table(self, table: Stored | Files) -> tuple[str, Columns[Any]]:
        """Return a table as it stands in FROM, and the columns that it declares."""
        text = self._parquet(table) if isinstance(table, Files) else self._stored(table)
        found = bound(self.connection, f"SELECT * FROM {text}")
        return text, dict(zip(found.columns, found.types, strict=True))

    def value(self, value: Expression, scope: Scope[Any]) -> tuple[str, Any]:
        """Return a value that is never an error."""
        return duck_value(value, scope, self.connection)

    def condition(self, value: Expression, scope: Scope[Any]) -> str:
        """Return a condition; anything else would be cast to one outside of TRY."""
        text, kind = self.value(value, scope)
        if kind.id != "boolean":
            raise SchemaError(
                f"WHERE in the query has a value of type {kind}, not a condition. Compare it, as "
                "in WHERE age >= 40."
            )
        return text

    def joins(self, left: Any, right: Any) -> None:
        """Refuse to join columns of two types, one of which would be cast."""
        if left != right:
            raise SchemaError(
                f"the query joins columns of types {left} and {right}. Join columns of one type."
            )

    def _attach(self, path: Path) -> None:
        Stamp.of([path])
        try:
            self.connection.execute(f"ATTACH {string(str(path))} AS {_DATABASE} (READ_ONLY)")
            # All passes see what is there now.
            self.connection.execute("BEGIN TRANSACTION READ ONLY")
        except duckdb.Error:
            raise SchemaError(
                f"cannot open {path.name} as a DuckDB database. Check that it is one, and that no "
                "other program is writing to it."
            ) from None

    def _parquet(self, table: Files) -> str:
        paths = [path for name in table.patterns for path in files_of(name, _PARQUET)]
        Stamp.of(paths)
        footers(self.connection, paths, ", ".join(Path(name).name for name in table.patterns))
        self.files.extend(paths)
        return scan(paths)

    def _stored(self, table: Stored) -> str:
        if self._database is None:
            raise SchemaError(
                f"the query reads a table {table.path[-1]!r}, and no database is given. Name "
                "Parquet files, as in FROM 'claims/*.parquet', or give the database as the data."
            )
        *schemas, name = table.path
        found = self._rows(
            "SELECT schema_name FROM duckdb_tables() WHERE database_name = ? AND table_name = ?",
            name,
        )
        schema = schemas[-1] if schemas else "main"
        if (schema,) not in found or len(schemas) > 1:
            raise SchemaError(
                f"{self._database.name} has no table {'.'.join(table.path)!r}{self._known(name)}."
            )
        computed = self._rows(
            "SELECT column_name FROM duckdb_columns() WHERE database_name = ? AND table_name = ? "
            "AND schema_name = ? AND is_generated",
            name,
            schema,
        )
        if computed:
            raise SchemaError(
                f"column {computed[0][0]!r} of {name} is computed when it is read, and could fail "
                "on a record. Copy the table first."
            )
        return dotted((_DATABASE, schema, name))

    def _known(self, name: str) -> str:
        """Return what is there instead: views are not read, because they compute."""
        if self._rows(
            "SELECT 1 FROM duckdb_views() WHERE database_name = ? AND view_name = ?", name
        ):
            return "; it is a view. Give its query instead"
        tables = self._rows("SELECT table_name FROM duckdb_tables() WHERE database_name = ?")
        names = sorted(repr(row[0]) for row in tables)[:20]
        return f"; it has {', '.join(names)}" if names else ""

    def _rows(self, query: str, *values: str) -> list[tuple[str, ...]]:
        return self.connection.execute(query, [_DATABASE, *values]).fetchall()


def _engine(select: Select, place: DuckQuery, table: Table, called: str) -> DuckEngine:
    """Bind a query, which runs nothing."""
    stated = rows_per_record(select, table.rows_per_record)
    text, _ = written(select, place)
    relation = bound(place.connection, text)
    return DuckEngine(
        relation,
        called,
        table.resources.kept,
        stamp=Stamp.of(dict.fromkeys(place.files)),
        rows_per_record=stated,
        connection=place.connection,
    )


def open_table(table: Table) -> DuckEngine:
    """Open a query over files, or a table or a query of a database."""
    database = None if table.source is None else Path(table.source)
    kind = "queries" if database is None else "DuckDB databases"
    table.refuse(kind, takes=("table", "query", "rows_per_record"))
    if table.table is not None and table.query is not None:
        raise SpecError(
            f"{argument('table')} and {argument('query')} are both given; give one of them."
        )
    if table.table is None and table.query is None:
        raise SpecError(
            f"{'the database' if database is None else database.name} holds tables; say which one "
            f"is read by {argument('table', 'name')}, or give a query."
        )
    place = DuckQuery(table.resources, database)
    if table.query is not None:
        return _engine(select_of(table.query), place, table, "the query")
    if database is None:
        raise SpecError(
            f"{argument('table')} names a table of a database; give the database as the data."
        )
    stored = Stored(tuple(str(table.table).split(".")))
    called = f"table {table.table!r} of {database.name}"
    return _engine(Select((Star(None),), stored), place, table, called)
