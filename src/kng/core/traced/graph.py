"""A function of one record and theta as a list of operations, each on one number.

    cell_i = operation( cell_j, cell_k, ... ),      j, k, ... < i

Columns, coordinates of theta and constants come first in any order; every other cell is one of the
listed operations. Nothing in a graph can see a second record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

# Where a cell is read from: a column of the record, a coordinate of theta, a number.
COLUMN, THETA, NUMBER = "column", "theta", "number"
# Operations with one and with two inputs, on numbers.
SMOOTH = ("exp", "log", "expm1", "log1p", "sqrt", "tanh", "arctan", "expit", "softplus", "square")
ONE = (*SMOOTH, "negative", "absolute", "sign")
TWO = ("add", "subtract", "multiply", "divide", "minimum", "maximum")
# Comparisons of numbers, operations on their answers, and what an answer chooses.
COMPARED = ("less", "less_equal", "equal", "not_equal")
LOGICAL = ("and", "or", "not")
SELECT = "select"


@dataclass(frozen=True, slots=True)
class Cell:
    """One operation; ``detail`` is an index, or a number in hexadecimal, which keeps every bit."""

    operation: str
    inputs: tuple[int, ...] = ()
    detail: str = ""

    @property
    def number(self) -> float:
        """The number that it is."""
        return float.fromhex(self.detail)

    @property
    def index(self) -> int:
        """Which column or coordinate it is."""
        return int(self.detail)

    @property
    def logical(self) -> bool:
        """Whether it is true or false rather than a number."""
        return self.operation in COMPARED or self.operation in LOGICAL


@dataclass(frozen=True, slots=True)
class Graph:
    """Cells in an order in which they can be computed, and which of them are the results."""

    cells: tuple[Cell, ...]
    results: tuple[int, ...]
    # Which cells depend on theta, and which of the others are asked for by those that do.
    moving: tuple[bool, ...] = field(init=False, compare=False, repr=False)
    still: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        moving: list[bool] = []
        for cell in self.cells:
            moving.append(cell.operation == THETA or any(moving[i] for i in cell.inputs))
        asked = {k for i, cell in enumerate(self.cells) if moving[i] for k in cell.inputs}
        still = sorted(i for i in asked.union(self.results) if not moving[i])
        object.__setattr__(self, "moving", tuple(moving))
        object.__setattr__(self, "still", tuple(still))


class Draft:
    """Cells while a function is traced; equal cells are one."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self._known: dict[Cell, int] = {}

    def cell(self, operation: str, *inputs: int, detail: str = "") -> int:
        """Return the place of a cell, a new one if there is none like it."""
        if operation == "negative" and self.cells[inputs[0]].operation == "negative":
            return self.cells[inputs[0]].inputs[0]
        made = self._shorter(operation, inputs) or Cell(operation, inputs, detail)
        if made not in self._known:
            self._known[made] = len(self.cells)
            self.cells.append(made)
        return self._known[made]

    def number(self, value: float) -> int:
        """Return the place of a constant."""
        return self.cell(NUMBER, detail=float(value).hex())

    def is_number(self, place: int, value: float) -> bool:
        """Tell whether a cell is this constant."""
        return self.cells[place] == Cell(NUMBER, (), float(value).hex())

    def finished(self, results: Iterable[int]) -> Graph:
        """Return the graph of what the results need, in one order for equal functions."""
        kept, places = list(results), dict[int, int]()
        needed, waiting = set[int](), list(kept)
        while waiting:
            place = waiting.pop()
            if place not in needed:
                needed.add(place)
                waiting.extend(self.cells[place].inputs)
        cells: list[Cell] = []
        for place in sorted(needed):
            cell = self.cells[place]
            places[place] = len(cells)
            cells.append(Cell(cell.operation, tuple(places[i] for i in cell.inputs), cell.detail))
        return Graph(tuple(cells), tuple(places[i] for i in kept))

    def _shorter(self, operation: str, inputs: tuple[int, ...]) -> Cell | None:
        """Return one cell for what is often written with several: sigma, and log(1 + exp)."""
        if operation == "log1p" and self.cells[inputs[0]].operation == "exp":
            return Cell("softplus", self.cells[inputs[0]].inputs)
        if operation != "divide":
            return None
        above, below = inputs
        total = self.cells[below]
        if total.operation != "add":
            return None
        for one, grown in (total.inputs, total.inputs[::-1]):
            if not self.is_number(one, 1.0) or self.cells[grown].operation != "exp":
                continue
            (inside,) = self.cells[grown].inputs
            if above == grown:
                return Cell("expit", (inside,))
            if self.is_number(above, 1.0):
                return Cell("expit", (self.cell("negative", inside),))
        return None
