"""Tables opened for a formula: its covariates beside a response or labels; and for predictions."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kng.core.encoding import Encoding
from kng.core.errors import SchemaError
from kng.data.column_kinds import stated_recipe
from kng.data.engine import Engine, Floats, LocalEngine
from kng.data.formula.binding import read_covariates
from kng.data.formula.covariates import Covariates
from kng.data.formula.derived import Beside, Derived
from kng.data.labels import Labels
from kng.data.opening import counting, labelled
from kng.data.positions import positions_of
from kng.data.present import Present
from kng.data.recipe import Recipe
from kng.data.registry import open_table
from kng.data.source import TableSource

# The column of a response, and whether its bounds are dates.
Target = tuple[str, bool]
# The column of labels, and how they are read.
Label = tuple[str, Labels]
# Engines that hand over records in the order of their table.
_ORDERED = ("CsvEngine", "FrameEngine", "ArrowEngine", "ArrowFiles")


def open_formula(
    engine: Engine, made: Covariates, target: Target, encoding: Encoding, present: Present
) -> TableSource:
    """Return a source over covariates and, last, the response."""
    both = Beside(_covariates(engine, made), _response(engine, target))
    return counting(engine, both, encoding, present)


def open_formula_response(
    engine: Engine, target: Target, encoding: Encoding, present: Present
) -> TableSource:
    """Return a source over the response alone."""
    return counting(engine, _response(engine, target), encoding, present)


def open_labelled_formula(
    engine: Engine,
    made: Covariates,
    label: tuple[str, Labels],
    encoding: Encoding,
    present: Present,
) -> TableSource:
    """Return a source over covariates and, last, a label."""
    target, labels = label
    (position,) = positions_of(engine, (target,), 1, numbers=0)
    last = labelled(engine, (), position, labels)
    return counting(engine, Beside(_covariates(engine, made), last), encoding, present)


def formula_covariates(data: Any, made: Covariates) -> Floats:
    """Return the covariates of a table as they are, in its order; what is missing is NaN.

    For predictions, which nothing is charged for: the result stays with whoever holds the data.
    """
    engine = open_table(data)
    if engine is None or type(engine).__name__ not in _ORDERED:
        raise SchemaError(
            "predictions of a formula need a table with its columns, in memory or a CSV or Arrow "
            f"file: {', '.join(map(repr, made.columns))}. Load the records first."
        )
    recipe = Derived(read_covariates(engine, made), made, clipped=False)
    engine.prepare(recipe.asked)
    ordered = cast("LocalEngine", engine).blocks(recipe.asked)
    blocks = [np.hstack(recipe.tables(block)) for block in ordered]
    return np.vstack([np.empty((0, len(made.covariates))), *blocks])


def _covariates(engine: Engine, made: Covariates) -> Recipe:
    return Derived(read_covariates(engine, made), made, clipped=True)


def _response(engine: Engine, target: Target) -> Recipe:
    name, dated = target
    positions = positions_of(engine, (name,), 1, numbers=0)
    return stated_recipe(engine, positions, (0,) if dated else ())
