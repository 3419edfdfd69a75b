"""A cover of the domain by boxes, for losses whose gradient is smooth: distances and Huber's.

Nothing here carries privacy: whatever the pilot, the shear and the frame are, the boxes cover the
domain and their bounds hold, and the law of a draw does not depend on them.

    pilot   the minimiser of the loss, about
    shear   makes a small box in its coordinates one for the gradient, too
    frame   the directions in which the gradient's interval is taken
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.halving import enough
from kng.core.boxes.sheared import SHIFT, ShearedBoxes, longer
from kng.core.compiled import load
from kng.core.parts import Point, Walled
from kng.losses.enclosures.expansions import DISTANCE, HUBER, SCALARS, expand, width
from kng.losses.enclosures.smooth_bounds import (
    FACTS,
    GRAIN,
    KIND,
    MOST,
    RATE,
    RECORDS,
    SHARP,
    THRESHOLD,
    WEIGHS_VALUE,
    at_points,
)
from kng.losses.enclosures.smooth_field import CurvedField
from kng.losses.enclosures.smooth_loop import USED, WHOLE, refine

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Records that a first guess of the pilot looks at, and steps that improve it.
_SAMPLE = 4096
_STEPS = 40


class SmoothCover:
    """Boxes of lattice points with bounds on the exponent, from expansions of the gradient."""

    def __init__(
        self,
        domain: Walled,
        field: CurvedField,
        rate: Fraction,
        shear: Callable[[Array], Array],
        sharp: float = 0.0,
    ) -> None:
        self._field = field
        n = len(field.rows)
        self._kind = DISTANCE if field.shape == "distance" else HUBER
        self._facts = np.zeros(FACTS)
        self._facts[KIND], self._facts[WEIGHS_VALUE] = self._kind, field.weighed == "value"
        self._facts[RATE], self._facts[THRESHOLD] = float(rate * field.unit), field.bend
        # Exponents that are too small, if anything, for each unit of the score.
        self._rate = float(rate) * (1 - 2.0**-40)
        self._facts[RECORDS], self._facts[MOST], self._facts[GRAIN] = n, field.most, field.grain
        self._facts[SHARP] = sharp
        # Corners that hold every point, while the pilot is not known.
        self._ends = np.outer([-(2.0**60), 2.0**60], np.ones(domain.dim))
        pilot = self._pilot(domain)
        self._ends = np.array([domain.first, domain.last], np.float64) - pilot
        self._rows = np.ascontiguousarray(field.rows)
        self._response = np.ascontiguousarray(field.response)
        self._move(pilot)
        hessian = self._hessian(1.0)
        metric = hessian @ hessian
        if self._kind == HUBER:
            # Where no residual is within the threshold, chords over the domain show directions.
            sides = [float(b - a) for a, b in zip(domain.first, domain.last, strict=True)]
            metric = hessian + 2.0**-6 * self._hessian(float(np.linalg.norm(sides)) + 1.0)
        self.boxes = ShearedBoxes(domain, pilot, shear(metric), WHOLE, 0)
        self._frame = np.ascontiguousarray(np.linalg.qr(hessian @ self.boxes.shear)[0])
        self.running = np.zeros(6)
        self._expansions()

    def _pilot(self, domain: Walled) -> Array:
        """Return a lattice point near the minimiser."""
        low = np.array([float(k) for k in domain.first])
        high = np.array([float(k) for k in domain.last])
        n = len(self._field.rows)
        if n == 0:
            return np.asarray(np.floor((low + high) / 2))
        part = self._field.guess(max(1, n // _SAMPLE))
        self._rows, self._response = self._field.rows, self._field.response
        best, size = part, np.inf
        for _ in range(_STEPS):
            x, d = self._at(part, 2.0**-20), len(part)
            gradient = x[3 * d + SCALARS : 4 * d + SCALARS]
            if np.linalg.norm(gradient) < size:
                best, size = part, float(np.linalg.norm(gradient))
            hessian = x[4 * d + SCALARS :].reshape(d, d)
            ridge = 1e-9 * np.trace(hessian) + 1e-300
            step = np.linalg.solve(hessian + ridge * np.eye(d), gradient)
            # A step goes half of the way back if the one before was too long.
            part = part - step if part is best else (part + best) / 2
            if np.abs(part - best).max() < 0.25:
                break
        return np.asarray(np.clip(np.rint(best), low, high))

    def _move(self, pilot: Array) -> None:
        """Count records from the pilot."""
        if self._kind == DISTANCE:
            self._rows = np.ascontiguousarray(self._field.rows - pilot)
        else:
            self._response = self._field.response - self._field.rows @ pilot

    def _at(self, centre: Array, radius: float) -> Array:
        """Return an expansion."""
        out = np.zeros(width(len(centre)))
        expand(
            self._kind, self._rows, self._response, self._facts[THRESHOLD], self._facts[GRAIN],
            self._ends, centre, radius, np.eye(len(centre)), centre, np.empty(0), 0.0,
            self._facts[WEIGHS_VALUE] > 0, False, out,
        )  # fmt: skip
        return out

    def _hessian(self, radius: float) -> Array:
        """Return the Hessian around the pilot, or its chords over a radius."""
        d = self._rows.shape[1]
        return np.asarray(self._at(np.zeros(d), radius)[4 * d + SCALARS :].reshape(d, d))

    def _expansions(self) -> None:
        """Expand around the pilot for every power of two, up to one that holds the root."""
        d = self._rows.shape[1]
        sides = 2.0 ** self.boxes.whole[0, d : 2 * d]
        radius = np.linalg.norm(np.abs(self.boxes.shear) @ sides) + d
        table = [self._at(np.zeros(d), 2.0**j) for j in range(ceil(log2(radius)) + 1)]
        self._tabled = len(table)
        hessians = np.array([x[4 * d + SCALARS :].reshape(d, d) for x in table])
        least = np.linalg.eigvalsh(hessians)[:, 0]
        self._curvatures = least - 2.0**-40 * np.abs(hessians).sum(axis=(1, 2))
        self._table = np.zeros((512, width(d)))
        self._table[: len(table)] = table

    def refine(self, goal: int) -> None:
        """Halve boxes until there are so many, or enough to accept most attempts."""
        b = self.boxes
        while True:
            self._tabled, b.made, b.waiting = refine(
                self._facts, self._rows, self._response, self._ends, self._table,
                self._curvatures, self._tabled, b.turn, b.shear, self._frame, b.walls, b.limits,
                b.whole, b.real, b.heap, b.made, b.waiting, self.running, goal, SHIFT,
            )  # fmt: skip
            if enough(self.running, b.made, goal) or not b.waiting:
                return
            if b.made + 1 > len(b.real):
                b.grow()
            else:
                self._table = longer(self._table)

    def scores(self, boxes: Whole, t: Whole) -> SmoothScores:
        """Return the scores at points of boxes."""
        least = np.zeros(len(t))
        used = self.boxes.whole[boxes, 2 * t.shape[1] + USED]
        at_points(
            self._facts, self._table, self._curvatures, used, t.astype(np.float64),
            self.boxes.shear, self._frame, least,
        )  # fmt: skip
        return SmoothScores(self._field, self._rate * (float(self._field.unit) * least))


@dataclass(frozen=True, slots=True)
class SmoothScores:
    """Scores at points of boxes: bounded by expansions, exact from all records."""

    field: CurvedField
    least: Array

    def exact(self, index: int, point: Point) -> Fraction:  # noqa: ARG002
        """Return the score at a point."""
        return self.field.score(point)


def load_smooth() -> None:
    """Load what covers need, before anything is charged."""
    load(expand, refine, enough, at_points)


def shear_of(metric: Array) -> Array:
    """Return an upper triangular V with ones on its diagonal, for which V'MV is diagonal."""
    d = len(metric)
    metric = metric + (1e-6 * np.trace(metric) / d + 1e-300) * np.eye(d)
    root = np.linalg.cholesky(metric).T
    return np.asarray(np.linalg.inv(root / np.diag(root)[:, None]))


def upright(metric: Array) -> Array:
    """Return no shear: boxes along the axes, as the domain's walls are."""
    return np.eye(len(metric))
