"""A formula and the columns of a table: what each column holds, and its public bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kng.core.errors import SchemaError, SpecError
from kng.core.naming import argument
from kng.data.column_kinds import stated_column
from kng.data.engine import Engine, Kind
from kng.data.formula.covariates import Covariates, covariates_of_formula
from kng.data.formula.tree import Computed, Formula, Levels, Name, Term, names_in
from kng.data.kinds import Category, Declared, Ends
from kng.data.positions import positions_of
from kng.data.stated_columns import StatedColumn, StatedColumns


def bound_formula(
    engine: Engine,
    formula: Formula,
    bounds: Mapping[str, Ends],
    dates: Sequence[str],
    intercept: bool,
) -> Covariates:
    """Return the covariates of a formula over a table; reads no record.

    Parameters
    ----------
    engine : Engine
    formula : Formula
    bounds : mapping
        Public ends of columns of numbers; others have those that are declared.
    dates : sequence of str
        The columns whose bounds are dates.
    intercept : bool
        Whether the model has one.
    """
    columns = formula.columns
    positions = positions_of(engine, columns, len(columns), numbers=0)
    kinds = {
        name: _kind(engine, at, formula, name in dates)
        for name, at in zip(columns, positions, strict=True)
    }
    formula = _plain(formula, kinds)
    ends = {name: _ends(name, kind, bounds) for name, kind in kinds.items()}
    return covariates_of_formula(formula, kinds, ends, intercept)


def read_covariates(engine: Engine, made: Covariates) -> StatedColumns:
    """Return how the columns of covariates are read from a table."""
    columns, positions = engine.columns(), positions_of(engine, made.columns, 0, numbers=0)
    return StatedColumns(
        tuple(
            StatedColumn(name, at, kind.asks(columns[at], engine.called), kind)
            for name, at, kind in zip(made.columns, positions, made.kinds, strict=True)
        )
    )


def _kind(engine: Engine, position: int, formula: Formula, dated: bool) -> Declared:
    """Return what a column holds: as the formula says, as declared, or as its container says."""
    column = engine.columns()[position]
    name = column.name or ""
    category = _stated_levels(formula, name)
    if category is not None:
        if dated:
            raise SpecError(f"column {name!r} is a category in the formula; leave its bounds out.")
        category.asks(column, engine.called)
        return category
    declared = engine.stated.get(name)
    asked = any(isinstance(f, Levels) and f.name == name for term in formula.terms for f in term)
    if asked and not isinstance(declared, Category):
        raise SpecError(
            f"C({name}) needs the levels of {name!r}, which are never learned from the data. State "
            f"them, as in C({name}, levels=['F', 'M']), or declare them with the table."
        )
    if declared is None and column.kind is Kind.TEXT:
        raise SchemaError(
            f"column {name!r} of {engine.called} holds text, and a number is needed. Use it as a "
            f"category, as in C({name}, levels=['F', 'M']), or declare what it holds."
        )
    return stated_column(engine, position, dated).declared


def _stated_levels(formula: Formula, name: str) -> Category | None:
    """Return the category that the formula states of a column."""
    found = {
        factor
        for term in formula.terms
        for factor in term
        if isinstance(factor, Levels) and factor.name == name and factor.levels is not None
    }
    if len(found) > 1:
        raise SpecError(
            f"{argument('formula')} states the levels of {name!r} in two ways. State them once."
        )
    if not found:
        return None
    (stated,) = found
    return Category(stated.levels, stated.reference, stated.other)


def _plain(formula: Formula, kinds: Mapping[str, Declared]) -> Formula:
    """Return a formula in which categories are columns by name, each term once."""
    terms: dict[frozenset[object], Term] = {}
    for term in formula.terms:
        for factor in term:
            _refuse_mixed(factor, formula, kinds)
        named = tuple(Name(f.name) if isinstance(f, Levels) else f for f in term)
        terms.setdefault(frozenset(named), tuple(dict.fromkeys(named)))
    return replace(formula, terms=tuple(terms.values()))


def _refuse_mixed(
    factor: Name | Levels | Computed, formula: Formula, kinds: Mapping[str, Declared]
) -> None:
    """Refuse a category where a number is needed."""
    if isinstance(factor, Computed):
        for name in names_in(factor):
            if isinstance(kinds[name], Category):
                raise SpecError(
                    f"{factor.shown} calculates with {name!r}, which is a category. Use C({name}) "
                    "as a term of its own."
                )
    elif isinstance(factor, Name) and _stated_levels(formula, factor.name) is not None:
        raise SpecError(
            f"{argument('formula')} has {factor.name!r} as a number and as a category. Use one of "
            "them."
        )


def _ends(name: str, kind: Declared, bounds: Mapping[str, Ends]) -> Ends:
    """Return the public ends of a column."""
    declared = kind.bounds
    if kind.kind in ("boolean", "category") and declared is not None:
        return declared
    found = bounds.get(name, declared)
    if found is None:
        raise SpecError(
            f"{argument('bounds_X')} has no bounds for {name!r}. The public range of a column is "
            f"never read from the data; state it, as in {argument('bounds_X', {name: (0, 100)})}."
        )
    return found
