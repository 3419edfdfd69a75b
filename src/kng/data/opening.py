"""Whatever the caller has, opened as a source of records; checks columns and reads no record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kng.core.encoding import Encoding
from kng.core.errors import SchemaError
from kng.core.privacy import Assumption
from kng.data.engine import Column, Engine, Kind
from kng.data.kinds import Boolean, Category, Date, Number
from kng.data.labels import Labels
from kng.data.memory import MemoryEngine, column_part, layout
from kng.data.recipe import Filtered, Labelled, Plain, Recipe
from kng.data.registry import open_table
from kng.data.source import TableSource
from kng.data.stated_columns import StatedColumn, StatedColumns
from kng.data.where.filter import Filter

# How a column that is no number becomes one.
_REMEDIES = {
    Kind.TEXT: "Declare it as a category or a boolean, or convert it to a number first",
    Kind.DATE: "Give its bounds as dates, as in ('2020-01-01', '2024-12-31')",
    Kind.OTHER: "Choose a column of numbers",
}


def open_source(data: Any, encoding: Encoding, where: Any = None) -> TableSource:
    """Return a source over the columns that the encoding names, or over all of them.

    Parameters
    ----------
    data : array, sequence, series, data frame, path, address or `kng.Table`
    encoding : Encoding
        How a record becomes integers.
    where : str, optional
        A condition; records for which it does not hold are absent.
    """
    names, width = encoding.bounds.columns, len(encoding)
    engine = open_table(data)
    if engine is None:
        if names is not None:
            raise SchemaError(
                f"bounds name columns ({', '.join(names)}), but the data have no column names. "
                "Give a data frame, or bounds as a pair."
            )
        if where is not None:
            raise SchemaError(
                "where names columns, but the data have no column names. Give a data frame, a file "
                "or a table."
            )
        engine = MemoryEngine(layout(data, width))
        recipe = number_recipe(engine, tuple(range(width)), encoding.bounds.dates)
        return TableSource(engine, recipe, encoding)
    positions = positions_of(engine, names, width, numbers=0)
    recipe = number_recipe(engine, positions, encoding.bounds.dates)
    if where is None:
        return TableSource(engine, recipe, encoding)
    condition = Filter.of(where, engine.columns(), engine.called)
    return TableSource(engine, Filtered(recipe, condition), encoding)


def number_recipe(engine: Engine, positions: Sequence[int], dates: Sequence[int]) -> Recipe:
    """Return how columns are read as numbers: as declared, or as their container says.

    ``dates`` are those of them that have bounds which are dates.
    """
    if not engine.stated and not dates:
        found = [engine.columns()[at] for at in positions]
        for column in found:
            require_number(column, engine.called)
        _state_schema(engine, [column.kind for column in found])
        return Plain(tuple(positions))
    stated = [stated_column(engine, at, k in dates) for k, at in enumerate(positions)]
    for each in stated:
        if isinstance(each.declared, Category):
            raise SchemaError(
                f"column {each.name!r} of {engine.called} is declared as a category, and a "
                "number is needed. Categories can be features of a regression."
            )
    if all(isinstance(each.declared, Number) for each in stated):
        return Plain(tuple(positions))
    return StatedColumns(tuple(stated))


def stated_column(engine: Engine, position: int, dated: bool) -> StatedColumn:
    """Return how one column is read: as declared, or as its container says; refuse text.

    ``dated``: its bounds are dates, which declares that it holds dates.
    """
    column = engine.columns()[position]
    declared = engine.stated.get(column.name or "")
    if declared is None and dated:
        declared = Date()
    elif declared is None:
        require_number(column, engine.called)
        declared = Boolean() if column.kind is Kind.BOOLEAN else Number()
        _state_schema(engine, [column.kind])
    elif dated and not isinstance(declared, Date):
        raise SchemaError(
            f"column {column.name!r} of {engine.called} is declared as a {declared.kind}, and its "
            "bounds are dates. Give numbers, or declare it as a date."
        )
    if dated and column.kind is Kind.DATE:
        _state_schema(engine, [column.kind])
    asks = declared.asks(column, engine.called)
    return StatedColumn(column.name or "", position, asks, declared)


def _state_schema(engine: Engine, kinds: Sequence[Kind]) -> None:
    """State on the receipt that the container's types decide how cells are read."""
    if Kind.BOOLEAN in kinds or Kind.DATE in kinds:
        both = (*engine.assumptions, Assumption.PUBLIC_SCHEMA)
        engine.assumptions = tuple(dict.fromkeys(both))


