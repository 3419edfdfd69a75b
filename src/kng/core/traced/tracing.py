"""From a caller's function to a graph: it is run on tracers, twice, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.traced.graph import Graph
from kng.core.traced.tracer import NotTraced, Tracer, Tracing, Words

# How many rows a function is told there are, in its two runs: primes, which no table of columns or
# of coefficients is likely to have. What depends on the number differs between the runs.
_ROWS = 10007, 10009
# A graph of more cells than this comes from a loop that nobody meant.
_MOST = 20_000


def traced_graph(
    run: Callable[[Tracing], Any],
    results: Callable[[Tracer], list[int]],
    part: str,
    words: Words,
    inputs: str,
) -> Graph:
    """Return the graph of a function that ``run`` calls on tracers, or refuse in the part's name.

    ``results`` finds the cells that are asked for in what it returns, ``inputs`` is what it is run
    on, for messages.
    """
    graphs = []
    for rows in _ROWS:
        tracing = Tracing(rows, words)
        try:
            found = tracing.traced(_run(run, tracing, part, inputs), "the result")
            places = results(found)
        except NotTraced as refusal:
            raise IncompatibleParts(f"{part}: {refusal.message}") from None
        if len(tracing.draft.cells) > _MOST:
            raise IncompatibleParts(
                f"{part}: it takes more than {_MOST} operations on each {words.one}; use fewer."
            )
        graphs.append(tracing.draft.finished(places))
    if graphs[0] != graphs[1]:
        raise IncompatibleParts(
            f"{part}: two runs of it on dummy {words.several} differ. It may use neither the "
            f"number of {words.several} nor anything that changes between calls."
        )
    return graphs[0]


def _run(run: Callable[[Tracing], Any], tracing: Tracing, part: str, inputs: str) -> Any:
    try:
        return run(tracing)
    except NotTraced:
        raise
    except Exception as error:
        raise SpecError(f"{part} raised {type(error).__name__} on {inputs}: {error}") from None
