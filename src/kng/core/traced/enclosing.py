"""A graph over boxes of theta, for a block of records: every cell enclosed, results returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kng.core.traced import lines
from kng.core.traced.boxes import Boxes
from kng.core.traced.enclosed import Enclosed, Told, chosen, coordinate, fixed
from kng.core.traced.graph import SELECT, SMOOTH, THETA, Cell, Graph
from kng.core.traced.smooth import smooth


def enclosed(
    graph: Graph,
    still: Mapping[int, Any],
    boxes: Boxes,
    origin: Sequence[float],
    step: Sequence[float],
) -> list[Enclosed]:
    """Return the results of a graph; ``still`` holds the cells that do not depend on theta."""
    found: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        for place, value in still.items():
            logical = graph.cells[place].logical
            found[place] = Told(value, ~value) if logical else fixed(value)
        for place, cell in enumerate(graph.cells):
            if not graph.moving[place]:
                continue
            if cell.operation == THETA:
                j = cell.index
                found[place] = coordinate(boxes, j, origin[j], step[j])
            else:
                found[place] = _operated(boxes, cell, [found[i] for i in cell.inputs])
    return [found[place] for place in graph.results]


def _operated(boxes: Boxes, cell: Cell, inputs: list[Any]) -> Enclosed | Told:
    if cell.operation in SMOOTH:
        return smooth(boxes, cell.operation, inputs[0])
    match cell.operation:
        case "negative":
            return lines.negative(inputs[0])
        case "subtract":
            return lines.add(boxes, inputs[0], lines.negative(inputs[1]))
        case "less" | "less_equal" | "equal":
            told: Told = getattr(lines, cell.operation)(*inputs)
            return told
        case "not_equal":
            same = lines.equal(*inputs)
            return Told(same.no, same.yes)
        case "and":
            return Told(inputs[0].yes & inputs[1].yes, inputs[0].no | inputs[1].no)
        case "or":
            return Told(inputs[0].yes | inputs[1].yes, inputs[0].no & inputs[1].no)
        case "not":
            return Told(inputs[0].no, inputs[0].yes)
        case operation if operation == SELECT:
            return chosen(boxes, *inputs)
    # add, multiply, divide, minimum, maximum, absolute, sign
    found: Enclosed = getattr(lines, cell.operation)(boxes, *inputs)
    return found
