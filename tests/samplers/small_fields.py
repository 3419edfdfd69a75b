"""Small fields, norms and domains, written by hand, that a sampler of any field has to serve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import isqrt, prod

import numpy as np

from kng.core.parts import Array, Expansion, Point
from kng.core.smoothing import Smoothing, smoothing
from kng.samplers.exact.boxes import ALPHA

# What a few sums and products of whole numbers below 2**40 round by, and more.
ROUNDING = 2.0**-40


@dataclass(frozen=True)
class Facets:
    """max_i |a_i'v|, for rows a_i of small whole numbers."""

    rows: tuple[tuple[int, ...], ...]

    def value(self, vector) -> Fraction:
        return max(abs(sum(a * v for a, v in zip(row, vector, strict=True))) for row in self.rows)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        rows = np.array(self.rows, float)
        middle, half = (low + high) / 2 @ rows.T, (high - low) / 2 @ np.abs(rows).T
        size = ROUNDING * ((np.abs(low) + np.abs(high)) @ np.abs(rows).T)
        lower = np.maximum(np.abs(middle) - half - size, 0).max(axis=1)
        return lower, (np.abs(middle) + half + size).max(axis=1)


@dataclass(frozen=True)
class Euclidean:
    """The l2 norm, rounded up to a multiple of 2**-60."""

    def value(self, vector) -> Fraction:
        square = sum(Fraction(v) ** 2 for v in vector) * 4**60
        return Fraction(isqrt(square.numerator // square.denominator) + 1, 2**60)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        small = np.maximum(np.maximum(low, -high), 0)
        large = np.maximum(np.abs(low), np.abs(high))
        return (
            np.sqrt((small**2).sum(axis=1)) * (1 - ROUNDING),
            np.sqrt((large**2).sum(axis=1)) * (1 + ROUNDING) + ROUNDING,
        )


def norms(dim: int) -> dict[str, Facets | Euclidean]:
    """Return l1, l2, l-inf and one that is not monotone in the sizes of coordinates."""
    ones = tuple(tuple(int(i == j) for i in range(dim)) for j in range(dim))
    mixed = (*ones, tuple(2 * (-1) ** j for j in range(dim)))
    signs = tuple((1, *rest) for rest in product((-1, 1), repeat=dim - 1))
    return {"l1": Facets(signs), "l2": Euclidean(), "linf": Facets(ones), "own": Facets(mixed)}


@dataclass(frozen=True)
class Cut:
    """Points of a box with a'k <= b; without a wall, all of them."""

    first: Point
    last: Point
    wall: Point | None = None
    limit: int = 0

    @property
    def dim(self) -> int:
        return len(self.first)

    @property
    def points(self) -> int:
        return prod(b - a + 1 for a, b in zip(self.first, self.last, strict=True))

    def home(self) -> Point:
        return self.first

    def contains(self, point: Point) -> bool:
        inside = all(a <= k <= b for a, k, b in zip(self.first, point, self.last, strict=True))
        return inside and (self.wall is None or int(np.dot(self.wall, point)) <= self.limit)

    def beside(self, low: Array, high: Array):
        inside = ((low >= self.first) & (high <= self.last)).all(axis=1)
        outside = ((low > self.last) | (high < self.first)).any(axis=1)
        if self.wall is not None:
            wall = np.array(self.wall)
            inside &= np.maximum(wall * low, wall * high).sum(axis=1) <= self.limit
            outside |= np.minimum(wall * low, wall * high).sum(axis=1) > self.limit
        return inside, outside

    def all(self) -> list[Point]:
        ranges = [range(a, b + 1) for a, b in zip(self.first, self.last, strict=True)]
        return [k for k in product(*ranges) if self.contains(k)]


@dataclass(frozen=True)
class SmallField:
    """A score vector at points, and an expansion of it over boxes."""

    norm: Facets | Euclidean
    vector: Callable[[Point], tuple[int, ...]]
    expanded: Callable[[Array, Array], Expansion]
    near: tuple[float, ...]

    def score(self, theta: Point) -> Fraction:
        return Fraction(self.norm.value(self.vector(theta)))

    def expand(self, centre: Array, half: Array) -> Expansion:
        return self.expanded(centre, half)

    def start(self) -> Array:
        return np.array(self.near)


def affine(norm, matrix, shift) -> SmallField:
    """Return the field A k - b."""
    a, b = np.array(matrix), np.array(shift)

    def expanded(centre: Array, half: Array) -> Expansion:
        value = centre @ a.T - b
        out = ROUNDING * (np.abs(centre) @ np.abs(a).T + np.abs(b))
        return Expansion(value, np.broadcast_to(a.astype(float), (len(half), *a.shape)), out)

    near = np.linalg.lstsq(a.astype(float), b.astype(float), rcond=None)[0]
    return SmallField(norm, lambda k: tuple(int(v) for v in a @ k - b), expanded, tuple(near))


def kinked(norm, matrix, shift) -> SmallField:
    """Return the field |A k - b|, coordinate by coordinate: straight away from its kinks."""
    plain = affine(norm, matrix, shift)

    def expanded(centre: Array, half: Array) -> Expansion:
        e = plain.expand(centre, half)
        wide = np.einsum("mkd,md->mk", np.abs(e.slope), half)
        sign = np.where(np.abs(e.value) >= wide, np.sign(e.value), 0.0)
        out = e.out + np.where(sign == 0, wide, 0.0)
        return Expansion(np.abs(e.value), sign[:, :, None] * e.slope, out)

    return SmallField(norm, lambda k: tuple(map(abs, plain.vector(k))), expanded, plain.near)


def stepped(norm, records) -> SmallField:
    """Return how many records are at most k, minus half of them, doubled; for each coordinate."""
    x = np.array(records)

    def vector(k) -> tuple[int, ...]:
        return tuple(int(v) for v in 2 * (x <= np.array(k)).sum(axis=0) - len(x))

    def expanded(centre: Array, half: Array) -> Expansion:
        low = 2.0 * (x <= (centre - half)[:, None, :]).sum(axis=1) - len(x)
        high = 2.0 * (x <= (centre + half)[:, None, :]).sum(axis=1) - len(x)
        slope = np.zeros((len(centre), centre.shape[1], centre.shape[1]))
        return Expansion((low + high) / 2, slope, (high - low) / 2)

    return SmallField(norm, vector, expanded, tuple(np.median(x, axis=0)))


@dataclass(frozen=True)
class SmallPlan:
    """exp(-rate * score / Delta) with Delta = 1 + lean * |k_0|."""

    domain: Cut
    norm: Facets | Euclidean
    rate: Fraction
    lean: Fraction = Fraction(0)
    smoothing: Smoothing = field(init=False)

    def __post_init__(self) -> None:
        made = smoothing(self.domain.points, Fraction(1), 1 - ALPHA)
        object.__setattr__(self, "smoothing", made)

    def exponent(self, point: Point, score: Fraction) -> Fraction:
        return self.rate * score / (1 + self.lean * abs(point[0]))

    def exponent_bounds(self, low: Array, high: Array, first: Array, last: Array):
        lower, upper = self.norm.bounds(low, high)
        rate, lean = float(self.rate), float(self.lean)
        large = np.maximum(np.abs(first[:, 0]), np.abs(last[:, 0]))
        small = np.maximum(np.maximum(first[:, 0], -last[:, 0]), 0)
        return (
            rate * lower / (1 + lean * large) * (1 - ROUNDING),
            rate * upper / (1 + lean * small) * (1 + ROUNDING),
        )
