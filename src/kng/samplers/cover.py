"""A cover of the domain by boxes that follow the data.

Nothing here carries privacy: whatever the pilot, the shear and the groups are, the boxes cover the
domain and their bounds hold, and the law of a draw does not depend on them. They decide how many
boxes it takes.

    pilot   a least-squares fit moved to the wanted quantile; residuals are taken from it
    shear   makes the covariates orthogonal, so that boxes fit the valley of the loss
    groups  records near each other, decided together by large boxes
    weights how many records are equal and stand in one row
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.protocols import PlaneDomain, PlaneField, Point
from kng.samplers.boxes import (
    CERTAIN,
    DOUBT,
    ENVELOPE,
    LEAST,
    LENGTH,
    LIST,
    LOWER,
    POINTS,
    RATE,
    REAL,
    SLACK,
    UPPER,
    WHOLE,
    P,
    Q,
    refine,
    scan_points,
)
from kng.samplers.grouping import HIGH, fill_groups, order_groups

Array = NDArray[np.float64]

# The shear is in multiples of 2**-SHIFT and no entry beyond STEEPEST; residuals stay exact so.
_SHIFT = 10
_STEEPEST = 4.0
# Records in a group of the last level, and the most levels there are.
_GROUP = 16
_LEVELS = 13
# Equal records are looked for where two of so many are equal.
_SAMPLE = 4096
# Records whose temporaries stay in the processor's cache.
_BLOCK = 2**14


class Cover:
    """Boxes of lattice points with bounds on the exponent, and the records they leave open."""

    def __init__(
        self, domain: PlaneDomain, field: PlaneField, rate: Fraction, pilot: Array, shear: Array
    ) -> None:
        rows, d = field.rows, field.rows.shape[1]
        self._pilot = tuple(int(v) for v in pilot)
        self._turn = np.rint((shear - np.eye(d)) * 2**_SHIFT).astype(np.int64)
        self._shear = np.ascontiguousarray(np.eye(d) + self._turn / 2**_SHIFT)
        residual = _product(rows, pilot)
        np.subtract(field.response, residual, out=residual)
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
        self._arrange(*_distinct(rows, residual))
        del residual
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
        self, rows: NDArray[np.float32], residual: Array, weights: NDArray[np.int32]
    ) -> None:
        """Put records into groups."""
        n, d = rows.shape
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
        self._rows, self._residual, self._weights = rows[order], residual[order], weights[order]
        del order
        self._groups = np.zeros((2 ** (levels + 1) - 1, 7 * d + 5))
        fill_groups(self._rows, self._residual, self._weights, self._shear, levels, self._groups)

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
        self._items = np.zeros(2 * n + n // 4 + 4096, np.int32)
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
            part = part * self._weights[at : at + _BLOCK]
            loss += float(np.maximum(tau * part, (tau - 1) * part).sum())
            self._running[DOUBT] += np.abs(part).sum()
        self._running[LEAST] = self._facts[Q] * loss * (1 + 2**-30)
        self._stack = np.zeros(128 + (n >> self._levels) + 2, np.int32)

    def refine(self, target: float) -> None:
        """Halve boxes until the bounds certify the target, in floating point."""
        while True:
            self._boxes, self._listed, self._waiting = refine(
                self._rows, self._residual, self._weights, self._groups, self._levels, self._turn,
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
            self._rows, self._residual, self._weights, self._shear, self._groups, self._levels,
            t.astype(np.float64), self._items, self._whole[boxes, 2 * d + LIST],
            self._whole[boxes, 2 * d + LENGTH], self._listed, self._stack, sums,
        )  # fmt: skip
        return sums

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
    gram += 1e-6 * np.trace(gram) / d * np.eye(d)
    root = np.linalg.cholesky(gram).T
    shear = np.linalg.inv(root / np.diag(root)[:, None])
    shear = np.triu(np.clip(shear, -_STEEPEST, _STEEPEST), 1) + np.eye(d)
    pilot = np.asarray(np.linalg.solve(gram, moment), np.float64)
    shift = np.quantile(field.response - _product(rows, pilot), float(field.tau))
    pilot[0] += shift / max(1.0, float(np.abs(rows[:, 0]).mean()))
    inside = np.clip(
        np.rint(pilot), [float(k) for k in domain.first], [float(k) for k in domain.last]
    )
    return Cover(domain, field, rate, inside, shear)


def _distinct(
    rows: NDArray[np.float32], residual: Array
) -> tuple[NDArray[np.float32], Array, NDArray[np.int32]]:
    """Return one row for equal records and how many it stands for.

    Records are sorted by a mixture of their numbers, and then neighbours are compared: records that
    are not equal are never joined, whatever the mixture does.
    """
    n, d = rows.shape
    some = slice(None, None, max(1, n // _SAMPLE))
    tried = _mixture(rows[some], residual[some])
    if len(np.unique(tried)) == len(tried):
        return rows, residual, np.ones(n, np.int32)
    order = np.argsort(_mixture(rows, residual), kind="stable").astype(np.int32)
    new = np.ones(n, bool)
    new[1:] = residual[order[1:]] != residual[order[:-1]]
    for j in range(d):
        column = rows[order, j]
        new[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(new)
    kept = order[starts]
    return rows[kept], residual[kept], np.diff(starts, append=n).astype(np.int32)


def _mixture(rows: NDArray[np.float32], residual: Array) -> NDArray[np.uint64]:
    """Return one number for each record, equal for equal records."""
    mixed = residual.astype(np.int64).astype(np.uint64)
    for j in range(rows.shape[1]):
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed += rows[:, j].astype(np.int64).astype(np.uint64)
    return mixed


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
