"""Whatever the caller has, opened as a source of records; checks columns and reads no record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from kng.core.encoding import Encoding
from kng.core.errors import SchemaError
from kng.core.groups import Groups
from kng.core.naming import argument, keyword
from kng.data.coding import Coded, Coding, boolean_column
from kng.data.column_kinds import stated_recipe
from kng.data.engine import Column, Engine, Kind, kinds_of, state_schema
from kng.data.grouped import GroupedTable
from kng.data.labels import Labels
from kng.data.memory import MemoryEngine, column_part, frame_names, is_named, layout
from kng.data.people import PeopleEngine, Person
from kng.data.positions import positions_of
from kng.data.present import ALL, Present
from kng.data.recipe import Filtered, Labelled, Plain, Recipe
from kng.data.registry import open_table
from kng.data.source import TableSource
from kng.data.where.filter import Filter


@overload
def open_source(
    data: Any, encoding: Encoding, present: Present = ALL, groups: None = None
) -> TableSource: ...


@overload
def open_source(
    data: Any, encoding: Encoding, present: Present, groups: Groups | None
) -> TableSource | GroupedTable: ...


def open_source(
    data: Any, encoding: Encoding, present: Present = ALL, groups: Groups | None = None
) -> TableSource | GroupedTable:
    """Return a source over the columns that the encoding names, or over all of them.

    Parameters
    ----------
    data : array, sequence, series, data frame, path, address or `kng.Table`
    encoding : Encoding
        How a record becomes integers.
    present : Present
        Which records count.
    groups : Groups, optional
        Declared groups; the source then has the records of each.
    """
    if groups is not None:
        return _open_groups(data, encoding, present, groups)
    names, width = encoding.bounds.columns, len(encoding)
    engine = open_table(data)
    if engine is None:
        if names is not None:
            raise SchemaError(
                f"{argument('bounds')} name columns ({', '.join(names)}), but the data have no "
                "column names. Give a data frame, or bounds as a pair."
            )
        if present != ALL:
            raise SchemaError(
                f"{argument('where' if present.where else 'person')} names a column, but the data "
                "have no column names. Give a data frame, a file or a table."
            )
        engine = MemoryEngine(layout(data, width))
        recipe = _number_recipe(engine, tuple(range(width)), encoding.bounds.dates)
        return TableSource(engine, recipe, encoding)
    positions = positions_of(engine, names, width, numbers=0)
    recipe = _number_recipe(engine, positions, encoding.bounds.dates)
    return counting(engine, recipe, encoding, present)


def _number_recipe(engine: Engine, positions: Sequence[int], dates: Sequence[int]) -> Recipe:
    """Return how columns are read as numbers; ``dates`` are those whose bounds are dates."""
    if engine.stated or dates:
        return stated_recipe(engine, positions, dates)
    columns = [engine.columns()[at] for at in positions]
    for column in columns:
        column.require_number(engine.called)
    state_schema(engine, [column.kind for column in columns])
    return Plain(tuple(positions))


def _open_groups(data: Any, encoding: Encoding, present: Present, groups: Groups) -> GroupedTable:
    """Return a source over the columns that the encoding names, in declared groups."""
    engine = open_table(data)
    if engine is None:
        raise SchemaError(
            f"{argument('by')} names columns, but the data have no column names. Give a data "
            "frame, a file or a table."
        )
    names = encoding.bounds.columns
    if names is None:
        raise SchemaError(
            f"With {keyword('by')} the bounds must name their columns, as in "
            f"{argument('bounds', {'wage': (0, 100)})}."
        )
    positions = positions_of(engine, names, len(encoding), numbers=0)
    recipe = _number_recipe(engine, positions, encoding.bounds.dates)
    return in_groups(engine, recipe, encoding, groups, present)


def in_groups(
    engine: Engine, recipe: Recipe, encoding: Encoding, groups: Groups, present: Present
) -> GroupedTable:
    """Return a source over the records that count, in declared groups."""
    told = positions_of(engine, groups.columns, len(groups.columns), numbers=0)
    coding = Coding.of(groups, engine.columns(), told, engine)
    engine, recipe = _counted(engine, Coded(recipe, coding), present)
    return GroupedTable(engine, recipe, encoding, coding.size)


def open_columns(
    data: Any, columns: Sequence[str], encoding: Encoding, present: Present = ALL
) -> TableSource:
    """Return a source over named columns, in the order of the encoding.

    For a regression these are the covariates and, last, the response.
    """
    engine = _named(data)
    plain = Plain(positions_of(engine, columns, len(columns)))
    return counting(engine, plain, encoding, present)


def open_labelled_columns(
    data: Any,
    columns: Sequence[str],
    labels: Labels,
    encoding: Encoding,
    present: Present = ALL,
) -> TableSource:
    """Return a source over named columns, the last of them a label."""
    engine = _named(data)
    covariates = positions_of(engine, columns[:-1], len(columns) - 1)
    (label,) = positions_of(engine, columns[-1:], 1, numbers=0)
    return counting(engine, labelled(engine, covariates, label, labels), encoding, present)


# How classes must be given, by what a type says of a column of labels.
_CLASSES = {
    Kind.NUMBER: "Give the classes as numbers",
    Kind.BOOLEAN: f"Give them as truth values, as in {argument('classes', (False, True))}",
}


def labelled(engine: Engine, covariates: Sequence[int], position: int, labels: Labels) -> Labelled:
    """Return how covariates and labels are read; refuse what holds no label by its type."""
    column = engine.columns()[position]
    _refuse_dates(column, engine.called)
    if labels.text and column.kind in _CLASSES:
        raise SchemaError(
            f"{_named_column(column, engine)} holds {column.kind.value}s, and the classes are "
            f"texts. {_CLASSES[column.kind]}."
        )
    boolean = boolean_column(engine, position) if labels.truths else None
    if labels.truths and boolean is None and column.kind is Kind.TEXT:
        raise SchemaError(
            f"{_named_column(column, engine)} holds text, and the classes are True and False. Give "
            f"the classes as texts, as in {argument('classes', ('no', 'yes'))}, or declare the "
            "column as a boolean."
        )
    labels.load()
    return Labelled(tuple(covariates), position, labels, boolean)


def _named_column(column: Column, engine: Engine) -> str:
    return f"column {column.name!r} of {engine.called}" if column.name else "y"


def open_regression(X: Any, y: Any, encoding: Encoding, present: Present = ALL) -> TableSource:
    """Return a source over covariates and a response that stand side by side."""
    engine, positions = _beside(X, y, len(encoding) - 1)
    return counting(engine, Plain(positions), encoding, present)


def open_labelled(
    X: Any, y: Any, labels: Labels, encoding: Encoding, present: Present = ALL
) -> TableSource:
    """Return a source over covariates and labels that stand side by side."""
    engine, (*covariates, label) = _beside(X, y, len(encoding) - 1)
    return counting(engine, labelled(engine, covariates, label, labels), encoding, present)


def open_response(
    X: Any, y: Any, width: int, encoding: Encoding, present: Present = ALL
) -> TableSource:
    """Return a source over the response of ``width`` covariates alone."""
    if present == ALL:
        alone = MemoryEngine([column_part(y)])
        _refuse_dates(alone.columns()[0], "y")
        return TableSource(alone, Plain((0,)), encoding)
    engine, (*_, response) = _beside(X, y, width)
    return counting(engine, Plain((response,)), encoding, present)


def counting(engine: Engine, recipe: Recipe, encoding: Encoding, present: Present) -> TableSource:
    """Return a source over the records that count."""
    engine, recipe = _counted(engine, recipe, present)
    return TableSource(engine, recipe, encoding)


def _counted(engine: Engine, recipe: Recipe, present: Present) -> tuple[Engine, Recipe]:
    """Return an engine and a recipe for the records that count."""
    columns, condition = engine.columns(), None
    if present.where is not None:
        condition = Filter.of(present.where, columns, engine.called, kinds_of(engine))
        recipe = Filtered(recipe, condition)
    if present.person is None:
        return engine, recipe
    assert present.max_records is not None  # they are stated together
    person = Person.of(present.person, present.max_records, columns, engine.called)
    return PeopleEngine(engine, person, condition), recipe


def _refuse_dates(column: Column, called: str) -> None:
    """Refuse dates as a response, or as labels."""
    if column.kind is Kind.DATE:
        column.require_number(called)


def _beside(X: Any, y: Any, width: int) -> tuple[MemoryEngine, tuple[int, ...]]:
    covariates, response = layout(X, width), column_part(y)
    if len(covariates[0].cells) != len(response.cells):
        raise SchemaError("X and y differ in their number of records.")
    for column in MemoryEngine(covariates).columns():
        column.require_number("X")
    _refuse_dates(MemoryEngine([response]).columns()[0], "y")
    names = [str(name) for name in frame_names(X)] if is_named(X) else [""] * width
    return MemoryEngine([*covariates, response], [*names, ""]), tuple(range(width + 1))


def _named(data: Any) -> Engine:
    engine = open_table(data)
    if engine is None:
        raise SchemaError(
            "columns are chosen by name, but the data have no column names. Give a data frame, a "
            "file or a table."
        )
    return engine
