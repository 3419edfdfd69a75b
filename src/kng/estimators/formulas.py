"""Formulas in estimators: what the caller states, and the covariates that it makes of columns."""

from __future__ import annotations

from functools import partial
from typing import Any

from kng.core.bounds import bounds_of
from kng.core.encoding import DROP
from kng.core.errors import SchemaError, SpecError
from kng.core.naming import argument
from kng.data import Engine, Present, Table, open_table
from kng.data.formula.binding import bound_formula
from kng.data.formula.covariates import Covariates
from kng.data.formula.opening import Target, open_formula, open_formula_response
from kng.data.formula.reading import read_formula
from kng.data.formula.tree import Formula
from kng.data.kinds import Ends
from kng.estimators.declarations import fitted_with
from kng.estimators.public_facts import Openings


def only_formula(formula: Any, y: Any, target: Any, features: Any) -> Formula:
    """Read a formula; refuse what says the same in another way."""
    for name, value in (("y", y), ("target", target), ("features", features)):
        if value is not None:
            raise SpecError(
                f"{argument('formula')} and {argument(name)} are both given; the formula says it "
                "all."
            )
    if not isinstance(formula, str):
        raise SpecError(
            f"{argument('formula')} must be a text such as 'wages ~ age + education', got "
            f"{formula!r}."
        )
    return read_formula(formula)


def stated_with(table: Any, model: Any, formula: Formula) -> dict[str, Any]:
    """Return the parameters of a model that a formula and a declared table state in their place."""
    stated: dict[str, Any] = {}
    if isinstance(table, Table):
        stated = fitted_with(table, model, formula.target, formula.columns)
    if not formula.intercept:
        stated["fit_intercept"] = False
    return stated


def covariates_over(data: Any, formula: Formula, model: Any) -> tuple[Engine, Covariates]:
    """Return a table and the covariates of a formula over it; reads no record."""
    if not (model.missing is None or (isinstance(model.missing, str) and model.missing == DROP)):
        raise SpecError(
            f"{argument('missing')} must be 'drop' with a formula, categories or dates: a number "
            "in place of a missing cell would be one of a covariate, not of its column."
        )
    engine = open_table(data)
    if engine is None:
        raise SchemaError(
            "a formula names columns, and X has no column names. Give a data frame, the path of a "
            "file, an address or a kng.Table."
        )
    bounds, dates = _stated_bounds(model.bounds_X, formula)
    return engine, bound_formula(engine, formula, bounds, dates, bool(model.fit_intercept))


def opened_beside(engine: Engine, made: Covariates, response: Target, present: Present) -> Openings:
    """Return how the covariates are opened beside the response, and the response alone."""
    table = partial(open_formula, engine, made, response, present=present)
    return Openings(table, partial(open_formula_response, engine, response, present=present))


def _stated_bounds(bounds_x: Any, formula: Formula) -> tuple[dict[str, Ends], list[str]]:
    """Return the bounds of columns by name, and the columns whose bounds are dates."""
    if bounds_x is None:
        return {}, []
    bounds = bounds_of(bounds_x, "bounds_X")
    names = formula.columns if bounds.columns is None else bounds.columns
    if bounds.columns is None and len(bounds) > 1:
        raise SpecError(
            f"with a formula {argument('bounds_X')} must name columns, as in "
            f"{argument('bounds_X', {'age': (0, 120)})}, or be one pair for all of them."
        )
    ends = list(zip(bounds.low, bounds.high, strict=True))
    if bounds.columns is None:
        ends, dates = ends * len(names), list(names) if bounds.dates else []
    else:
        dates = [names[at] for at in bounds.dates]
    return dict(zip(names, ends, strict=True)), dates