def open_columns(data: Any, columns: Sequence[str], encoding: Encoding) -> TableSource:
    """Return a source over named columns, in the order of the encoding.

    For a regression these are the covariates and, last, the response.
    """
    engine = _named(data)
    return TableSource(engine, Plain(positions_of(engine, columns, len(columns))), encoding)


def open_labelled_columns(
    data: Any, columns: Sequence[str], labels: Labels, encoding: Encoding
) -> TableSource:
    """Return a source over named columns, the last of them a label."""
    engine = _named(data)
    *covariates, label = positions_of(engine, columns, len(columns), numbers=len(columns) - 1)
    found = engine.columns()[label]
    _refuse_dates(found, engine.called)
    if labels.text and found.kind is Kind.NUMBER:
        raise SchemaError(
            f"column {found.name!r} of {engine.called} holds numbers, and the classes are texts. "
            "Give the classes as numbers."
        )
    return TableSource(engine, Labelled(tuple(covariates), label, labels), encoding)


def open_regression(X: Any, y: Any, encoding: Encoding) -> TableSource:
    """Return a source over covariates and a response that stand side by side."""
    engine, positions = _beside(X, y, len(encoding) - 1)
    return TableSource(engine, Plain(positions), encoding)


def open_labelled(X: Any, y: Any, labels: Labels, encoding: Encoding) -> TableSource:
    """Return a source over covariates and labels that stand side by side."""
    engine, (*covariates, label) = _beside(X, y, len(encoding) - 1)
    return TableSource(engine, Labelled(tuple(covariates), label, labels), encoding)


def open_response(y: Any, encoding: Encoding) -> TableSource:
    """Return a source over a response alone."""
    engine = MemoryEngine([column_part(y)])
    _refuse_dates(engine.columns()[0], "y")
    return TableSource(engine, Plain((0,)), encoding)


def _refuse_dates(column: Column, called: str) -> None:
    """Refuse dates as a response, or as labels."""
    if column.kind is Kind.DATE:
        require_number(column, called)


def _beside(X: Any, y: Any, width: int) -> tuple[MemoryEngine, tuple[int, ...]]:
    covariates, response = layout(X, width), column_part(y)
    if len(covariates[0].cells) != len(response.cells):
        raise SchemaError("X and y differ in their number of records.")
    for column in MemoryEngine(covariates).columns():
        require_number(column, "X")
    _refuse_dates(MemoryEngine([response]).columns()[0], "y")
    return MemoryEngine([*covariates, response]), tuple(range(width + 1))


def _named(data: Any) -> Engine:
    engine = open_table(data)
    if engine is None:
        raise SchemaError(
            "columns are chosen by name, but the data have no column names. Give a data frame, a "
            "file or a table."
        )
    return engine


def positions_of(
    engine: Engine, names: Sequence[str] | None, width: int, numbers: int | None = None
) -> tuple[int, ...]:
    """Return where the columns stand; the first ``numbers`` of them, or all, must be numbers."""
    columns, called = engine.columns(), engine.called
    known = [column.name for column in columns]
    has = "have" if called == "the data" else "has"
    if names is None:
        if len(columns) != width:
            raise SchemaError(
                f"{called} {has} {len(columns)} columns ({_listed(known)}), the bounds describe "
                f"{width}. Name the columns to use, as in bounds={{{known[0]!r}: (0, 100)}}."
                f"{engine.advice(())}"
            )
        names = [str(name) for name in known]
    absent = [name for name in names if name not in known]
    if absent:
        they = "they have" if has == "have" else "it has"
        raise SchemaError(
            f"{called} {has} no column named {absent[0]!r}; {they} {_listed(known)}."
            f"{engine.advice(names)}"
        )
    twice = [name for name in names if known.count(name) > 1]
    if twice:
        raise SchemaError(f"{called} {has} two columns named {twice[0]!r}; rename one of them.")
    found = tuple(known.index(name) for name in names)
    for at in found[:numbers]:
        require_number(columns[at], called)
    return found


def require_number(column: Column, called: str) -> None:
    """Refuse a column that is declared to be something else."""
    if column.kind not in _REMEDIES:
        return
    name = "a column" if column.name is None else f"column {column.name!r}"
    declared = f" ({column.declared})" if column.declared else ""
    raise SchemaError(
        f"{name} of {called} holds {column.kind.value}{declared}, and a number is needed. "
        f"{_REMEDIES[column.kind]}."
    )


def _listed(names: Sequence[str | None]) -> str:
    shown = [repr(name) for name in names[:20]]
    return ", ".join([*shown, "..."] if len(names) > len(shown) else shown)
