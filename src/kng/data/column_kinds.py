"""Which kind each column has: as declared, as its bounds say, or as its container does."""

from __future__ import annotations

from collections.abc import Sequence

from kng.core.errors import SchemaError
from kng.data.engine import Engine, Kind, state_schema
from kng.data.kinds import Boolean, Category, Date, Number
from kng.data.recipe import Plain, Recipe
from kng.data.stated_columns import StatedColumn, StatedColumns


def stated_recipe(engine: Engine, positions: Sequence[int], dates: Sequence[int]) -> Recipe:
    """Return how columns are read as numbers: as declared, or as their container says.

    ``dates`` are those of them that have bounds which are dates.
    """
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
        column.require_number(engine.called)
        declared = Boolean() if column.kind is Kind.BOOLEAN else Number()
        state_schema(engine, [column.kind])
    elif dated and not isinstance(declared, Date):
        raise SchemaError(
            f"column {column.name!r} of {engine.called} is declared as a {declared.kind}, and its "
            "bounds are dates. Give numbers, or declare it as a date."
        )
    if dated and column.kind is Kind.DATE:
        state_schema(engine, [column.kind])
    asks = declared.asks(column, engine.called)
    return StatedColumn(column.name or "", position, asks, declared)
