"""Whatever the caller has, opened as a source of records; checks columns and reads no record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from kng.core.encoding import Encoding
from kng.core.errors import SchemaError
from kng.core.groups import Groups
from kng.data.coding import Coded, Coding
from kng.data.engine import Column, Engine, Kind
from kng.data.grouped import GroupedTable
from kng.data.labels import Labels
from kng.data.memory import MemoryEngine, column_part, frame_names, is_named, layout
from kng.data.present import ALL, Present
from kng.data.recipe import Filtered, Labelled, Plain, Recipe
from kng.data.registry import open_table
from kng.data.source import TableSource
from kng.data.where.filter import Filter

# How a column that is no number becomes one.
_REMEDIES = {
    Kind.TEXT: "Convert it to a number first",
    Kind.DATE: "Convert it first, as to days since a date",
    Kind.OTHER: "Choose a column of numbers",
}


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
                f"bounds name columns ({', '.join(names)}), but the data have no column names. "
                "Give a data frame, or bounds as a pair."
            )
        if present != ALL:
            raise SchemaError(
                "where names columns, but the data have no column names. Give a data frame, a file "
                "or a table."
            )
        engine = MemoryEngine(layout(data, width))
        for column in engine.columns():
            require_number(column, engine.called)
        return TableSource(engine, Plain(tuple(range(width))), encoding)
    return _counting(engine, Plain(positions_of(engine, names, width)), encoding, present)


def _open_groups(data: Any, encoding: Encoding, present: Present, groups: Groups) -> GroupedTable:
    """Return a source over the columns that the encoding names, in declared groups."""
    engine = open_table(data)
    if engine is None:
        raise SchemaError(
            "by names columns, but the data have no column names. Give a data frame, a file or a "
            "table."
        )
    names = encoding.bounds.columns
    if names is None:
        raise SchemaError(
            "With by= the bounds must name their columns, as in bounds={'wage': (0, 100)}."
        )
    plain = Plain(positions_of(engine, names, len(encoding)))
    told = positions_of(engine, groups.columns, len(groups.columns), numbers=0)
    coding = Coding.of(groups, engine.columns(), told)
    recipe = _filtered(engine, Coded(plain, coding), present)
    return GroupedTable(engine, recipe, encoding, coding.size)


def open_columns(
    data: Any, columns: Sequence[str], encoding: Encoding, present: Present = ALL
) -> TableSource:
    """Return a source over named columns, in the order of the encoding.

    For a regression these are the covariates and, last, the response.
    """
    engine = _named(data)
    plain = Plain(positions_of(engine, columns, len(columns)))
    return _counting(engine, plain, encoding, present)


def open_labelled_columns(
    data: Any,
    columns: Sequence[str],
    labels: Labels,
    encoding: Encoding,
    present: Present = ALL,
) -> TableSource:
    """Return a source over named columns, the last of them a label."""
    engine = _named(data)
    *covariates, label = positions_of(engine, columns, len(columns), numbers=len(columns) - 1)
    found = engine.columns()[label]
    if labels.text and found.kind is Kind.NUMBER:
        raise SchemaError(
            f"column {found.name!r} of {engine.called} holds numbers, and the classes are texts. "
            "Give the classes as numbers."
        )
    labels.load()
    recipe = Labelled(tuple(covariates), label, labels)
    return _counting(engine, recipe, encoding, present)


def open_regression(X: Any, y: Any, encoding: Encoding, present: Present = ALL) -> TableSource:
    """Return a source over covariates and a response that stand side by side."""
    engine, positions = _beside(X, y, len(encoding) - 1)
    return _counting(engine, Plain(positions), encoding, present)


def open_labelled(
    X: Any, y: Any, labels: Labels, encoding: Encoding, present: Present = ALL
) -> TableSource:
    """Return a source over covariates and labels that stand side by side."""
    labels.load()
    engine, (*covariates, label) = _beside(X, y, len(encoding) - 1)
    return _counting(engine, Labelled(tuple(covariates), label, labels), encoding, present)


def open_response(
    X: Any, y: Any, width: int, encoding: Encoding, present: Present = ALL
) -> TableSource:
    """Return a source over the response of ``width`` covariates alone."""
    if present == ALL:
        return TableSource(MemoryEngine([column_part(y)]), Plain((0,)), encoding)
    engine, (*_, response) = _beside(X, y, width)
    return _counting(engine, Plain((response,)), encoding, present)


def _counting(engine: Engine, recipe: Recipe, encoding: Encoding, present: Present) -> TableSource:
    """Return a source over the records that count."""
    return TableSource(engine, _filtered(engine, recipe, present), encoding)


def _filtered(engine: Engine, recipe: Recipe, present: Present) -> Recipe:
    """Return the recipe for the records that count."""
    if present.where is None:
        return recipe
    return Filtered(recipe, Filter.of(present.where, engine.columns(), engine.called))


def _beside(X: Any, y: Any, width: int) -> tuple[MemoryEngine, tuple[int, ...]]:
    covariates, response = layout(X, width), column_part(y)
    if len(covariates[0].cells) != len(response.cells):
        raise SchemaError("X and y differ in their number of records.")
    for column in MemoryEngine(covariates).columns():
        require_number(column, "X")
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
