"""The body that a score is clipped to, in whole steps: a box, or a ball of the norm that measures.

    k = clip( trunc( score / step ) ),      step = clip / 2**30, in a ball clip / 2**24

A record whose score is no number counts 0 in every coordinate, as if it were absent. Truncation
comes first, so that what is clipped is what is added up, and the ends of a body are whole steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kng.core.bodies import Body, Cuboid, Gauged, Hull, Length
from kng.core.errors import IncompatibleParts
from kng.core.exact import show
from kng.core.naming import Code, argument
from kng.core.parts import Norm, described
from kng.core.shapes import BoxShape, FacetShape, RoundShape, SumShape
from kng.core.traced import lines
from kng.core.traced.boxes import Boxes, Slopes
from kng.core.traced.enclosed import Enclosed, fixed, flat, settled
from kng.core.traced.smooth import smooth
from kng.losses.kernels.pulling import MOST, Gauge, RoundGauge, SumGauge, WalledGauge, pulled

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Vector = tuple[Fraction, ...]

# Steps to a clip. Sums of 2**32 records stay below 2**62.
STEPS = 2**30
# Those of a ball: squares and sums of products stay in int64, and scores are first cut to FAR.
BALL_STEPS, FAR = 2**24, 2**36
# A pull shrinks by this first, then by twice as much (kng.losses.kernels.pulling).
_LESS = Fraction(1, 2**20)


class Clipping(Protocol):
    """How scores become whole numbers of public steps within a body."""

    @property
    def steps(self) -> Vector:
        """The size of a step of each coordinate."""
        ...

    @property
    def body(self) -> Body:
        """What holds every clipped score."""
        ...

    def whole(self, scores: list[Array]) -> list[Array]:
        """Return the whole numbers of records, one array for each coordinate."""
        ...

    def enclosed(self, boxes: Boxes, scores: list[Enclosed]) -> list[Enclosed]:
        """Return what holds these whole numbers over boxes."""
        ...


@dataclass(frozen=True, slots=True)
class BoxClipping:
    """|score_j| <= clip_j, each coordinate by itself."""

    clip: Vector

    @property
    def steps(self) -> Vector:
        """2**-30 of each clip."""
        return tuple(c / STEPS for c in self.clip)

    @property
    def body(self) -> Body:
        """The box."""
        return Hull((Cuboid(tuple(-c for c in self.clip), self.clip),))

    def whole(self, scores: list[Array]) -> list[Array]:
        """Truncate and clip."""
        return _counted(scores, self.steps, STEPS)

    def enclosed(self, boxes: Boxes, scores: list[Enclosed]) -> list[Enclosed]:
        """Return clipped lines, off by a step for truncation."""
        counted = _cut(boxes, scores, self.steps, STEPS)
        return [_missing(boxes, x, scores, STEPS) for x in (_widened(boxes, x, 1) for x in counted)]


@dataclass(frozen=True, slots=True)
class BallClipping:
    """||score||_K <= clip: longer scores keep their direction."""

    clip: Fraction
    gauge: Gauge
    piece: Gauged

    @property
    def steps(self) -> Vector:
        """2**-24 of the clip."""
        return (self.clip / BALL_STEPS,) * self.piece.dim

    @property
    def body(self) -> Body:
        """The ball."""
        return Length(self.piece)

    def whole(self, scores: list[Array]) -> list[Array]:
        """Truncate, then pull into the ball; what lies inside is decided by whole numbers."""
        counted = np.stack(np.broadcast_arrays(*_counted(scores, self.steps, FAR)))
        return [column.astype(np.float64) for column in pulled(counted, self.gauge)]

    def enclosed(self, boxes: Boxes, scores: list[Enclosed]) -> list[Enclosed]:
        """Return each coordinate over the length, if that is above 1, and what shrinking takes."""
        cut = _cut(boxes, scores, self.steps, FAR)
        counted = [_widened(boxes, x, 1) for x in cut]
        one = fixed(np.ones(1))
        length = lines.maximum(boxes, _length(boxes, self.gauge, counted), one)
        rounds, shrunk = _shrunk(self.gauge)
        found = []
        for x in counted:
            divided = lines.divide(boxes, x, length)
            size = np.maximum(np.abs(divided.low), np.abs(divided.high))
            found.append(_widened(boxes, divided, rounds + 2 + shrunk * size))
        return [_missing(boxes, x, scores, FAR) for x in found]


def clipping_of(clip: Fraction | Vector, norm: Norm, dim: int, part: str) -> Clipping:
    """Return how scores are clipped: to a box of one clip for each coordinate, or to a ball.

    A number is a length in the norm that measures. Where its ball is a box, that is the box.
    """
    if isinstance(clip, tuple):
        if len(clip) != dim:
            raise IncompatibleParts(
                f"{part} has {len(clip)} clips for {dim} coordinates of the domain. Give one "
                "number, or one for each."
            )
        return BoxClipping(clip)
    shape = norm.shape
    if isinstance(shape, BoxShape):
        return BoxClipping(tuple(clip * w for w in shape.half_widths or (Fraction(1),) * dim))
    gauge = None if norm.follows or (dim == 1 and shape is None) else _gauge(norm, dim)
    if gauge is None:
        raise IncompatibleParts(
            f"{part}: {argument('clip', Code(show(clip)))} is a ball of {described(norm)}, and "
            "scores cannot be pulled into that. Give one clip for each coordinate, as in "
            f"clip=[{show(clip)}{', ...' * (dim > 1)}]."
        )
    assert shape is not None
    return BallClipping(clip, gauge, Gauged(shape, clip, dim))


def _gauge(norm: Norm, dim: int) -> Gauge | None:
    """Return the unit ball of a norm in whole steps, if whole numbers can tell what it holds."""
    shape = norm.shape
    gauge: Gauge
    match shape:
        case RoundShape(weights) | SumShape(weights):
            numbers = weights or (Fraction(1),) * dim
            scale = lcm(*(w.denominator for w in numbers))
            whole, limit = tuple(int(w * scale) for w in numbers), scale * BALL_STEPS
            gauge = SumGauge(whole, limit)
            if isinstance(shape, RoundShape):
                gauge = RoundGauge(whole, limit**2)
                if 2 * dim * limit**2 >= MOST:
                    return None
        case FacetShape(facets):
            walls = []
            for row in facets:
                scale = lcm(*(a.denominator for a in row))
                walls.append((tuple(int(a * scale) for a in row), scale * BALL_STEPS))
            gauge = WalledGauge(tuple(walls))
        case _:
            return None
    if not isinstance(gauge, RoundGauge) and gauge.largest([FAR] * dim) >= MOST:
        return None
    return gauge


def _length(boxes: Boxes, gauge: Gauge, counted: list[Enclosed]) -> Enclosed:
    """Return the norm of enclosed whole numbers, as a share of the radius."""
    if isinstance(gauge, WalledGauge):
        found: Enclosed | None = None
        for row, limit in gauge.walls:
            each = lines.absolute(boxes, _weighed(boxes, [a / limit for a in row], counted))
            found = each if found is None else lines.maximum(boxes, found, each)
        assert found is not None  # a norm has facets
        return found
    assert isinstance(gauge, RoundGauge | SumGauge)
    if isinstance(gauge, SumGauge):
        sizes = [lines.absolute(boxes, x) for x in counted]
        return _weighed(boxes, [w / gauge.limit for w in gauge.weights], sizes)
    root = float(gauge.limit) ** 0.5
    parts = [
        smooth(boxes, "square", _weighed(boxes, [w / root], [x]))
        for w, x in zip(gauge.weights, counted, strict=True)
    ]
    total = _weighed(boxes, [1.0] * len(parts), parts)
    # Rounding may have led below 0, where there is no root.
    low = np.maximum(total.low, 0.0)
    held = Enclosed(low, np.maximum(total.high, low), *_rest(total))
    return smooth(boxes, "sqrt", held)


def _rest(x: Enclosed) -> tuple[Array, Slopes | None, Array | float]:
    return x.middle, x.slopes, x.miss


def _weighed(boxes: Boxes, weights: list[float], parts: list[Enclosed]) -> Enclosed:
    found: Enclosed | None = None
    for weight, part in zip(weights, parts, strict=True):
        each = lines.multiply(boxes, fixed(np.array([weight])), part)
        found = each if found is None else lines.add(boxes, found, each)
    assert found is not None  # there is a coordinate
    return found


def _shrunk(gauge: Gauge) -> tuple[int, float]:
    """Return how often a pulled score is shrunk at most, and by how much in all.

    docs/proofs/losses/traced.md: truncation adds at most the norm of a step in every coordinate.
    """
    step = Fraction(0)
    if isinstance(gauge, WalledGauge):
        step = max(Fraction(sum(map(abs, row)), limit) for row, limit in gauge.walls)
    rounds, total = 1, _LESS
    while total < (rounds + 3) * step + Fraction(1, 2**38):
        rounds, total = rounds + 1, 2 * total + _LESS
    return rounds, float(min(total, Fraction(1))) * (1 + 2.0**-20)


def _counted(scores: list[Array], steps: Vector, most: int) -> list[Array]:
    """Return whole steps towards 0, of at most ``most``; 0 throughout where one is no number."""
    lost = np.zeros(1, np.bool_)
    for score in scores:
        lost = lost | np.isnan(score)
    with np.errstate(all="ignore"):
        counted = [
            np.clip(np.trunc(s * float(1 / h)), -most, most)
            for s, h in zip(scores, steps, strict=True)
        ]
    return [np.where(lost, 0.0, k) + 0.0 for k in counted]


def _cut(boxes: Boxes, scores: list[Enclosed], steps: Vector, most: int) -> list[Enclosed]:
    """Return scores in steps, between plus and minus ``most``."""
    ends = fixed(np.array([-float(most)])), fixed(np.array([float(most)]))
    found = []
    for score, step in zip(scores, steps, strict=True):
        x = lines.multiply(boxes, fixed(np.array([float(1 / step)])), score)
        # A line over both bends would cross the first twice.
        found.append(lines.minimum(boxes, lines.maximum(boxes, x, ends[0]), ends[1]))
    return found


def _widened(boxes: Boxes, x: Enclosed, by: Array | float) -> Enclosed:
    slopes = x.slopes or Slopes.none(boxes)
    found = settled(x.low - by, x.high + by, x.middle, slopes, x.miss + by, x.doubt)
    # A line that is off by more than the interval is wide says less than the interval.
    half = (found.high - found.low) / 2
    worse = found.miss > half
    if not worse.any():
        return found
    sizes = np.abs(found.low) + np.abs(found.high)
    kept = (found.slopes or slopes).times(np.where(worse, 0.0, 1.0))
    middle = np.where(worse, found.low / 2 + found.high / 2, found.middle)
    miss = np.where(worse, half + 2.0**-48 * sizes, found.miss)
    return Enclosed(found.low, found.high, middle, kept, miss, found.doubt)


def _missing(boxes: Boxes, x: Enclosed, scores: list[Enclosed], most: int) -> Enclosed:
    """Return what holds 0 and everything that can be where a score may be no number."""
    if all(score.doubt is None for score in scores):
        return x
    lost = np.zeros((1, 1), np.bool_)
    for score in scores:
        lost = lost if score.doubt is None else lost | score.doubt
    if not lost.any():
        return x
    low, high = np.where(lost, -float(most), x.low), np.where(lost, float(most), x.high)
    wide, slopes = flat(low, high, None, boxes), x.slopes or Slopes.none(boxes)
    kept = slopes.times(np.where(lost, 0.0, 1.0))
    middle, miss = np.where(lost, wide.middle, x.middle), np.where(lost, wide.miss, x.miss)
    return Enclosed(low, high, middle, kept, miss)
