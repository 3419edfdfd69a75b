"""A cover of the domain by boxes that follow the data.

Nothing here carries privacy: whatever the pilot, the shear and the groups are, the boxes cover the
domain and their bounds hold, and the law of a draw does not depend on them. They decide how many
boxes it takes.

    pilot   a least-squares fit moved to the wanted quantile; residuals are taken from it
    shear   makes the covariates orthogonal, so that boxes fit the valley of the loss
    groups  records near each other, decided together by large boxes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log2

import numpy as np
from numpy.typing import NDArray

from kng.core.protocols import PlaneDomain, PlaneField, Point
from kng.samplers.boxes import (
    DOUBT,
    LEAST,
    LENGTH,
    LIST,
    RATE,
    SLACK,
    WHOLE,
    P,
    Q,
    packed,
    refine,
    scan_points,
)
from kng.samplers.grouping import HIGH, fill_groups, order_groups
from kng.samplers.halving import KEY, REAL, enough
from kng.samplers.heaps import merged
from kng.samplers.sheared import SHIFT, ShearedBoxes

Array = NDArray[np.float64]

# Records in a group of the last level, and the most levels there are.
_GROUP = 16
_LEVELS = 13
_BLOCK = 2**14
_SAMPLE = 4096
# Room for open items grows to at least this, and to this many for each box.
_ROOM, _PER_BOX = 2**21, 16


class Cover:
    """Boxes of lattice points with bounds on the exponent, and the records they leave open."""

    def __init__(
        self, domain: PlaneDomain, field: PlaneField, rate: Fraction, pilot: Array, shear: Array
    ) -> None:
        d = field.rows.shape[1]
        self._field = field
        self.boxes = ShearedBoxes(domain, pilot, shear, WHOLE, d + 2)
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
        self._arrange(field)
        self._totals = np.array(
            [*self._sum(3 * d, d), HIGH * self._root(2) + self._root(3), *self._magnitudes()]
        )
        # A few dozen roundings of sums that are at most this large.
        p, q, rate = self._facts[P], self._facts[Q], self._facts[RATE]
        self._facts[SLACK] = 2.0**-44 * rate * (p + q) * self._magnitudes().sum()
        self._start()

    def _arrange(self, field: PlaneField) -> None:
        """Put records into groups; arrays that are done with go before the next ones come."""
        residual = _residuals(field, np.array(self.boxes.pilot, np.float64))
        rows, residual, copies = merged(field.rows, residual)
        n, d = rows.shape
        self._levels = levels = min(_LEVELS, max(0, int(log2(max(n / _GROUP, 1)))))
        order = np.arange(n, dtype=np.int32)
        order_groups(rows, residual, _spreads(rows, residual), order, levels)
        residual = residual[order]
        self._residual, self._rows = residual, rows[order]
        self._copies = copies[order] if len(copies) else copies
        del order
        self._groups = np.zeros((2 ** (levels + 1) - 1, 7 * d + 5))
        fill_groups(
            self._rows, self._residual, self._copies, self.boxes.shear, levels, self._groups
        )

    def _sum(self, first: int, size: int) -> Array:
        return self._groups[0, first : first + size]

    def _root(self, part: int) -> float:
        return float(self._groups[0, 7 * self._rows.shape[1] + part])

    def _magnitudes(self) -> Array:
        """Return the sum of |x_j| for each coordinate."""
        d = self._rows.shape[1]
        return 2 * self._sum(4 * d, d) - self._sum(3 * d, d)

    def _start(self) -> None:
        """Make room for open items, and take the loss at the pilot for the least that is known."""
        n, d = self._rows.shape
        self._items, self._listed = np.zeros(2 * n + 4096, np.int32), 0
        self._best = np.zeros(d)
        self._running = np.zeros(6)
        tau, loss = self._facts[P] / self._facts[Q], 0.0
        for part in _parts(n):
            residual = self._residual[part]
            times = self._copies[part] if len(self._copies) else 1
            loss += float((times * np.maximum(tau * residual, (tau - 1) * residual)).sum())
            self._running[DOUBT] += (times * np.abs(residual)).sum()
        self._running[LEAST] = self._facts[Q] * loss * (1 + 2**-30)
        self._stack = np.zeros(128 + (n >> self._levels) + 2, np.int32)

    def refine(self, goal: int) -> None:
        """Halve boxes until there are so many, or enough to accept most attempts."""
        b = self.boxes
        while True:
            b.made, self._listed, b.waiting = refine(
                self._rows, self._residual, self._copies, self._groups, self._levels, b.turn,
                b.shear, self._totals, self._facts, b.walls, b.limits, b.whole, b.real, self._items,
                b.heap, b.made, self._listed, b.waiting, self._best, self._running, goal, SHIFT,
            )  # fmt: skip
            if enough(self._running, b.made, goal) or not b.waiting:
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
        b, d = self.boxes, self._rows.shape[1]
        lists, live = b.whole[:, 2 * d + LIST : 2 * d + LENGTH + 1], b.live()
        start, length = lists[b.heap[0]]
        own = self._items[start : start + length]
        need = int(np.where(own < 0, 1, self._groups[np.maximum(own, 0), 7 * d + 4]).sum())
        need, size = 2 * min(need, len(self._rows)), len(self._items)
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
        d = self._rows.shape[1]
        sums, whole = self.boxes.real[boxes, REAL:], self.boxes.whole
        scan_points(
            self._rows, self._residual, self._copies, self.boxes.shear, self._groups, self._levels,
            t.astype(np.float64), self._items, whole[boxes, 2 * d + LIST],
            whole[boxes, 2 * d + LENGTH], self._listed, self._stack, sums,
        )  # fmt: skip
        return sums

    def scores(self, boxes: NDArray[np.int64], t: NDArray[np.int64]) -> PlaneScores:
        """Return the scores at one point of each box."""
        counted = self.counted(boxes, t)
        least = self._field.least_scores(t + np.array(self.boxes.pilot), self.rounded(counted))
        return PlaneScores(self, self._field, counted, least)

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

    cover: Cover
    field: PlaneField
    counted: Array
    least: Array

    def exact(self, index: int, point: Point) -> Fraction:
        """Return the score at a point."""
        return self.field.score_of(point, self.cover.exact(self.counted[index]))


def cover_of(domain: PlaneDomain, field: PlaneField, rate: Fraction) -> Cover:
    """Return a cover with one box, for the whole domain."""
    rows = field.rows
    n, d = rows.shape
    if n == 0:
        pilot = np.array(
            [float((a + b) // 2) for a, b in zip(domain.first, domain.last, strict=True)]
        )
        return Cover(domain, field, rate, pilot, np.eye(d))
    gram, moment = np.zeros((d, d)), np.zeros(d)
    for part in _parts(n):
        block = rows[part].astype(np.float64)
        gram += block.T @ block
        moment += block.T @ field.response[part]
    shear = _orthogonal(gram)
    gram += 1e-6 * np.trace(gram) / d * np.eye(d)
    pilot = np.asarray(np.linalg.solve(gram, moment), np.float64)
    shift = np.quantile(_residuals(field, pilot), float(field.tau), overwrite_input=True)
    pilot[0] += shift / max(1.0, float(np.abs(rows[:, 0]).mean()))
    inside = np.clip(
        np.rint(pilot), [float(k) for k in domain.first], [float(k) for k in domain.last]
    )
    return Cover(domain, field, rate, inside, shear)


def _orthogonal(gram: Array) -> Array:
    """Return V, unit upper triangular, that makes the columns of x V orthogonal.

    A column that those before it explain is passed over, so that what follows leans on few columns
    and in round numbers: then boxes lie along planes that collinear records cannot tell apart.
    """
    rest, unit = gram.copy(), np.eye(len(gram))
    for k in range(len(gram)):
        if rest[k, k] > 1e-9 * gram[k, k]:
            unit[k, k + 1 :] = rest[k, k + 1 :] / rest[k, k]
            rest -= np.outer(rest[k], rest[k]) / rest[k, k]
    return np.asarray(np.linalg.inv(unit))


def _residuals(field: PlaneField, t: Array) -> Array:
    """Return y - x't for all records; exact for whole t."""
    out = np.empty(len(field.rows))
    for part in _parts(len(out)):
        out[part] = field.response[part] - field.rows[part].astype(np.float64) @ t
    return out


def _spreads(rows: NDArray[np.float32], residual: Array) -> Array:
    """Return how widely residuals and covariates are spread, as a few thousand records tell."""
    spaced = slice(None, None, max(1, len(rows) // _SAMPLE))
    columns = np.vstack([residual[spaced], rows[spaced, 1:].T])
    spreads = columns.std(axis=1) if len(rows) else np.zeros(len(columns))
    return np.asarray(np.where(spreads > 0, spreads, 1.0), np.float64)


def _parts(n: int) -> Iterator[slice]:
    """Cut records into runs whose temporaries stay in the processor's cache."""
    return (slice(at, at + _BLOCK) for at in range(0, n, _BLOCK))
