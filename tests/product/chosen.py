"""Which cells run: a pairwise cover, or all of them if PRODUCT=full."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import astuple
from itertools import combinations

from product.cells import Cell
from product.table import accepted_cells

FULL = os.environ.get("PRODUCT") == "full"


def pairs_of(cell: Cell) -> set[tuple[int, str, int, str]]:
    """Return what a cell holds on each two axes."""
    return {(i, a, j, b) for (i, a), (j, b) in combinations(enumerate(astuple(cell)), 2)}


def cover(cells: Iterable[Cell]) -> list[Cell]:
    """Return few cells in which all pairs of parts that occur together in some cell do so."""
    waiting = {cell: pairs_of(cell) for cell in cells}
    left = set().union(*waiting.values())
    found = []
    for most in range(10, 0, -1):  # each cell holds ten pairs; those with most new ones come first
        for cell in list(waiting):
            if len(waiting[cell] & left) >= most:
                found.append(cell)
                left -= waiting.pop(cell)
    return found


def chosen(cells: Iterable[Cell]) -> list[Cell]:
    """Return all of the cells, or a cover of them."""
    return list(cells) if FULL else cover(cells)


_DENSITIES = [cell for cell in accepted_cells() if cell.mechanism in ("kng", "exponential")]
# Densities on the lattice points of a bounded domain, and on the whole space.
ON_LATTICES = chosen(cell for cell in _DENSITIES if cell.domain != "whole")
# Those that are also asked with each base measure, which numbers in order have none of.
_WEIGHED = [cell for cell in ON_LATTICES if cell.domain != "ordered"]
BASED = _WEIGHED if FULL else cover(_WEIGHED[::8])
ON_THE_WHOLE_SPACE = [cell for cell in _DENSITIES if cell.domain == "whole"]
