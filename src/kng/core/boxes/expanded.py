"""A cover of any bounded domain by boxes, for any field that can expand its score over boxes.

    | score_k(c + delta) - value_k - sum_j slope_kj delta_j |  <=  out_k          of each box

gives an interval for every coordinate of the score, the plan turns these into bounds on the
exponent, and boxes are halved where  points * (exp(-lower) - exp(-upper))  is largest. What holds
over a box holds over its halves, so a field that has to look at all of its records is asked anew
only where too much is left out.

Nothing here carries privacy: whatever the start and the shear are, the boxes cover the domain and
their bounds hold, and the law of a draw does not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.axes import FAR, Axes, ExponentBounds, axes_of, finite, told
from kng.core.boxes.covering import DistantField, Leaning, LeaningField
from kng.core.boxes.halving import (
    CERTAIN,
    COUNTED,
    ENOUGH,
    ENVELOPE,
    KEY,
    LOG,
    LOWER,
    POINTS,
    REAL,
    UPPER,
)
from kng.core.boxes.sheared import SHIFT, ShearedBoxes, longer
from kng.core.parts import EnclosedField, Expansion, Point, Points

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Of a box, in real numbers: its upper bound, also if it is not wholly inside the domain; and by how
# much each coordinate widens its bounds, after that.
_OWN, _SHARES = REAL, REAL + 1
# Boxes that are halved together: those with most of the gap, at most so many or a share of all.
_TOGETHER, _SHARE, _MOST_OF_IT = 64, 64, 0.9
# Boxes of one expansion; its memory is in proportion to them and to the records.
_ROWS = 128
# Halves of a box keep its expansion while no more than this share of their intervals is left out.
_LEFT_OUT = 0.25
# Sums of some ten products round by less than this, in parts of the sum of their sizes.
_ROUNDING = 2.0**-45
# Products of the shear and of sheared coordinates stay below 2**63.
_SHEARED_BITS = 42
_LOG_2 = float(np.log(2.0))


# Bounds on the exponent of a base measure over boxes, from their corners (first, last).
BaseBounds = Callable[[Array, Array], tuple[Array, Array]]


class Placed(NamedTuple):
    """Where boxes are: corners of their points inside the domain's box, and sheared centres."""

    low: Whole
    high: Whole
    share: Array  # of the points that lie inside the domain's box for certain
    inside: Array  # of each side, about
    centre: Array  # of the sheared coordinates
    half: Array

    def where(self, kept: Mask) -> Placed:
        """Return where some of them are."""
        corners, shares = (self.low[kept], self.high[kept]), (self.share[kept], self.inside[kept])
        return Placed(*corners, *shares, self.centre[kept], self.half[kept])


