"""What a declared table states in place of the caller: columns, bounds, steps, relation, ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kng.core.errors import SpecError
from kng.data import Table
from kng.data.declared.column import DeclaredColumn


def filled(table: Table, facts: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a call with what the table declares where they say nothing.

    Parameters
    ----------
    table : Table
    facts : tuple of str
        Which options of the call a declared column can state: "bounds", "granularity".
    given : mapping
        The options that the caller has stated.
    """
    options = {**given, **promised(table, given)}
    if table.columns is None or "bounds" not in facts:
        return options
    bounds = options.get("bounds")
    if bounds is None:
        bounds = {name: bounds_of_column(name, table.columns[name]) for name in table.columns}
    elif not isinstance(bounds, Mapping) and len(table.columns) == 1 and not _is_part(bounds):
        bounds = {next(iter(table.columns)): bounds}
    options["bounds"] = bounds
    if "granularity" in facts and options.get("granularity") is None:
        options["granularity"] = _steps(table.columns, bounds)
    return options


def promised(table: Table, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return relation and ledger as declared; other ones that are given are refused."""
    promise = table.promise
    if promise is None:
        return {}
    relation = given.get("neighbours", promise.relation)
    ledger = given.get("ledger")
    ledger = promise.ledger if ledger is None else ledger
    promise.require(relation or "replace-one", ledger)
    stated = {"neighbours": promise.relation, "ledger": ledger}
    return {name: value for name, value in stated.items() if value is not None}


def bounds_of_column(name: str, column: DeclaredColumn) -> tuple[Any, Any]:
    """Return the declared bounds of a column."""
    if column.bounds is None:
        what = "" if column.kind == "number" else f" as a {column.kind}"
        raise SpecError(
            f"column {name!r} is declared{what} without bounds. Choose other columns, as in "
            "table['age'] or table[['age', 'pay']], or declare its bounds."
        )
    return column.bounds


def fitted_with(table: Table, model: Any, target: Any, features: Any) -> dict[str, Any]:
    """Return the parameters of a model that a declared table states in their place."""
    given = {"neighbours": model.neighbours, "ledger": model.ledger}
    stated = promised(table, given)
    columns = table.columns
    if columns is None or not isinstance(target, str):
        return stated
    if model.bounds_X is None:
        if features is None:
            chosen = [name for name, c in columns.items() if name != target and c.bounds]
        else:
            chosen = [name for name in features if name in columns and columns[name].bounds]
        if chosen:
            stated["bounds_X"] = {name: columns[name].bounds for name in chosen}
    if target in columns and _open(model, "bounds_y") and columns[target].bounds is not None:
        stated["bounds_y"] = columns[target].bounds
    if target in columns and _open(model, "classes") and columns[target].levels is not None:
        stated["classes"] = columns[target].levels
    return stated


def _open(model: Any, name: str) -> bool:
    """Tell whether a model has a parameter that was left out."""
    return name in model.get_params(deep=False) and getattr(model, name) is None


def _steps(columns: Mapping[str, DeclaredColumn], bounds: Any) -> dict[str, Any] | None:
    """Return the declared steps of the columns that have bounds, if all of them have one."""
    if not isinstance(bounds, Mapping):
        return None
    steps = {name: columns[name].step for name in bounds if name in columns}
    known = len(steps) == len(bounds) and all(step is not None for step in steps.values())
    return steps if known else None


def _is_part(bounds: Any) -> bool:
    """Tell a domain from a pair of numbers."""
    return hasattr(type(bounds), "contains")
