"""A linear model whose records stay where they are: passes over them, and cells that came home.

Passes move a pilot towards the minimiser and end with sums over public cells around it. From these
come bounds over boxes; the score at a point that is about to be accepted is one pass more. No
record is kept, and memory depends on the number of columns alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.covering import Leaning
from kng.core.parts import Expansion, Point
from kng.core.records import Records, Source
from kng.losses.kernels.linear_rows import ENDS, LinearRows
from kng.losses.kernels.psi_sums import PsiSums
from kng.losses.kernels.residual_cells import Cells, ResidualCells
from kng.losses.pointwise.function import Stepped
from kng.losses.pointwise.ramps import Ramp, ramp_of
from kng.losses.reading import Measure, ReadPlan

Array = NDArray[np.float64]

# Passes at most until the pilot rests; each leaves a small part of its distance.
_PASSES = 6
# Widths of the ramp for Newton's steps: as wide as residuals are, then narrower each time.
_NARROWER, _STEPS = 0.25, 3
# Scores that are remembered.
_REMEMBERED = 2**10


def read_cells(source: Source, plans: Sequence[ReadPlan]) -> list[CellField]:
    """Return a field for each plan; nothing is read before it draws."""
    fields = []
    for plan in plans:
        loss, domain = plan.problem.loss, plan.domain
        ends = zip(domain.first, domain.last, strict=True)
        most = ENDS * sum(max(abs(first), abs(last)) for first, last in ends)
        corners, largest = (domain.first, domain.last), loss.largest(most)
        fields.append(
            CellField(source, loss.rows, loss.stepped(most), plan.measure, largest, corners)
        )
    return fields


@dataclass(frozen=True)
class CellField:
    """The norm of  sum psi x,  of records that are read once for each question.

        gradient   || sum psi(x't, y) x ||_K  psi_step / ENDS

    The same numbers as those of a `LinearField`.
    """

    source: Records
    rows: LinearRows
    stepped: Stepped
    measure: Measure
    largest: int
    corners: tuple[Point, Point]  # of a box around the domain
    _known: dict[str, object] = field(default_factory=dict, repr=False, compare=False)
    _scores: dict[Point, Fraction] = field(default_factory=dict, repr=False, compare=False)

    def score(self, theta: Point) -> Fraction:
        """Return the score at one lattice point, exactly: one pass."""
        self.foresee([theta])
        return self._scores[theta]

    def foresee(self, points: Sequence[Point]) -> None:
        """Compute the scores at several points in one pass, and remember them."""
        wanted = tuple(dict.fromkeys(p for p in points if p not in self._scores))
        if not wanted:
            return
        if len(self._scores) > _REMEMBERED:
            self._scores.clear()
        totals = self.source.reduce(PsiSums(self.rows, self.stepped, self.largest, wanted))
        unit = self.stepped.psi_step / ENDS
        for point, total in zip(wanted, totals, strict=True):
            self._scores[point] = self.measure(point, [unit * a for a in total])

    def expand(self, centre: Array, half: Array) -> Expansion:
        """Expand the summed scores over boxes."""
        return self._expanded(centre, half, None)

    def expand_leaning(self, centre: Array, half: Array, lean: Leaning) -> Expansion:
        """Expand over boxes that also lean."""
        return self._expanded(centre, half, lean)

    def start(self) -> Array:
        """Return the pilot."""
        return np.array(self._tree.pilot)

    def _expanded(self, centre: Array, half: Array, lean: Leaning | None) -> Expansion:
        found, worth = self._tree.expand(centre, half, lean), float(self.stepped.psi_step / ENDS)
        out = found.out * worth * (1 + 2.0**-50) + 2.0**-50 * np.abs(found.value * worth)
        reach = np.einsum("mkd,md->mk", np.abs(found.slope), half) * worth
        return Expansion(found.value * worth, found.slope * worth, out + 2.0**-50 * reach)

    @property
    def _tree(self):  # type: ignore[no-untyped-def]
        from kng.losses.enclosures.cell_tree import CellTree  # loaded by `load_cells`

        if "tree" not in self._known:
            ramp = ramp_of(self.stepped)
            self._known["tree"] = CellTree.of(self._cells(ramp), ramp)
        return self._known["tree"]

    def _cells(self, ramp: Ramp) -> Cells:
        """Read cells around a pilot until it rests."""
        first, last = self.corners
        pilot = tuple((a + b) // 2 for a, b in zip(first, last, strict=True))
        for _ in range(_PASSES - 1):
            cells = self._around(pilot, ramp)
            moved, within = _newton(cells, ramp)
            following = tuple(
                min(max(p + round(float(v)), a), b)
                for p, v, a, b in zip(pilot, moved, first, last, strict=True)
            )
            # What cells leave open at the minimiser is the square of this, times these records.
            far = ENDS * float(np.abs(moved).sum()) / ramp.bend
            if far * far * within < 1.0 / 16 or following == pilot:
                return cells
            pilot = following
        return self._around(pilot, ramp)

    def _around(self, pilot: Point, ramp: Ramp) -> Cells:
        kernel = ResidualCells(self.rows, pilot, ramp.bend)
        return Cells.of(kernel, self.source.reduce(kernel))


def _newton(cells: Cells, ramp: Ramp) -> tuple[Array, float]:
    """Return how far the minimiser is from the pilot, about, and how many records are on the ramp.

    Cells stand for records at their means. The ramp is as wide as residuals are at first and gets
    narrower, so that kinks do not upset the steps.
    """
    d = cells.first.shape[1]
    t = np.zeros(d)
    if not len(cells.count):
        return t, 0.0
    x = cells.first / cells.count[:, None]
    e = (cells.low[:, -1] + cells.high[:, -1]) / 2
    if (x[:, 0] != 0).all() and (cells.low[:, 0] == cells.high[:, 0]).all():
        e = cells.cross[:, 0] / cells.first[:, 0]  # the mean, which an intercept tells
    many, middle, height = cells.count, (ramp.bottom + ramp.top) / 2, (ramp.top - ramp.bottom) / 2
    gram = (x * many[:, None]).T @ x
    ridge = (1e-12 * np.trace(gram) + 1.0) * np.eye(d)  # not singular, whatever x is
    wide = max(ramp.bend, float(np.abs(e).max()))
    while True:
        for _ in range(_STEPS):
            r = (e + x @ t) / wide
            psi = many * (middle + height * np.clip(r, -1.0, 1.0))
            on = x[np.abs(r) < 1] * many[np.abs(r) < 1, None]
            hessian = (on.T @ x[np.abs(r) < 1] + ridge) * (height / wide)
            step = np.linalg.solve(hessian, psi @ x)
            # No farther than the ramp is wide: beyond, the line says nothing.
            size = ENDS * float(np.abs(step).sum()) / wide
            t = t - step / max(1.0, size)
        if wide <= ramp.bend:
            break
        wide = max(ramp.bend, wide * _NARROWER)
    within = float(many[np.abs(e + x @ t) <= ramp.bend].sum())
    return (t if np.isfinite(t).all() else np.zeros(d)), within