class ExpandedCover:
    """Boxes of lattice points with bounds on the exponent, from expansions of the score."""

    def __init__(
        self,
        domain: Points,
        field: EnclosedField,
        bounds: ExponentBounds,
        axes: Axes,
        base: BaseBounds | None = None,
    ) -> None:
        d = domain.dim
        self._base = base
        self._domain, self._field, self._bounds = domain, field, bounds
        self._first, self._last = np.array(domain.first), np.array(domain.last)
        self.boxes = ShearedBoxes(domain, axes.start, axes.shear, 1, 1 + d)
        if (self.boxes.whole[0, d : 2 * d] > _SHEARED_BITS).any():
            self.boxes = ShearedBoxes(domain, axes.start, np.eye(d), 1, 1 + d)
        self._pilot = np.array(self.boxes.pilot)
        self._upright = not self.boxes.turn.any()
        # How much a step along each coordinate moves the score, where the density is.
        self._weights = np.abs(axes.slope @ self.boxes.shear).sum(axis=0)
        self._weights += 2.0**-10 * self._weights.max()
        # Rows of the shear that round down.
        self._rounded = self.boxes.turn.any(axis=1).astype(np.float64)
        # Sheared boxes are expanded as they are by a field that can do that.
        leans = isinstance(field, LeaningField) and not self._upright
        self._leaning = cast("LeaningField", field) if leans else None
        self.running = np.zeros(6)
        # The expansion of each box: about which point, value, out, slope. The root has none yet.
        self._coordinates = k = len(field.expand(axes.start[None, :], np.zeros((1, d))).value[0])
        self._expansions = np.zeros((len(self.boxes.real), d + k * (2 + d)))
        self._expansions[0, d + k : d + 2 * k] = np.inf
        self.boxes.real[0, [LOWER, _OWN]] = -FAR, np.inf
        self._place(np.array([0]))
        self.boxes.made = 1
        self._count()

    def refine(self, goal: int) -> None:
        """Halve boxes until there are so many, or enough to accept most attempts."""
        b = self.boxes
        while b.made < goal and self.running[CERTAIN] < ENOUGH * self.running[ENVELOPE]:
            parents = self._next(goal - b.made)
            if not parents.size:
                return
            while b.made + len(parents) > len(b.real):
                b.grow()
                self._expansions = longer(self._expansions)
            children = np.arange(b.made, b.made + len(parents))
            self._halve(parents, children)
            b.made += len(parents)
            both = np.concatenate([parents, children])
            for rows in np.split(both, np.arange(_ROWS, len(both), _ROWS)):
                self._place(rows)
            self._count()

    def scores(self, boxes: Whole, t: Whole) -> ExpandedScores | PassedScores:
        """Return the scores at one point of each box, bounded by the expansion over it."""
        placed, (about, expansion) = self._corners(boxes), self._kept(boxes)
        # Points outside the domain are rejected whatever their score is.
        points = np.clip(t + self._pilot, placed.low, placed.high).astype(np.float64)
        value, out = expansion.value, expansion.out
        terms = expansion.slope * (points - about)[:, None, :]
        with np.errstate(all="ignore"):
            wide = out * (1 + _ROUNDING) + _ROUNDING * (np.abs(value) + np.abs(terms).sum(axis=2))
            middle = value + terms.sum(axis=2)
            low, high = told(middle - wide, middle + wide)
            least, _ = finite(*self._bounds(low, high, points, points))
        least = np.maximum(least, self.boxes.lower(boxes))
        if isinstance(self._field, DistantField):
            return PassedScores(self._field, least, t + self._pilot, points, self._bounds)
        return ExpandedScores(self._field, least)

    def _next(self, most: int) -> Whole:
        """Return boxes with most of the gap between the envelope and what is certain of it."""
        keys = self.boxes.real[: self.boxes.made, KEY]
        many = min(most, max(_TOGETHER, self.boxes.made // _SHARE), len(keys))
        top = np.argpartition(keys, len(keys) - many)[len(keys) - many :]
        top = top[np.isfinite(keys[top])]
        if not top.size:
            return top
        top = top[np.argsort(-keys[top], kind="stable")]
        gaps = np.exp(keys - keys[top[0]])
        before = np.cumsum(gaps[top]) - gaps[top]
        return np.asarray(top[before < _MOST_OF_IT * gaps.sum()])

    def _halve(self, parents: Whole, children: Whole) -> None:
        """Make boxes the lower halves of themselves, and others the upper ones."""
        b, d = self.boxes, self._domain.dim
        cut = np.argmax(
            np.where(b.whole[parents, d : 2 * d] > 0, b.real[parents, _SHARES:], -np.inf), axis=1
        )
        b.whole[parents, d + cut] -= 1
        b.whole[children], b.real[children] = b.whole[parents], b.real[parents]
        b.whole[children, cut] += np.left_shift(1, b.whole[children, d + cut])
        self._expansions[children] = self._expansions[parents]

    def _place(self, rows: Whole) -> None:
        """Bound the exponent over boxes, never more loosely than before, or drop them."""
        placed = self._corners(rows)
        with np.errstate(all="ignore"):
            empty = (placed.low > placed.high).any(axis=1)
            low, high = placed.low.astype(np.float64), placed.high.astype(np.float64)
            within, without = self._domain.beside(low, high)
            kept = ~(empty | without)
            self.boxes.real[rows[~kept], POINTS] = -np.inf
            self.boxes.real[rows[~kept], KEY] = -np.inf
            if kept.any():
                self._bound(rows[kept], placed.where(kept), within[kept])

    def _corners(self, rows: Whole) -> Placed:
        """Return where boxes are."""
        b, d = self.boxes, self._domain.dim
        corner, bits = b.whole[rows, :d], b.whole[rows, d : 2 * d]
        end = corner + np.left_shift(1, bits) - 1
        low, high = corner, end
        if not self._upright:
            # Floors are monotone, so that the corners of the sheared box are exact.
            ends = np.stack([corner, end])[:, :, None, :] * b.turn
            low = corner + (ends.min(axis=0).sum(axis=2) >> SHIFT)
            high = end + (ends.max(axis=0).sum(axis=2) >> SHIFT)
        low, high = low + self._pilot, high + self._pilot
        cut_low, cut_high = np.maximum(low, self._first), np.minimum(high, self._last)
        inside = np.maximum(cut_high - cut_low + 1, 0) / (high - low + 1)
        whole = ((low == cut_low) & (high == cut_high)).all(axis=1)
        share = inside.prod(axis=1) if self._upright else np.where(whole, 1.0, 0.0)
        centre, half = (corner + end) / 2, (end - corner) / 2
        return Placed(cut_low, cut_high, share, inside, centre, half)

    def _bound(self, rows: Whole, placed: Placed, within: Mask) -> None:
        """Write bounds and keys of boxes that may hold points of the domain."""
        b, d = self.boxes, self._domain.dim
        first, last = placed.low.astype(np.float64), placed.high.astype(np.float64)
        expansion, low, high = self._expanded(rows, placed)
        lower, upper = finite(*self._bounds(low, high, first, last))
        real = b.real[rows]
        lower = np.maximum(lower, real[:, LOWER])
        upper = np.minimum(upper, real[:, _OWN])
        points = b.whole[rows, d : 2 * d].sum(axis=1) * _LOG_2
        # Of a box that leaves the domain's box along the axes, the share inside is certain.
        lost = np.where(within, -np.log(placed.share) * (1 + _ROUNDING), np.inf)
        lost = np.where(placed.share < 1, lost + _ROUNDING, lost)
        gap = np.clip(upper - lower, 0.0, FAR)
        real[:, LOWER], real[:, _OWN], real[:, POINTS] = lower, upper, points
        real[:, UPPER] = np.maximum(upper, lower) + lost
        real[:, KEY] = points - lower + np.log(1e-300 - np.expm1(-(gap + lost)))
        real[:, KEY] = np.where(points > 0, real[:, KEY], -np.inf)
        overhang = -np.log(np.maximum(placed.inside, 1e-300))
        weighed = self._weighed(first, last)
        rest = np.maximum(gap - weighed.sum(axis=1), 0.0)
        real[:, _SHARES:] = rest[:, None] * self._parts(expansion, placed) + overhang + weighed
        b.real[rows] = real

    def _kept(self, rows: Whole) -> tuple[Array, Expansion]:
        """Return the expansions that boxes have, and the points that they are about."""
        d, k = self._domain.dim, self._coordinates
        about, value, out, slope = np.split(self._expansions[rows], [d, d + k, d + 2 * k], axis=1)
        return about, Expansion(value, slope.reshape(-1, k, d), out)

    def _expanded(self, rows: Whole, placed: Placed) -> tuple[Expansion, Array, Array]:
        """Return expansions of boxes, anew where they leave out too much, and what they tell."""
        about, found = self._kept(rows)
        low, high = self._vectors(found, about, placed)
        stale = np.full(len(rows), True)
        if self._leaning is not None:
            # The root's is infinite: it says nothing.
            known = np.isfinite(found.out) & (found.out <= _LEFT_OUT / 2 * (high - low))
            stale = np.asarray(~known.all(axis=1))
        if stale.any():
            self._expand(rows[stale], placed.where(stale))
            about, found = self._kept(rows)
            low, high = self._vectors(found, about, placed)
        return found, low, high

    def _expand(self, rows: Whole, placed: Placed) -> None:
        """Give boxes expansions of their own, about the centres of their hulls.

        Points of a sheared box are  pilot + V u - f,  f in [0, 1) where the shear rounds down.
        """
        first, last = placed.low.astype(np.float64), placed.high.astype(np.float64)
        about, half = (first + last) / 2, (last - first) / 2
        if self._leaning is None:
            found = self._field.expand(about, half)
        else:
            shear, pilot = self.boxes.shear, self._pilot
            middle = placed.centre @ shear.T - self._rounded / 2 + pilot
            centre = np.rint(2 * middle) / 2
            far = np.abs(placed.centre) @ np.abs(shear).T + np.abs(pilot) + 1
            slack = self._rounded / 2 + np.abs(middle - centre) + _ROUNDING * far
            lean = Leaning(centre, placed.half, slack, shear)
            found = self._leaning.expand_leaning(about, half, lean)
        slope = found.slope.reshape(len(rows), -1)
        self._expansions[rows] = np.hstack([about, found.value, found.out, slope])

    def _vectors(self, expansion: Expansion, about: Array, placed: Placed) -> tuple[Array, Array]:
        """Return bounds of the score's coordinates over boxes: upright ones, then sheared ones."""
        first, last = placed.low.astype(np.float64), placed.high.astype(np.float64)
        half, terms = (last - first) / 2, expansion.slope * ((first + last) / 2 - about)[:, None, :]
        # The same about the centres of the hulls.
        out = expansion.out + _ROUNDING * np.abs(terms).sum(axis=2)
        hull = Expansion(expansion.value + terms.sum(axis=2), expansion.slope, out)
        low, high = told(*hull.bounds(half))
        if self._upright:
            return low, high
        # t = V u - f with f in [0, 1): the sheared box around V u lies in its upright hull.
        shear, size = self.boxes.shear, np.abs(expansion.slope)
        turned = expansion.slope @ shear
        away = placed.centre @ shear.T - self._rounded / 2 - (about - self._pilot)
        middle = expansion.value + np.einsum("mkd,md->mk", expansion.slope, away)
        wide = np.einsum("mkd,md->mk", np.abs(turned), placed.half) + size @ (self._rounded / 2)
        wide = wide + expansion.out
        reach = np.abs(placed.centre) + placed.half
        reach = reach @ np.abs(shear).T + np.abs(about - self._pilot) + 1
        wide = wide * (1 + _ROUNDING) + _ROUNDING * (
            np.abs(expansion.value) + np.einsum("mkd,md->mk", size, reach)
        )
        # Where both hold, so does their intersection; fmax and fmin drop what is not a number.
        return np.fmax(low, middle - wide), np.fmin(high, middle + wide)

    def _weighed(self, first: Array, last: Array) -> Array:
        """Return by how much the base measure widens the bounds along each coordinate, about."""
        widened = np.zeros(first.shape)
        if self._base is None:
            return widened
        middle = (first + last) / 2
        for j in range(first.shape[1]):
            ends = middle.copy(), middle.copy()
            ends[0][:, j], ends[1][:, j] = first[:, j], last[:, j]
            near, far = self._base(*ends)
            widened[:, j] = np.clip(far - near, 0.0, FAR)
        return widened

    def _parts(self, expansion: Expansion, placed: Placed) -> Array:
        """Return the share of each coordinate in what widens the bounds, 1 together."""
        slopes = np.abs(expansion.slope @ self.boxes.shear).sum(axis=1) * placed.half
        sides = self._weights * placed.half + 1e-300
        spread = sides / sides.sum(axis=1)[:, None]
        parts = slopes + expansion.out.sum(axis=1)[:, None] * spread
        total = parts.sum(axis=1)[:, None]
        sound = np.isfinite(total) & (total > 0)
        return np.asarray(np.where(sound, parts / np.where(sound, total, 1.0), spread))

    def _count(self) -> None:
        """Add up the envelope and its certain part, in units of the largest box."""
        real = self.boxes.real[: self.boxes.made]
        with np.errstate(invalid="ignore"):
            weights = real[:, POINTS] - real[:, LOWER]
            largest = weights.max()
            live = np.isfinite(real[:, POINTS])
            self.running[LOG] = largest
            self.running[ENVELOPE] = np.exp(weights - largest).sum()
            certain = real[live, POINTS] - real[live, UPPER] - largest
            self.running[CERTAIN] = np.exp(certain).sum()
            self.running[COUNTED] = self.running[ENVELOPE]


@dataclass(frozen=True, slots=True)
class ExpandedScores:
    """Scores at points: exponents bounded by expansions, scores exact from all records."""

    field: EnclosedField
    least: Array

    def exact(self, index: int, point: Point) -> Fraction:  # noqa: ARG002
        """Return the score at a point."""
        return self.field.score(point)


@dataclass(frozen=True, slots=True)
class PassedScores:
    """Scores at points that take a pass over the records, and bounds that take none."""

    field: DistantField
    least: Array
    points: Whole
    inside: Array  # the same, moved into the box around the domain
    bounds: ExponentBounds

    def exact(self, index: int, point: Point) -> Fraction:  # noqa: ARG002
        """Return the score at a point."""
        return self.field.score(point)

    def closer(self, chosen: Whole) -> Array:
        """Return exponents from expansions at the points themselves."""
        at = self.inside[chosen]
        with np.errstate(all="ignore"):
            expansion = self.field.expand(at, np.zeros_like(at))
            least, _ = finite(*self.bounds(*told(*expansion.bounds(np.zeros_like(at))), at, at))
        return np.asarray(np.maximum(least, self.least[chosen]))

    def foresee(self, chosen: Whole) -> None:
        """Compute some of the scores in one pass."""
        self.field.foresee([tuple(int(v) for v in self.points[i]) for i in chosen])


def expanded_covers(
    domain: Points, field: EnclosedField, bounds: ExponentBounds, base: BaseBounds | None = None
) -> tuple[list[ExpandedCover], list[Callable[[], ExpandedCover]]]:
    """Return covers with one box, and those that join when the first ones have many.

    Boxes that follow the slopes of the score where the density is help where these slopes are far
    from the axes. Where the field can expand over them and the density is narrow they are all that
    is needed; else they join late.
    """
    axes = axes_of(domain, field, bounds)
    upright, sheared = (
        partial(ExpandedCover, domain, field, bounds, each, base) for each in (axes.upright(), axes)
    )
    if np.array_equal(axes.shear, np.eye(domain.dim)):
        return [upright()], []
    if axes.pointed and isinstance(field, LeaningField):
        return [sheared()], []
    return [upright()], [sheared]
