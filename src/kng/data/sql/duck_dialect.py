"""Values in DuckDB: what fails on a row is missing there, and a condition that fails drops it."""

from __future__ import annotations

from typing import Any

import duckdb

from kng.core.errors import SchemaError
from kng.data.sql.marks import constant, dotted, operation
from kng.data.sql.scope import Scope
from kng.data.sql.tree import Case, Cast, Expression, Literal, Name


def duck_value(
    value: Expression, scope: Scope[Any], connection: duckdb.DuckDBPyConnection
) -> tuple[str, Any]:
    """Return a value inside TRY, and its type, for which nothing is run."""
    text = f"TRY({_value(value, scope)})"
    return text, bound(connection, f"SELECT {text} FROM {scope.text}").types[0]


def bound(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.DuckDBPyRelation:
    """Bind a query, which looks at names and types only."""
    try:
        return connection.sql(query)
    except duckdb.Error as error:
        what = str(error).splitlines()[0].split("Error: ", 1)[-1].rstrip(".!")
        raise SchemaError(f"DuckDB refuses the query: {what}. Check names and types.") from None


def _value(value: Expression, scope: Scope[Any]) -> str:
    if isinstance(value, Name):
        return dotted(scope.find(value)[0])
    if isinstance(value, Literal):
        return constant(value)
    if isinstance(value, Cast):
        return f"TRY_CAST({_value(value.child, scope)} AS {value.kind})"
    if isinstance(value, Case):
        checks = [
            f"WHEN {_value(when, scope)} THEN {_value(then, scope)}" for when, then in value.checks
        ]
        return f"CASE {' '.join(checks)} ELSE {_value(value.otherwise, scope)} END"
    return operation(value.name, [_value(argument, scope) for argument in value.arguments])
