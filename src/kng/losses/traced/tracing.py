"""From a caller's function to a graph: it is run on tracers, twice, and never on records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kng.core.errors import IncompatibleParts, SpecError
from kng.losses.traced.derivatives import gradient
from kng.losses.traced.graph import COLUMN, THETA, Graph
from kng.losses.traced.tracer import NotTraced, Tracer, Tracing, shown

# How many records a function is told there are, in its two runs: primes, which no table of columns
# or of coefficients is likely to have. What depends on the number differs between the runs.
_RECORDS = 10007, 10009
# A graph of more cells than this comes from a loop that nobody meant.
_MOST = 20_000

Function = Callable[[Any, Any], Any]


class _Columns(dict[str, Tracer]):
    """Columns by name."""

    def __missing__(self, name: str) -> Tracer:
        raise NotTraced(
            f"it asks for column {name!r}, and the bounds name {', '.join(map(repr, self))}."
        )


def score_graph(function: Function, columns: Sequence[str], dim: int, part: str) -> Graph:
    """Return the graph of a score, (n, d) from records and theta, or refuse."""
    return _twice(function, columns, dim, part, _scores)


def gradient_graph(function: Function, columns: Sequence[str], dim: int, part: str) -> Graph:
    """Return the graph of the gradient of a loss, (n,) from records and theta, or refuse."""
    return _twice(function, columns, dim, part, _slopes)


def _twice(
    function: Function,
    columns: Sequence[str],
    dim: int,
    part: str,
    results: Callable[[Tracer, int], list[int]],
) -> Graph:
    graphs = []
    for records in _RECORDS:
        tracing = Tracing(records)
        try:
            found = tracing.traced(_run(function, tracing, columns, dim, part), "the result")
            places = results(found, dim)
        except NotTraced as refusal:
            raise IncompatibleParts(f"{part}: {refusal}") from None
        if len(tracing.draft.cells) > _MOST:
            raise IncompatibleParts(
                f"{part}: it takes more than {_MOST} operations on each record; use fewer."
            )
        graphs.append(tracing.draft.finished(places))
    if graphs[0] != graphs[1]:
        raise IncompatibleParts(
            f"{part}: two runs of it on dummy records differ. It may use neither the number of "
            "records nor anything that changes between calls."
        )
    return graphs[0]


def _run(function: Function, tracing: Tracing, columns: Sequence[str], dim: int, part: str) -> Any:
    draft = tracing.draft
    records = _Columns(
        {
            name: Tracer(tracing, np.array([draft.cell(COLUMN, detail=str(j))]), 0)
            for j, name in enumerate(columns)
        }
    )
    theta = np.array([draft.cell(THETA, detail=str(j)) for j in range(dim)])
    try:
        return function(records, Tracer(tracing, theta, None))
    except NotTraced:
        raise
    except Exception as error:
        raise SpecError(
            f"{part} raised {type(error).__name__} on dummy records and a theta of {dim} "
            f"coordinates: {error}"
        ) from None


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
