"""A cover of the domain by boxes that follow the data.

Nothing here carries privacy: whatever the pilot, the shear and the groups are, the boxes cover the
domain and their bounds hold, and the law of a draw does not depend on them. They decide how many
boxes it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.halving import KEY, REAL, enough
from kng.core.boxes.sheared import SHIFT, ShearedBoxes
from kng.core.compiled import load
from kng.core.parts import Point, Walled
from kng.losses.enclosures.plane_bounds import DOUBT, LEAST, RATE, SLACK, P, Q
from kng.losses.enclosures.plane_field import PlaneField
from kng.losses.enclosures.plane_loop import LENGTH, LIST, WHOLE, packed, refine
from kng.losses.enclosures.plane_sides import scan_points
from kng.losses.enclosures.record_tree import HIGH, fill_groups, order_groups
from kng.losses.enclosures.sorted_records import SortedRecords
from kng.losses.enclosures.start_points import pilot_of

Array = NDArray[np.float64]

# Room for open items grows to at least this, and to this many for each box.
_ROOM, _PER_BOX = 2**21, 16


class PlaneCover:
    """Boxes of lattice points with bounds on the exponent, and the records they leave open."""

    def __init__(
        self, field: PlaneField, records: SortedRecords, rate: Fraction, boxes: ShearedBoxes
    ) -> None:
        n, d = records.rows.shape
        self.boxes, self._field, self._records = boxes, field, records
        self._groups = records.groups(boxes.shear)
        root = self._groups[0]
        magnitudes = 2 * root[4 * d : 5 * d] - root[3 * d : 4 * d]  # sums of |x_j|
        self._totals = np.array(
            [*root[3 * d : 4 * d], HIGH * root[7 * d + 2] + root[7 * d + 3], *magnitudes]
        )
        self._facts = np.array(
            [
                float(field.tau.numerator),
                float(field.tau.denominator),
                float(field.slope),
                float(rate * field.unit),
                1.0 if field.weighed == "value" else 0.0,
                0.0,
            ]
        )
        # Exponents that are too small, if anything, for each unit of the score.
        self._rate = float(rate) * (1 - 2.0**-40)
        p, q, rated = self._facts[P], self._facts[Q], self._facts[RATE]
        # A few dozen roundings of sums that are at most this large.
        self._facts[SLACK] = 2.0**-44 * rated * (p + q) * magnitudes.sum()
        # The loss at the pilot is the least that is known.
        self.running, self._best = np.zeros(6), np.zeros(d)
        loss, self.running[DOUBT] = records.loss(p / q)
        self.running[LEAST] = q * loss * (1 + 2**-30)
        self._items, self._listed = np.zeros(2 * n + 4096, np.int32), 0
        self._stack = np.zeros(128 + (n >> records.levels) + 2, np.int32)

    def refine(self, goal: int) -> None:
        """Halve boxes until there are so many, or enough to accept most attempts."""
        b, r = self.boxes, self._records
        while True:
            b.made, self._listed, b.waiting = refine(
                r.rows, r.residual, r.copies, self._groups, r.levels, b.turn,
                b.shear, self._totals, self._facts, b.walls, b.limits, b.whole, b.real, self._items,
                b.heap, b.made, self._listed, b.waiting, self._best, self.running, goal, SHIFT,
            )  # fmt: skip
            if enough(self.running, b.made, goal) or not b.waiting:
                return
            if b.made + 1 > len(b.real):
                b.grow()
            else:
                self._make_room()

    def _make_room(self) -> None:
        """Drop lists that nobody needs, then grow, then drop those of the lightest boxes.

        A box without a list starts again from the group of all records, so lists are a matter of
        time only, and the memory for them stays in proportion to the records.
        """
        b, d = self.boxes, len(self._best)
        lists, live = b.whole[:, 2 * d + LIST : 2 * d + LENGTH + 1], b.live()
        start, length = lists[b.heap[0]]
        own = self._items[start : start + length]
        need = int(np.where(own < 0, 1, self._groups[np.maximum(own, 0), 7 * d + 4]).sum())
        need, size = 2 * min(need, len(self._records.rows)), len(self._items)
        most = max(_ROOM, _PER_BOX * b.made)
        while lists[live, 1].sum() > min(size // 2, size - need) and size < most:
            size *= 2
        heaviest = live[np.argsort(-b.real[live, KEY], kind="stable")]
        dropped = heaviest[np.cumsum(lists[heaviest, 1]) >= min(size // 2, size - need)]
        lists[dropped], b.real[dropped, REAL:] = (0, 1), 0.0
        room = self._items if size == len(self._items) else np.zeros(size, np.int32)
        kept = live[lists[live, 0] > 0]
        kept = kept[np.argsort(lists[kept, 0])]  # no list is written over before it has moved
        self._listed = packed(self._items, room, lists, kept)
        self._items = room

    def counted(self, boxes: NDArray[np.int64], t: NDArray[np.int64]) -> Array:
        """Return sums of x and of the residual (two parts) over records with y <= x'theta."""
        d = len(self._best)
        r, sums, whole = self._records, self.boxes.real[boxes, REAL:], self.boxes.whole
        scan_points(
            r.rows, r.residual, r.copies, self.boxes.shear, self._groups, r.levels,
            t.astype(np.float64), self._items, whole[boxes, 2 * d + LIST],
            whole[boxes, 2 * d + LENGTH], self._listed, self._stack, sums,
        )  # fmt: skip
        return sums

    def scores(self, boxes: NDArray[np.int64], t: NDArray[np.int64]) -> PlaneScores:
        """Return the scores at one point of each box."""
        counted = self.counted(boxes, t)
        least = self._field.least_scores(t + np.array(self.boxes.pilot), self.rounded(counted))
        return PlaneScores(self, self._field, counted, self._rate * least)

    def rounded(self, counted: Array) -> Array:
        """Return the sums of x and of y in float64."""
        x, high, low = counted[:, :-2], counted[:, -2], counted[:, -1]
        y = HIGH * high + low + x @ np.array(self.boxes.pilot, np.float64)
        return np.column_stack([x, y])

    def exact(self, counted: Array) -> tuple[int, ...]:
        """Return the sums of x and of y as whole numbers."""
        *x, high, low = (int(v) for v in counted)
        y = int(HIGH) * high + low + sum(a * p for a, p in zip(x, self.boxes.pilot, strict=True))
        return (*x, y)


@dataclass(frozen=True, slots=True)
class PlaneScores:
    """Scores at points of boxes, from the sums over the records that count."""

    cover: PlaneCover
    field: PlaneField
    counted: Array
    least: Array

    def exact(self, index: int, point: Point) -> Fraction:
        """Return the score at a point."""
        return self.field.score_of(point, self.cover.exact(self.counted[index]))


def load_planes() -> None:
    """Load what covers need, before anything is charged."""
    load(order_groups, fill_groups, refine, enough, packed, scan_points)


def covers_of(domain: Walled, field: PlaneField, rate: Fraction) -> list[PlaneCover]:
    """Return covers with one box, for the whole domain, one with each shear."""
    first, last = (np.array([float(k) for k in ends]) for ends in (domain.first, domain.last))
    pilot, shears = (first + last) // 2, [np.eye(domain.dim)]
    if len(field.rows):
        pilot, shears = pilot_of(field)
        pilot = np.clip(np.rint(pilot), first, last)
    boxes = [ShearedBoxes(domain, pilot, shear, WHOLE, domain.dim + 2) for shear in shears]
    records = SortedRecords.of(field, boxes[0].pilot, first, last)
    return [PlaneCover(field, records, rate, each) for each in boxes]
