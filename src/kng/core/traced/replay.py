"""A graph on records at one theta: the program whose sums are released.

Every operation acts on each record by itself and is the same number in every place of an array:
float64's own sums, products, quotients, roots and comparisons, and functions made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.traced.elementary import PROGRAMS
from kng.core.traced.graph import COLUMN, NUMBER, SELECT, THETA, Cell, Graph

Array = NDArray[np.float64]
Values = NDArray[Any]

OPERATIONS: dict[str, Callable[..., Values]] = {
    **PROGRAMS,
    "negative": np.negative,
    "absolute": np.abs,
    "sign": np.sign,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    SELECT: np.where,
}


def computed(cell: Cell, columns: Sequence[Array], theta: Array, found: Sequence[Any]) -> Values:
    """Return one cell for all records, from the cells before it; numbers have the shape (1,)."""
    match cell.operation:
        case "column":
            return columns[cell.index]
        case "theta":
            return theta[cell.index : cell.index + 1]
        case "number":
            return np.array([cell.number])
    return OPERATIONS[cell.operation](*(found[i] for i in cell.inputs))


def replayed(graph: Graph, columns: Sequence[Array], theta: Array) -> list[Values]:
    """Return every cell of a graph at one theta."""
    found: list[Values] = []
    with np.errstate(all="ignore"):
        for cell in graph.cells:
            found.append(computed(cell, columns, theta, found))
    return found


def standing(graph: Graph, columns: Sequence[Array]) -> dict[int, Values]:
    """Return the cells that do not depend on theta and are asked for by those that do."""
    found: dict[int, Values] = {}
    with np.errstate(all="ignore"):
        for place, cell in enumerate(graph.cells):
            if graph.moving[place]:
                continue
            inputs = [found[i] for i in cell.inputs]
            if cell.operation in (COLUMN, NUMBER, THETA):
                found[place] = computed(cell, columns, np.empty(0), ())
            else:
                found[place] = OPERATIONS[cell.operation](*inputs)
    return {place: found[place] for place in graph.still}
