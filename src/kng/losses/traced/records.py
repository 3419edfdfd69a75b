"""Scores and losses of records as graphs: a caller's function is run on dummy columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kng.core.traced.derivatives import gradient
from kng.core.traced.graph import COLUMN, THETA, Graph
from kng.core.traced.tracer import NotTraced, Tracer, Tracing, Words, shown
from kng.core.traced.tracing import traced_graph

_WORDS = Words("record", "records", "a score is of one record")

Function = Callable[[Any, Any], Any]


class _Columns(dict[str, Tracer]):
    """Columns by name."""

    def __missing__(self, name: str) -> Tracer:
        raise NotTraced(
            f"it asks for column {name!r}, and the bounds name {', '.join(map(repr, self))}."
        )


def score_graph(function: Function, columns: Sequence[str], dim: int, part: str) -> Graph:
    """Return the graph of a score, (n, d) from records and theta, or refuse."""
    return _graph(function, columns, dim, part, _scores)


def gradient_graph(function: Function, columns: Sequence[str], dim: int, part: str) -> Graph:
    """Return the graph of the gradient of a loss, (n,) from records and theta, or refuse."""
    return _graph(function, columns, dim, part, _slopes)


def _graph(
    function: Function,
    columns: Sequence[str],
    dim: int,
    part: str,
    results: Callable[[Tracer, int], list[int]],
) -> Graph:
    def run(tracing: Tracing) -> Any:
        draft = tracing.draft
        records = _Columns(
            {
                name: Tracer(tracing, np.array([draft.cell(COLUMN, detail=str(j))]), 0)
                for j, name in enumerate(columns)
            }
        )
        theta = np.array([draft.cell(THETA, detail=str(j)) for j in range(dim)])
        return function(records, Tracer(tracing, theta, None))

    inputs = f"dummy records and a theta of {dim} coordinates"
    return traced_graph(run, lambda found: results(found, dim), part, _WORDS, inputs)


def _scores(found: Tracer, dim: int) -> list[int]:
    """Return the places of the d scores of a record."""
    found = found.numbers()
    if dim == 1 and found.axis == 0 and found.ndim == 1:
        found = found[:, None]
    if found.axis != 0 or found.places.shape != (1, dim):
        raise NotTraced(
            f"it returns an array of shape {shown(found)}; a score has the shape (n, {dim}), one "
            "column for each coordinate of the domain."
        )
    return [int(place) for place in found.places[0]]


def _slopes(found: Tracer, dim: int) -> list[int]:
    """Return the places of the d derivatives of a record's loss."""
    found = found.numbers()
    if found.axis != 0 or found.places.shape != (1,):
        raise NotTraced(
            f"it returns an array of shape {shown(found)}; a loss has the shape (n,), one number "
            "for each record."
        )
    return gradient(found.tracing.draft, int(found.places[0]), dim)
