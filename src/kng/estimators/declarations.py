"""What a declared table states in place of the caller: columns, bounds, steps, relation, ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kng.core.dates import shown_day
from kng.core.errors import SpecError
from kng.core.naming import argument, in_python, outside_python
from kng.data import Table
from kng.data.kinds import Boolean, Category, Date, Declared


def filled(table: Table, facts: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a call with what the table declares where they say nothing.

    Parameters
    ----------
    table : Table
    facts : tuple of str
        Which options of the call a declared column can state: "bounds", "granularity", "levels".
    given : mapping
        The options that the caller has stated.
    """
    options = {**given, **promised(table, given)}
    if table.columns is None:
        return options
    if isinstance(options.get("by"), str | list):
        options["by"] = _groups(table.columns, options["by"])
    if "levels" in facts and options.get("levels") is None and options.get("edges") is None:
        options |= _levels(table.asked)
    if "levels" in facts and len(table.asked) == 1:
        options |= _of_column(next(iter(table.asked)), options)
    if "bounds" not in facts:
        return options
    bounds, asked = options.get("bounds"), table.asked
    if bounds is None:
        bounds = {name: bounds_of_column(name, column) for name, column in asked.items()}
    elif not isinstance(bounds, Mapping) and len(asked) == 1 and not _is_part(bounds):
        bounds = {next(iter(asked)): bounds}
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


_CHOICE = in_python(", as in table['age'] or table[['age', 'pay']]") + outside_python(
    f", as in {argument('column', 'age')} {argument('column', 'pay')}"
)


def bounds_of_column(name: str, column: Declared) -> tuple[Any, Any]:
    """Return the declared bounds of a column."""
    bounds = None if column.kind == "category" else column.bounds
    if bounds is None:
        what = "as a category" if column.kind == "category" else "without bounds"
        raise SpecError(
            f"column {name!r} is declared {what}. Choose other columns{_CHOICE}, or state bounds."
        )
    if isinstance(column, Date) and column.unit == "days":
        low, high = (shown_day(int(end)) for end in bounds)  # so that a receipt knows them as days
        return low, high
    return bounds


def fitted_with(table: Table, model: Any, target: Any, features: Any) -> dict[str, Any]:
    """Return the parameters of a model that a declared table states in their place."""
    given = {"neighbours": model.neighbours, "ledger": model.ledger}
    stated = promised(table, given)
    columns = table.columns
    if columns is None or not isinstance(target, str):
        return stated
    if model.bounds_X is None:
        if features is None:
            chosen = [n for n, c in columns.items() if n != target and c.kind == "number"]
        else:
            chosen = [name for name in features if name in columns]
        known = {name: columns[name].bounds for name in chosen if columns[name].bounds}
        stated |= {"bounds_X": known} if known else {}
    if target in columns:
        answer = columns[target]
        if _open(model, "bounds_y") and answer.bounds is not None:
            stated["bounds_y"] = answer.bounds
        if _open(model, "classes") and isinstance(answer, Category):
            stated["classes"] = answer.levels
        if _open(model, "classes") and isinstance(answer, Boolean):
            stated["classes"] = (False, True)
    return stated


def column_of(data: Any) -> str | None:
    """Return the one declared column that a release is about; None where nothing says which."""
    asked = list(data.asked) if issubclass(type(data), Table) else []
    return asked[0] if len(asked) == 1 else None


def _levels(asked: Mapping[str, Declared]) -> dict[str, Any]:
    """Return the levels of the one category that a histogram is asked of, if it is one."""
    (name, column), *more = asked.items()
    if more or not isinstance(column, Category):
        return {}
    return {"levels": {name: list(column.levels)}} | (
        {} if column.other is None else {"other": column.other}
    )


def _of_column(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return bins that are stated without a column as those of the one that is asked for."""
    bins = {each: options.get(each) for each in ("levels", "edges")}
    return {
        each: {name: given}
        for each, given in bins.items()
        if given is not None and not isinstance(given, Mapping)
    }


def _groups(columns: Mapping[str, Declared], by: str | list[str]) -> dict[str, tuple[Any, ...]]:
    """Return the declared levels of columns that groups are named by."""
    found = {}
    for name in [by] if isinstance(by, str) else by:
        column = columns.get(name)
        if not isinstance(column, Category):
            raise SpecError(
                f"{argument('by')} names {name!r}, which is not declared as a category. State its "
                f"groups, as in {argument('by', {name: ['F', 'M']})}, or declare its levels."
            )
        found[name] = column.levels
    return found


def _open(model: Any, name: str) -> bool:
    """Tell whether a model has a parameter that was left out."""
    return name in model.get_params(deep=False) and getattr(model, name) is None


def _steps(columns: Mapping[str, Declared], bounds: Any) -> dict[str, Any] | None:
    """Return the declared steps of the columns that have bounds, if all of them have one."""
    if not isinstance(bounds, Mapping):
        return None
    steps = {name: columns[name].step for name in bounds if name in columns}
    known = len(steps) == len(bounds) and all(step is not None for step in steps.values())
    return steps if known else None


def _is_part(bounds: Any) -> bool:
    """Tell a domain from a pair of numbers."""
    return hasattr(type(bounds), "contains")
