"""Expansions of a smooth psi, each box from the least that tells enough of it.

    the tangent at a point near the minimiser     no record is looked at
    cells of records that are alike               some hundreds, in place of all
    all records                                   what is left

Each of the three holds for every box; which one is taken decides how long it takes, and how narrow
the bounds are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.covering import Leaning
from kng.core.parts import Expansion
from kng.losses.enclosures.record_cells import RecordCells, cells_of
from kng.losses.enclosures.tangent import Tangent, tangent_at
from kng.losses.kernels.linear_rows import ENDS, WHOLE
from kng.losses.pointwise.function import BentSteps

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Expands boxes from all records, in units of the score.
Whole = Callable[[Array, Array, Leaning | None], Expansion]


class BentRecords:
    """Records of a linear model with a smooth psi, in cells, and their tangent once it is asked."""

    def __init__(self, rows: Array, response: Array, stepped: BentSteps) -> None:
        self._rows, self._response, self._stepped = rows, response, stepped
        self.cells: RecordCells | None = cells_of(rows, response, stepped)
        self._start: Array | None = None
        self._tangent: Tangent | None = None

    def start(self, find: Callable[[], Array]) -> Array:
        """Return the point that is near the minimiser; it is found once."""
        if self._start is None:
            self._start = find()
        return self._start

    def expand(
        self, start: Callable[[], Array], whole: Whole, centre: Array, half: Array,
        lean: Leaning | None,
    ) -> Expansion:  # fmt: skip
        """Expand the summed scores over boxes."""
        (m, d), rest = centre.shape, np.arange(len(centre))
        value, slope, out = np.zeros((m, d)), np.zeros((m, d, d)), np.zeros((m, d))
        if self._tangent is None:
            # A point so far away that x't is not exact is no use; 0 is as good as any other.
            point = np.rint(start())
            point = point if ENDS * np.abs(point).sum() < WHOLE else np.zeros(d)
            self._tangent = tangent_at(point, self._rows, self._response, self._stepped)
        ways: list[Callable[..., tuple[Expansion, Mask]]] = [self._tangent.expand]
        if self.cells is not None:
            ways.append(self.cells.expand)
        for way in ways:
            some = None if lean is None else lean.of(rest)
            found, enough = way(centre[rest], half[rest], some)
            done = rest[enough]
            scaled = self._scaled(found, half[rest])
            value[done], slope[done] = scaled.value[enough], scaled.slope[enough]
            out[done] = scaled.out[enough]
            rest = rest[~enough]
            if not rest.size:
                return Expansion(value, slope, out)
        found = whole(centre[rest], half[rest], None if lean is None else lean.of(rest))
        value[rest], slope[rest], out[rest] = found.value, found.slope, found.out
        return Expansion(value, slope, out)

    def _scaled(self, found: Expansion, half: Array) -> Expansion:
        """Return an expansion of sums of whole steps in units of the score."""
        worth = float(self._stepped.psi_step / ENDS)
        terms = np.abs(found.value) + np.einsum("mkd,md->mk", np.abs(found.slope), half)
        out = (found.out + 2.0**-50 * terms) * (worth * (1 + 2.0**-50))
        return Expansion(found.value * worth, found.slope * worth, out)
