"""Records of a traced loss: exact sums of clipped scores, and lines of them over boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.covering import Leaning
from kng.core.encoding import Encoding
from kng.core.parts import Expansion, Point
from kng.core.records import Source
from kng.core.regions import Grid
from kng.core.traced.boxes import Boxes, Slopes
from kng.core.traced.enclosed import Enclosed
from kng.core.traced.enclosing import enclosed
from kng.core.traced.graph import Graph
from kng.core.traced.replay import replayed, standing
from kng.losses.kernels.held import Everything
from kng.losses.reading import Measure, ReadPlan
from kng.losses.traced.bodies import Clipping

Array = NDArray[np.float64]

# Entries (boxes times records) at a time: a few dozen arrays of them stay in the cache.
_ENTRIES = 2**13
# Boxes at a time, and records at one theta.
_BOXES, _RECORDS = 2**7, 2**14
# Sums of lines in blocks round by less than this, in parts of the sum of their sizes.
_ROUNDING = 2.0**-40
# Records that a starting point looks at, for several starts and for the best one; points of the
# first look, starts, Newton's steps, and how often a step is halved.
_FEW, _SOME, _LOOKS, _STARTS, _STEPS, _HALVINGS = 2**8, 2**11, 2**7, 8, 12, 8


def read_traced(source: Source, plans: Sequence[ReadPlan]) -> list[TracedField]:
    """Collect the records once, and return a field for each plan."""
    rows = source.collect(Everything())
    distinct, copies = _merged(rows)
    fields = []
    for plan in plans:
        loss, points = plan.problem.loss, plan.domain
        columns = valued(distinct, loss.encoding)
        ends = tuple(points.first), tuple(points.last)
        fields.append(
            TracedField(
                columns, copies, loss.program, loss.clipping, plan.grid, plan.measure, *ends
            )
        )
    return fields


def valued(rows: Array, records: Encoding) -> tuple[Array, ...]:
    """Return columns in the caller's units: the float64 next to  low + step k,  where it fits.

    Both are fractions over one whole number; where numerators stay below 2**53 one division of
    whole numbers rounds once.
    """
    found = []
    pairs = zip(rows.T, records.bounds.low, records.step, records.last, strict=True)
    for k, low, step, last in pairs:
        scale = lcm(low.denominator, step.denominator)
        first, each = int(low * scale), int(step * scale)
        if max(abs(first), abs(first + each * last), scale, each * last) < 2**53:
            found.append((k * float(each) + float(first)) / float(scale))
        else:
            found.append(k * float(step) + float(low))
    return tuple(found)


def _merged(rows: Array) -> tuple[Array, Array]:
    """Return distinct records and how often each occurs."""
    if not len(rows):
        return rows, np.zeros(0)
    order = np.lexsort(rows.T)
    ordered = rows[order]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    return ordered[first], np.diff(np.append(first, len(rows))).astype(np.float64)


@dataclass(frozen=True, slots=True)
class TracedField:
    """The norm of the sum of clipped scores, over distinct records and how often each occurs."""

    columns: tuple[Array, ...]
    copies: Array
    program: Graph
    clipping: Clipping
    grid: Grid
    measure: Measure
    first: Point
    last: Point
    _still: dict[int, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_still", standing(self.program, self.columns))

    def score(self, theta: Point) -> Fraction:
        """Return the norm of the sum at one lattice point, exactly."""
        return self.measure(theta, self.vector(theta))

    def vector(self, point: Point) -> list[Fraction]:
        """Return the sum at one lattice point."""
        sums = zip(self.total(point), self.clipping.steps, strict=True)
        return [total * step for total, step in sums]

    def total(self, point: Point) -> list[int]:
        """Return the sum in whole steps, of at most 2**36 a record: int64 holds 2**26 of them."""
        theta = np.array([float(v) for v in self.grid.theta(point)])
        sums = [0] * len(self.program.results)
        for at in range(0, len(self.copies), _RECORDS):
            some = slice(at, at + _RECORDS)
            copies = self.copies[some].astype(np.int64)
            found = replayed(self.program, [c[some] for c in self.columns], theta)
            scores = [np.broadcast_to(found[place], copies.shape) for place in self.program.results]
            for j, whole in enumerate(self.clipping.whole(scores)):
                sums[j] += int((whole.astype(np.int64) * copies).sum())
        return sums

    def expand(self, centre: Array, half: Array) -> Expansion:
        """Sum the lines of the records over boxes."""
        return self._expanded(Boxes.upright(centre, half), centre)

    def expand_leaning(self, centre: Array, half: Array, lean: Leaning) -> Expansion:
        """Sum the lines of the records where points lean as well."""
        return self._expanded(Boxes.leaning(centre, half, lean), centre)

    def _expanded(self, boxes: Boxes, about: Array) -> Expansion:
        starts = range(0, len(about), _BOXES)
        parts = [self._sums(boxes.rows(slice(at, at + _BOXES))) for at in starts]
        value, slope, out = (np.concatenate(part) for part in zip(*parts, strict=True))
        # The same lines about the centres that are asked for.
        away = np.einsum("mkd,md->mk", slope, about - boxes.centre)
        doubt = 2.0**-48 * np.einsum("mkd,md->mk", np.abs(slope), np.abs(about - boxes.centre))
        return Expansion(value + away, slope, out + doubt + 2.0**-50 * np.abs(value))

    def _sums(self, boxes: Boxes) -> tuple[Array, Array, Array]:
        """Return value, slope and out of the sums, about the boxes' own centres."""
        (m, d), k = boxes.centre.shape, len(self.program.results)
        value, slope, out = np.zeros((m, k)), np.zeros((m, k, d)), np.zeros((m, k))
        size = max(1, _ENTRIES // m)
        origin, step = ([float(v) for v in each] for each in (self.grid.origin, self.grid.step))
        with np.errstate(all="ignore"):
            for at in range(0, len(self.copies), size):
                some = slice(at, at + size)
                still = {p: v[some] if len(v) > 1 else v for p, v in self._still.items()}
                copies = self.copies[some]
                scores = enclosed(self.program, still, boxes, origin, step)
                scores = [_moving(score, boxes) for score in scores]
                for j, x in enumerate(self.clipping.enclosed(boxes, scores)):
                    slopes = x.slopes or Slopes.none(boxes)
                    value[:, j] += _added(x.middle, copies, m)
                    reach = np.abs(x.middle) + slopes.size
                    out[:, j] += _added(x.miss + _ROUNDING * reach, copies, m)
                    for i, term in enumerate(slopes.terms):
                        if term is not None:
                            slope[:, j, i] += _added_products(slopes.factor, term, copies, m)
        steps = np.array([float(h) for h in self.clipping.steps])
        out = out * (1 + 2.0**-40) + 2.0**-48 * np.abs(value)
        return value * steps, slope * steps[:, None], out * steps

    def start(self) -> Array:
        """Return a point near which the sum is least: Newton's steps from several, then the best.

        It changes no law. A norm of scores may have small values where they have no root, at an
        edge for example; the best of several ends is seldom one of these.
        """
        low, high = (np.array([float(v) for v in end]) for end in (self.first, self.last))
        few, some = (self._every(len(self.copies) // size) for size in (_FEW, _SOME))
        points = np.rint(low + _even(_LOOKS, len(low)) * (high - low))
        points = points[np.argsort(few._sizes(points), kind="stable")[:_STARTS]]
        points, sizes = few._descended(points, low, high)
        best, _ = some._descended(points[[int(np.argmin(sizes))]], low, high)
        return np.asarray(best[0])

    def _every(self, apart: int) -> TracedField:
        """Return the field of records that stand so far apart in their order."""
        step = slice(None, None, max(1, apart))
        return replace(self, columns=tuple(c[step] for c in self.columns), copies=self.copies[step])

    def _descended(self, points: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Take Newton's steps from points, each shortened until the sum is smaller."""
        sizes, halves = self._sizes(points), 0.5 ** np.arange(_HALVINGS)[:, None, None]
        for _ in range(_STEPS):
            found = self.expand(points, np.zeros_like(points))
            slope, value = np.nan_to_num(found.slope), np.nan_to_num(found.value)
            steps = (np.linalg.pinv(slope, rcond=1e-12) @ value[:, :, None])[:, :, 0]
            tried = np.clip(np.rint(points - steps * halves), low, high)
            tried_sizes = self._sizes(tried.reshape(-1, len(low))).reshape(tried.shape[:2])
            at = np.argmin(tried_sizes, axis=0)
            best = np.arange(len(points))
            less = tried_sizes[at, best] < sizes
            if not less.any():
                break
            points = np.where(less[:, None], tried[at, best], points)
            sizes = np.where(less, tried_sizes[at, best], sizes)
        return points, sizes

    def _sizes(self, points: Array) -> Array:
        """Return how large the sums may be at points, in steps, squared."""
        found = self.expand(points, np.zeros_like(points))
        units = np.array([float(h) for h in self.clipping.steps])
        with np.errstate(all="ignore"):
            sizes = (((np.abs(found.value) + found.out) / units) ** 2).sum(axis=1)
        return np.where(np.isfinite(sizes), sizes, np.finfo(np.float64).max)


def _even(many: int, dim: int) -> Array:
    root = 2.0
    for _ in range(32):
        root = (1 + root) ** (1 / (dim + 1))
    powers = root ** -np.arange(1.0, dim + 1)
    return np.asarray((0.5 + np.arange(many)[:, None] * powers) % 1.0)


def _moving(score: Enclosed, boxes: Boxes) -> Enclosed:
    """Return a score with a row of boxes, though it may not depend on theta."""
    if score.slopes is not None and score.middle.ndim == 2:
        return score
    shape = (len(boxes.centre), score.middle.shape[-1])
    low, high, middle = (np.broadcast_to(v, shape) for v in (score.low, score.high, score.middle))
    doubt = None if score.doubt is None else np.broadcast_to(score.doubt, shape)
    return Enclosed(low, high, middle, Slopes.none(boxes), score.miss, doubt)


def _added(terms: Array | float, copies: Array, boxes: int) -> Array:
    """Return the sums over the records, each as often as it occurs."""
    array = np.asarray(terms)
    if array.ndim < 2 or array.shape[1] == 1:
        each = array.reshape(-1, 1) if array.ndim < 2 and array.size == 1 else array
        if each.ndim == 1:
            return np.full(boxes, float(each @ copies))
        return np.broadcast_to(each[:, 0] * copies.sum(), (boxes,))
    return np.broadcast_to(array @ copies, (boxes,))


def _added_products(factor: Array | None, term: Array, copies: Array, boxes: int) -> Array:
    """Return the sums of a factor times a term; one row of terms is weighed once for all boxes."""
    if factor is None:
        return _added(term, copies, boxes)
    if len(term) > 1:
        return _added(factor * term, copies, boxes)
    return _added(factor, copies * term[0], boxes)
