"""A cover of the domain by boxes that follow the data.

Nothing here carries privacy: whatever the pilot, the shear and the groups are, the boxes cover the
domain and their bounds hold, and the law of a draw does not depend on them. They decide how many
boxes it takes.

    pilot   a least-squares fit moved to the wanted quantile; residuals are taken from it
    shear   makes the covariates orthogonal, so that boxes fit the valley of the loss
    groups  records near each other, decided together by large boxes
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
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
    refine,
    scan_points,
)
from kng.samplers.grouping import HIGH, fill_groups, order_groups
from kng.samplers.halving import CERTAIN, ENVELOPE, LOWER, POINTS, REAL, UPPER
from kng.samplers.heaps import merged

Array = NDArray[np.float64]

# The shear is in multiples of 2**-SHIFT and no entry beyond STEEPEST. Covariates are multiples of
# 2**-16, so a constant one is sheared away exactly.
_SHIFT = 16
_STEEPEST = 4.0
# Records in a group of the last level, and the most levels there are.
_GROUP = 16
_LEVELS = 13
# Records whose temporaries stay in the processor's cache.
_BLOCK = 2**14


class Cover:
    """Boxes of lattice points with bounds on the exponent, and the records they leave open."""

    def __init__(
        self, domain: PlaneDomain, field: PlaneField, rate: Fraction, pilot: Array, shear: Array
    ) -> None:
        rows, response, copies = merged(field.rows, field.response)
        d = rows.shape[1]
        self._field = field
        self._pilot = tuple(int(v) for v in pilot)
        self._turn = np.rint((shear - np.eye(d)) * 2**_SHIFT).astype(np.int64)
        self._shear = np.ascontiguousarray(np.eye(d) + self._turn / 2**_SHIFT)
        self._facts = np.array(
            [
                field.tau.numerator,
                field.tau.denominator,
                float(field.slope),
                float(rate * field.unit),
                1.0 if field.weighed == "value" else 0.0,
                0.0,
            ]
        )
        self._arrange(rows, response, copies)
        del rows, response, copies
        self._totals = np.array(
            [*self._sum(3 * d, d), HIGH * self._root(2) + self._root(3), *self._magnitudes()]
        )
        # A few dozen roundings of sums that are at most this large.
        p, q, rate = self._facts[P], self._facts[Q], self._facts[RATE]
        self._facts[SLACK] = 2.0**-44 * rate * (p + q) * self._magnitudes().sum()
        walls = domain.inequalities()
        self._walls = np.array([[float(v) for v in row] for row, _ in walls])
        self._limits = np.array(
            [
                float(b - sum(a * t for a, t in zip(row, self._pilot, strict=True)))
                for row, b in walls
            ]
        )
        self._start(domain)

    def _arrange(
        self, rows: NDArray[np.float32], response: NDArray[np.floating], copies: NDArray[np.int32]
    ) -> None:
        """Put records into groups; arrays that are done with go before the next ones come."""
        n, d = rows.shape
        residual = _product(rows, np.array(self._pilot, np.float64))
        np.subtract(response, residual, out=residual)
        levels = min(_LEVELS, max(0, int(log2(max(n / _GROUP, 1)))))
        self._levels = levels
        keys = np.empty((d, n), np.float32)
        keys[0], keys[1:] = residual, rows[:, 1:].T
        for j in range(d):  # a few thousand records tell how widely they are spread
            spread = float(keys[j, :: max(1, n // 4096)].std()) if n else 0.0
            keys[j] /= np.float32(spread or 1.0)
        order = np.arange(n, dtype=np.int32)
        order_groups(keys, order, levels)
        del keys
        self._residual = residual[order]
        del residual
        self._rows = rows[order]
        self._copies = copies[order] if len(copies) else copies
        del order
        self._groups = np.zeros((2 ** (levels + 1) - 1, 7 * d + 5))
        fill_groups(self._rows, self._residual, self._copies, self._shear, levels, self._groups)

    def _sum(self, first: int, size: int) -> Array:
        return self._groups[0, first : first + size]

    def _root(self, part: int) -> float:
        return float(self._groups[0, 7 * self._rows.shape[1] + part])

    def _magnitudes(self) -> Array:
        """Return the sum of |x_j| for each coordinate."""
        d = self._rows.shape[1]
        return 2 * self._sum(4 * d, d) - self._sum(3 * d, d)

    def _start(self, domain: PlaneDomain) -> None:
        """Make the root: a box around the domain with the pilot at a third of every side.

        A third stays a third or two thirds of the side when boxes are halved, so that the boxes
        around the pilot are never cut through it.
        """
        n, d = self._rows.shape
        size = 1024
        self._whole = np.zeros((size, 2 * d + WHOLE), np.int64)
        self._real = np.zeros((size, REAL + d + 2))
        self._heap = np.zeros(size, np.int64)
        self._items = np.zeros(2 * n + 4096, np.int32)
        back = np.linalg.inv(self._shear)
        low = np.array([f - p for f, p in zip(domain.first, self._pilot, strict=True)], float)
        high = np.array([b - p + 1 for b, p in zip(domain.last, self._pilot, strict=True)], float)
        least = np.minimum(back * low, back * high).sum(axis=1)
        most = np.maximum(back * low, back * high).sum(axis=1)
        for j in range(d):
            margin = 4 + 2.0**-20 * max(abs(least[j]), abs(most[j]))
            need = max(3 * (margin - least[j]), 1.5 * (margin + most[j]))
            bits = max(1, ceil(log2(need)))
            self._whole[0, j] = -(2**bits // 3)
            self._whole[0, d + j] = bits
        self._boxes, self._listed, self._waiting = 0, 0, 0
        self._best = np.zeros(d)
        self._running = np.zeros(6)
        tau, loss = self._facts[P] / self._facts[Q], 0.0
        for at in range(0, n, _BLOCK):
            part = self._residual[at : at + _BLOCK]
            times = self._copies[at : at + _BLOCK] if len(self._copies) else 1
            loss += float((times * np.maximum(tau * part, (tau - 1) * part)).sum())
            self._running[DOUBT] += (times * np.abs(part)).sum()
        self._running[LEAST] = self._facts[Q] * loss * (1 + 2**-30)
        self._stack = np.zeros(128 + (n >> self._levels) + 2, np.int32)

    def refine(self, target: float) -> None:
        """Halve boxes until the bounds certify the target, in floating point."""
        while True:
            self._boxes, self._listed, self._waiting = refine(
                self._rows, self._residual, self._copies, self._groups, self._levels, self._turn,
                self._shear, self._totals, self._facts, self._walls, self._limits, self._whole,
                self._real, self._items, self._heap, self._boxes, self._listed, self._waiting,
                self._best, self._running, target, _SHIFT,
            )  # fmt: skip
            if self._running[CERTAIN] >= target * self._running[ENVELOPE] or not self._waiting:
                return
            if self._boxes + 2 > len(self._real):
                for name in ("_whole", "_real", "_heap"):
                    setattr(self, name, _longer(getattr(self, name)))
            else:
                self._items = _longer(self._items)

    def live(self) -> NDArray[np.int64]:
        """Return the boxes that have not been halved and are not wholly outside."""
        return np.flatnonzero(np.isfinite(self._real[: self._boxes, POINTS]))

    def lower(self, boxes: NDArray[np.int64]) -> Array:
        """Return the lower bounds on the exponent."""
        return np.asarray(self._real[boxes, LOWER])

    def upper(self, boxes: NDArray[np.int64]) -> Array:
        """Return the upper bounds on the exponent; infinite if a box is not wholly inside."""
        return np.asarray(self._real[boxes, UPPER])

    def log_points(self, boxes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return log2 of the number of points of each box."""
        d = self._rows.shape[1]
        return np.asarray(self._whole[boxes, d : 2 * d].sum(axis=1))

    @property
    def pilot(self) -> Point:
        """The lattice point that offsets are taken from."""
        return self._pilot

    def offset(self, box: int, bits: Bits) -> NDArray[np.int64]:
        """Return a uniform lattice point of a box, from the pilot."""
        d = self._rows.shape[1]
        corner, sides = self._whole[box, :d], self._whole[box, d : 2 * d]
        u = np.array([int(a) + bits.take(int(e)) for a, e in zip(corner, sides, strict=True)])
        return np.asarray(self._sheared(u[None, :])[0])

    def offsets(self, boxes: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return a uniform lattice point of each box, from the pilot and one word a coordinate."""
        d = self._rows.shape[1]
        sides = self._whole[boxes, d : 2 * d]
        steps = (words.T.astype(np.uint64) >> np.uint64(1)) >> (63 - sides).astype(np.uint64)
        return self._sheared(self._whole[boxes, :d] + steps.astype(np.int64))

    def _sheared(self, u: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return t_j = u_j + floor( sum V_jk u_k )."""
        return np.asarray(u + ((u @ self._turn.T) >> _SHIFT))

    def point(self, t: NDArray[np.int64]) -> Point:
        """Return the lattice point at an offset."""
        return tuple(p + int(v) for p, v in zip(self._pilot, t, strict=True))

    def counted(self, boxes: NDArray[np.int64], t: NDArray[np.int64]) -> Array:
        """Return sums of x and of the residual (two parts) over records with y <= x'theta."""
        d = self._rows.shape[1]
        sums = self._real[boxes, REAL:]
        scan_points(
            self._rows, self._residual, self._copies, self._shear, self._groups, self._levels,
            t.astype(np.float64), self._items, self._whole[boxes, 2 * d + LIST],
            self._whole[boxes, 2 * d + LENGTH], self._listed, self._stack, sums,
        )  # fmt: skip
        return sums

    def scores(self, boxes: NDArray[np.int64], t: NDArray[np.int64]) -> PlaneScores:
        """Return the scores at one point of each box."""
        counted = self.counted(boxes, t)
        least = self._field.least_scores(t + np.array(self._pilot), self.rounded(counted))
        return PlaneScores(self, self._field, counted, least)

    def rounded(self, counted: Array) -> Array:
        """Return the sums of x and of y in float64."""
        x, high, low = counted[:, :-2], counted[:, -2], counted[:, -1]
        y = HIGH * high + low + x @ np.array(self._pilot, np.float64)
        return np.column_stack([x, y])

    def exact(self, counted: Array) -> tuple[int, ...]:
        """Return the sums of x and of y as whole numbers."""
        *x, high, low = (int(v) for v in counted)
        y = int(HIGH) * high + low + sum(a * p for a, p in zip(x, self._pilot, strict=True))
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
    for at in range(0, n, _BLOCK):
        block = rows[at : at + _BLOCK].astype(np.float64)
        gram += block.T @ block
        moment += block.T @ field.response[at : at + _BLOCK]
    shear = np.triu(np.clip(_orthogonal(gram), -_STEEPEST, _STEEPEST), 1) + np.eye(d)
    gram += 1e-6 * np.trace(gram) / d * np.eye(d)
    pilot = np.asarray(np.linalg.solve(gram, moment), np.float64)
    shift = np.quantile(field.response - _product(rows, pilot), float(field.tau))
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


def _product(rows: NDArray[np.float32], t: Array) -> Array:
    """Return x't for all records; exact for whole t of moderate size."""
    out = np.empty(len(rows))
    for at in range(0, len(rows), _BLOCK):
        out[at : at + _BLOCK] = rows[at : at + _BLOCK].astype(np.float64) @ t
    return out


def _longer(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy with twice the room."""
    out = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out
