"""The text of a query as a tree, by DuckDB's own parser; nothing is run.

What is not listed here is refused: an allow-list, because the data may never choose between an
answer and a refusal, and nobody can list all that may fail on a record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from kng.core.errors import SchemaError
from kng.data.sql.tree import (
    Case,
    Cast,
    Expression,
    Files,
    From,
    Joined,
    Literal,
    Name,
    Nested,
    Operation,
    Select,
    Shown,
    Star,
    Stored,
)

_PARSE = """SELECT json_serialize_sql(
    ?::VARCHAR, skip_default := true, skip_empty := true, skip_null := true)"""
_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "IS DISTINCT FROM",
    "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}
_OPERATORS = {
    "OPERATOR_NOT": "NOT",
    "OPERATOR_IS_NULL": "IS NULL",
    "OPERATOR_IS_NOT_NULL": "IS NOT NULL",
    "OPERATOR_COALESCE": "COALESCE",
    "OPERATOR_TRY": "TRY",
    "COMPARE_IN": "IN",
}
ARITHMETIC = ("+", "-", "*", "/", "%")
_LIKE = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"}
FUNCTIONS = (
    *("abs", "ceil", "exp", "floor", "greatest", "least", "ln", "log10", "nullif", "power"),
    *("round", "sign", "sqrt", "date_diff", "date_part", "day", "month", "year"),
    *("length", "lower", "trim", "upper"),
)
TYPES = (
    *("BIGINT", "BOOLEAN", "DATE", "DOUBLE", "DOUBLE PRECISION", "FLOAT8", "INTEGER", "INT"),
    *("TIMESTAMP", "VARCHAR", "TEXT"),
)
_LITERALS = {
    "INTEGER": "number",
    "NUMERIC": "number",
    "STRING": "string",
    "BOOLEAN": "boolean",
    "NULL_LITERAL": "null",
}
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_PLACES = ("query_location", "query_location_length")
_PARENTS = ("catalog_name", "schema_name")
_PARQUET = ("read_parquet", "parquet_scan")
_TEXT = (".csv", ".tsv", ".txt", ".json", ".ndjson", ".jsonl", ".gz", ".zst")
Node = Mapping[str, Any]


def select_of(query: str) -> Select:
    """Read a query, or refuse it."""
    if not isinstance(query, str) or not query.strip():
        raise SchemaError("query must be a text such as 'SELECT age FROM people'.")
    try:
        ((text,),) = _parser().cursor().execute(_PARSE, [query]).fetchall()
    except duckdb.Error:
        raise SchemaError("the query cannot be parsed. Check its syntax.") from None
    found = json.loads(text)
    if found["error"]:
        what = str(found.get("error_message", "syntax error")).rstrip(".!")
        where = f" (position {found['position']})" if "position" in found else ""
        raise SchemaError(f"the query cannot be parsed: {what}{where}. Check its syntax.")
    statements = found["statements"]
    if len(statements) != 1:
        raise SchemaError(f"the query holds {len(statements)} statements; give one SELECT.")
    (statement,) = statements
    if set(statement) != {"node"}:
        raise _refused("parameters")
    return _select(statement["node"])


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    """Return a connection without tables, opened once."""
    return duckdb.connect(config={"autoload_known_extensions": False})


def _refused(what: str) -> SchemaError:
    return SchemaError(
        f"the query has {what}. It may choose columns, compute from one row at a time, filter by "
        "WHERE and join by ON a.id = b.id. Store the result of any other query as a table first."
    )


def _select(node: Node) -> Select:
    if node["type"] != "SELECT_NODE":
        raise _refused("a set operation, such as UNION")
    for key, what in (
        ("modifiers", "DISTINCT, ORDER BY, LIMIT or OFFSET"),
        ("group_expressions", "GROUP BY"),
        ("group_sets", "GROUP BY"),
        ("having", "HAVING"),
        ("qualify", "QUALIFY"),
        ("sample", "a sample"),
    ):
        if node.get(key):
            raise _refused(what)
    if node.get("cte_map"):
        raise _refused("a WITH clause; write it as a subquery in FROM")
    if node["aggregate_handling"] != "STANDARD_HANDLING":
        raise _refused("GROUP BY")
    known = {"type", "cte_map", "select_list", "from_table", "where_clause", "aggregate_handling"}
    _only(node, known | {"modifiers"})
    where = node.get("where_clause")
    return Select(
        tuple(_shown(column) for column in node["select_list"]),
        _from(node["from_table"]),
        None if where is None else _value(where),
    )


def _shown(node: Node) -> Shown | Star:
    if node["class"] == "STAR":
        _only(node, {"class", "type", "relation_name"})
        return Star(node.get("relation_name"))
    value = _value(node)
    name = node.get("alias")
    if name is None and not isinstance(value, Name):
        raise SchemaError(
            "the query computes a column without a name. Give it one, as in "
            "SELECT pay + bonus AS income."
        )
    return Shown(value, name)


def _from(node: Node) -> From:
    kind, alias = node["type"], node.get("alias")
    if node.get("sample"):
        raise _refused("a sample")
    if kind == "BASE_TABLE":
        _only(
            node, {"type", "alias", "schema_name", "catalog_name", "table_name", "qualified_name"}
        )
        return _named(tuple(node["qualified_name"]["path"]), alias)
    if kind == "TABLE_FUNCTION":
        _only(node, {"type", "alias", "function"})
        return _function(node["function"], alias)
    if kind == "SUBQUERY":
        _only(node, {"type", "alias", "subquery"})
        _only(node["subquery"], {"node"})
        return Nested(_select(node["subquery"]["node"]), alias or "subquery")
    if kind == "JOIN":
        return _join(node)
    raise _refused("no table" if kind == "EMPTY" else "something else than a table in FROM")


def _named(path: tuple[str, ...], alias: str | None) -> Stored | Files:
    name = path[-1]
    suffix = Path(name).suffix.lower()
    if len(path) == 1 and suffix in (".parquet", ".pq"):
        return Files(path, alias)
    if len(path) == 1 and suffix in _TEXT:
        raise _cells(name)
    return Stored(path, alias)


def _cells(what: str) -> SchemaError:
    return SchemaError(
        f"the query reads {what}, and DuckDB would guess types from cells. Give the file itself as "
        "the data, or convert it to Parquet."
    )


def _function(node: Node, alias: str | None) -> Files:
    name = str(node["function_name"]).lower()
    if name not in _PARQUET:
        if name.startswith(("read_", "sniff_", "parquet_")):
            raise _cells(f"files by {name}")
        raise _refused(f"the table function {name}")
    arguments = node.get("arguments", [])
    value = arguments[0]["expression"] if len(arguments) == 1 else {}
    if value.get("function_name") == "list_value":
        items = [item["expression"] for item in value.get("arguments", [])]
    else:
        items = [value]
    texts = [item.get("literal", {}) for item in items]
    if not texts or any(text.get("kind") != "STRING" for text in texts):
        raise SchemaError(f"{name} takes a path, a pattern or a list of them, and nothing else.")
    return Files(tuple(text["text"] for text in texts), alias)


def _join(node: Node) -> Joined:
    if node["join_type"] != "INNER" or node.get("ref_type") not in ("REGULAR", "CROSS"):
        raise _refused("a join that is not an inner one")
    if node.get("using_columns"):
        raise _refused("USING; write ON a.id = b.id")
    _only(
        node,
        {"type", "alias", "left", "right", "condition", "join_type", "ref_type", "is_implicit"},
    )
    condition = node.get("condition")
    equal = () if condition is None else _equal(condition)
    return Joined(_from(node["left"]), _from(node["right"]), equal)


def _equal(node: Node) -> tuple[tuple[Name, Name], ...]:
    if node["type"] == "CONJUNCTION_AND":
        return tuple(pair for child in node["children"] for pair in _equal(child))
    if node["type"] == "COMPARE_EQUAL":
        left, right = _value(node["left"]), _value(node["right"])
        if isinstance(left, Name) and isinstance(right, Name):
            return ((left, right),)
    raise _refused("a join on something else than equal columns; filter by WHERE")


def _value(node: Node) -> Expression:
    kind, found = node["class"], node["type"]
    _only(node, _KEYS.get(kind, set()) | {"class", "type", "alias"})
    if kind == "COLUMN_REF":
        return Name(tuple(node["column_names"]))
    if kind == "CONSTANT":
        return _literal(node["literal"])
    if kind == "COMPARISON" and found in _COMPARISONS:
        return Operation(_COMPARISONS[found], (_value(node["left"]), _value(node["right"])))
    if kind == "CONJUNCTION":
        name = "AND" if found == "CONJUNCTION_AND" else "OR"
        return Operation(name, _values(node["children"]))
    if kind == "BETWEEN":
        return Operation("BETWEEN", _values([node["input"], node["lower"], node["upper"]]))
    if kind == "OPERATOR" and found in _OPERATORS:
        return Operation(_OPERATORS[found], _values(node["children"]))
    if kind == "CASE":
        checks = [(_value(c["when_expr"]), _value(c["then_expr"])) for c in node["case_checks"]]
        otherwise = node.get("else_expr")
        return Case(tuple(checks), Literal("null", "") if otherwise is None else _value(otherwise))
    if kind == "CAST":
        return _cast(node)
    if kind == "FUNCTION":
        return _call(node)
    if kind == "SUBQUERY":
        raise _refused("a subquery inside an expression")
    raise _refused("a window" if kind == "WINDOW" else f"an expression of kind {kind.lower()}")


_KEYS = {
    "COLUMN_REF": {"column_names"},
    "CONSTANT": {"literal"},
    "COMPARISON": {"left", "right"},
    "CONJUNCTION": {"children"},
    "BETWEEN": {"input", "lower", "upper"},
    "OPERATOR": {"children"},
    "CASE": {"case_checks", "else_expr"},
    "CAST": {"child", "type_expr", "try_cast"},
    "FUNCTION": {"function_name", "order_bys", "is_operator", "arguments", "qualified_name"},
    "SUBQUERY": {"subquery_type", "subquery", "comparison_type", "child"},
    "WINDOW": {
        *("function_name", "start", "end", "filter_expr", "arguments", "qualified_name"),
        *("partitions", "orders", "exclude_clause", "distinct", "ignore_nulls"),
    },
}


def _values(nodes: Sequence[Node]) -> tuple[Expression, ...]:
    return tuple(_value(node) for node in nodes)


def _literal(node: Node) -> Literal:
    kind, text = node["kind"], str(node.get("text", ""))
    known = _LITERALS.get(kind)
    if known is None or "\0" in text or (known == "number" and not _NUMBER.fullmatch(text)):
        raise _refused(f"a constant of kind {str(kind).lower()}")
    return Literal(known, text)


def _cast(node: Node) -> Cast:
    kind = node["type_expr"]
    name = str(kind.get("type_name", "")).upper()
    if name not in TYPES or kind.get("children"):
        raise SchemaError(f"the query casts to {name.lower()}; it may cast to {', '.join(TYPES)}.")
    return Cast(_value(node["child"]), name)


def _call(node: Node) -> Operation:
    name = str(node["function_name"]).lower()
    path = node["qualified_name"]["path"]
    if len(path) > 1 or node["order_bys"] != {"type": "ORDER_MODIFIER"}:
        raise _refused(f"the function {'.'.join(path)} with more than its arguments")
    name = _LIKE.get(name, name)
    if name not in (*ARITHMETIC, *_LIKE.values(), *FUNCTIONS):
        raise SchemaError(
            f"the query has the function {name}. It may use {' '.join(ARITHMETIC)} LIKE and "
            f"{', '.join(FUNCTIONS)}, of one row at a time."
        )
    return Operation(name, _values([item["expression"] for item in node.get("arguments", [])]))


def _only(node: Node, known: set[str]) -> None:
    """Refuse what this reader does not know, such as a clause of a later version."""
    more = set(node) - known - set(_PLACES)
    if more:
        raise _refused(f"something that kng does not know ({min(more)})")
