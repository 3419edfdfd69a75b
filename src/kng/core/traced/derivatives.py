"""The gradient of a traced function, by forward differentiation: each cell with its derivative.

Where a function has a kink the derivative of one side is taken; where it jumps, that of the piece.
"""

from __future__ import annotations

from kng.core.traced.graph import SELECT, THETA, Cell, Draft


def gradient(draft: Draft, value: int, dim: int) -> list[int]:
    """Return the places of the derivatives of a cell by each coordinate of theta."""
    zero = draft.number(0.0)
    found = []
    for j in range(dim):
        slopes: dict[int, int] = {}
        for place in range(value + 1):
            slope = _slope(draft, place, draft.cells[place], slopes, j)
            if slope is not None:
                slopes[place] = slope
        found.append(slopes.get(value, zero))
    return found


def _slope(draft: Draft, place: int, cell: Cell, slopes: dict[int, int], j: int) -> int | None:
    """Return the derivative of a cell by coordinate j, or None where it is 0."""
    if cell.operation == THETA:
        return draft.number(1.0) if cell.index == j else None
    if cell.logical or not any(i in slopes for i in cell.inputs):
        return None
    if len(cell.inputs) == 1:
        inner = _inner(draft, cell.operation, cell.inputs[0], place)
        return None if inner is None else _times(draft, inner, slopes[cell.inputs[0]])
    if cell.operation in (SELECT, "minimum", "maximum"):
        return _chosen(draft, cell, slopes)
    (a, b), (da, db) = cell.inputs, (slopes.get(i) for i in cell.inputs)
    match cell.operation:
        case "add":
            return _plus(draft, da, db)
        case "subtract":
            return _plus(draft, da, None if db is None else draft.cell("negative", db))
        case "multiply":
            left = None if da is None else _times(draft, b, da)
            return _plus(draft, left, None if db is None else _times(draft, a, db))
    # A quotient q = a / b has the derivative (a' - q b') / b.
    less = None if db is None else draft.cell("negative", _times(draft, place, db))
    above = _plus(draft, da, less)
    assert above is not None  # one of the two has a slope
    return draft.cell("divide", above, b)


def _inner(draft: Draft, operation: str, x: int, place: int) -> int | None:
    """Return f'(x) of a function of one number, whose cell is at ``place``."""
    one = draft.number(1.0)
    match operation:
        case "negative":
            return draft.number(-1.0)
        case "absolute":
            return draft.cell("sign", x)
        case "exp":
            return place
        case "expm1":
            return draft.cell("exp", x)
        case "log":
            return draft.cell("divide", one, x)
        case "log1p":
            return draft.cell("divide", one, draft.cell("add", one, x))
        case "sqrt":
            return draft.cell("divide", draft.number(0.5), place)
        case "tanh":
            return draft.cell("subtract", one, draft.cell("square", place))
        case "arctan":
            return draft.cell("divide", one, draft.cell("add", one, draft.cell("square", x)))
        case "expit":
            return draft.cell("multiply", place, draft.cell("subtract", one, place))
        case "softplus":
            return draft.cell("expit", x)
        case "square":
            return draft.cell("multiply", draft.number(2.0), x)
    return None  # of a sign


def _chosen(draft: Draft, cell: Cell, slopes: dict[int, int]) -> int:
    """Return the derivative of the input that is taken."""
    if cell.operation == SELECT:
        mask, a, b = cell.inputs
    else:
        a, b = cell.inputs
        mask = draft.cell("less_equal", *((a, b) if cell.operation == "minimum" else (b, a)))
    zero = draft.number(0.0)
    return draft.cell(SELECT, mask, slopes.get(a, zero), slopes.get(b, zero))


def _plus(draft: Draft, a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return draft.cell("add", a, b)


def _times(draft: Draft, a: int, b: int) -> int:
    if draft.is_number(b, 1.0):
        return a
    if draft.is_number(a, -1.0):
        return draft.cell("negative", b)
    return draft.cell("multiply", a, b)
