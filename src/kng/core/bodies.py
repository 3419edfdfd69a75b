"""Where the score of one record can lie: public bodies, and the pieces that norms measure.

For a loss, a norm K and a relation,

    Delta(theta) = max || u ||_K   over the changes u that one record can make to the sum of scores

and these changes are differences of two scores (one record replaced), scores (one added or
removed), or either (one replaced, where records may be absent). A body holds them as a hull of
pieces. A norm is convex, so it is largest on a hull where it is largest on a piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Protocol

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.shapes import RoundShape, Shape, facets_of

Vector = tuple[Fraction, ...]


class Measure(Protocol):
    """What a piece asks of a norm."""

    @property
    def shape(self) -> Shape | None:
        """The unit ball by name, if it has one."""
        ...

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, rounded up where it is irrational."""
        ...

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:
        """Return the largest norm of a vector of this Euclidean length, rounded up."""
        ...


@dataclass(frozen=True, slots=True)
class Cuboid:
    """All vectors between two corners."""

    low: Vector
    high: Vector

    def __post_init__(self) -> None:
        if self.low is self.high:  # a point
            return
        if len(self.low) != len(self.high) or any(a > b for a, b in self.sides()):
            raise SpecError("a cuboid needs two corners, the first nowhere above the last.")

    def sides(self) -> list[tuple[Fraction, Fraction]]:
        """Return the ends of each side."""
        return list(zip(self.low, self.high, strict=True))

    def times(self, factor: Fraction) -> Cuboid:
        """Return all its vectors times a number."""
        ends = [sorted((factor * a, factor * b)) for a, b in self.sides()]
        return Cuboid(tuple(a for a, _ in ends), tuple(b for _, b in ends))

    def minus(self, other: Cuboid) -> Cuboid:
        """Return all differences of a vector of this one and one of the other."""
        pairs = list(zip(self.sides(), other.sides(), strict=True))
        return Cuboid(
            tuple(a - d for (a, _), (_, d) in pairs), tuple(b - c for (_, b), (c, _) in pairs)
        )

    def largest(self, norm: Measure) -> Fraction:
        """Return the largest norm of its vectors."""
        return norm.largest(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Ball:
    """All vectors up to a Euclidean length."""

    radius: Fraction
    dim: int

    def largest(self, norm: Measure) -> Fraction:
        """Return the largest norm of its vectors."""
        return norm.largest_in_ball(self.radius, self.dim)


@dataclass(frozen=True, slots=True)
class Reaching:
    """Vectors known by how far they reach along each direction, between two corners.

    ``reach(a)`` is the largest |a'u|, or not below it. A norm that is a box or has facets is the
    largest of such numbers; other norms know the corners only.
    """

    around: Cuboid
    reach: Callable[[Vector], Fraction]

    def sides(self) -> list[tuple[Fraction, Fraction]]:
        """Return the ends of each side of the box around it."""
        return self.around.sides()

    def times(self, factor: Fraction) -> Reaching:
        """Return all its vectors times a number."""
        return Reaching(self.around.times(factor), lambda v: abs(factor) * self.reach(v))

    def largest(self, norm: Measure) -> Fraction:
        """Return the largest norm of its vectors, or a number not below it."""
        facets = facets_of(norm.shape, len(self.around.low))
        return max(map(self.reach, facets)) if facets else self.around.largest(norm)


@dataclass(frozen=True, slots=True)
class Gauged:
    """All vectors up to a length in the norm of this shape, which is the only one to measure it."""

    shape: Shape
    length: Fraction
    dim: int

    def times(self, factor: Fraction) -> Gauged:
        """Return all its vectors times a number."""
        return Gauged(self.shape, abs(factor) * self.length, self.dim)

    def largest(self, norm: Measure) -> Fraction:
        """Return the length, rounded up as lengths in the norm are."""
        if norm.shape != self.shape:
            raise IncompatibleParts(
                "Scores that are clipped to a ball of one norm are measured in that norm. Give one "
                "clip for each coordinate to measure them in others."
            )
        if not isinstance(self.shape, RoundShape):
            return self.length
        # The largest round ball that it holds touches it, so both reach equally far.
        widest = max(self.shape.weights, default=Fraction(1))
        return norm.largest_in_ball(self.length / widest, self.dim)


Piece = Cuboid | Ball | Reaching | Gauged


class Body(Protocol):
    """Holds the scores that a record allowed by the bounds can have.

    Both methods return pieces whose hull holds what they say. Over a set of thetas a difference is
    one of two scores at the same theta of the set.
    """

    def scores(self) -> Sequence[Piece]:
        """Return pieces that hold every score."""
        ...

    def differences(self) -> Sequence[Piece]:
        """Return pieces that hold u - v or v - u for any two scores u and v."""
        ...


@dataclass(frozen=True, slots=True)
class Hull:
    """The hull of cuboids: a box, a list of vertices, or a product set (`product_set`)."""

    cuboids: tuple[Cuboid, ...]

    def scores(self) -> Sequence[Piece]:
        """Return the cuboids."""
        return self.cuboids

    def differences(self) -> Sequence[Piece]:
        """Return the differences of each with each."""
        return [a.minus(b) for a, b in combinations_with_replacement(self.cuboids, 2)]


@dataclass(frozen=True, slots=True)
class Round:
    """A Euclidean ball around 0."""

    radius: Fraction
    dim: int

    def scores(self) -> Sequence[Piece]:
        """Return the ball."""
        return [Ball(self.radius, self.dim)]

    def differences(self) -> Sequence[Piece]:
        """Return the ball of twice the radius."""
        return [Ball(2 * self.radius, self.dim)]


@dataclass(frozen=True, slots=True)
class Spread:
    """A body known by how far its scores reach, and how far two of them lie apart."""

    each: Cuboid | Reaching
    apart: Cuboid | Reaching

    def scores(self) -> Sequence[Piece]:
        """Return what holds each score."""
        return [self.each]

    def differences(self) -> Sequence[Piece]:
        """Return what holds each difference."""
        return [self.apart]


@dataclass(frozen=True, slots=True)
class Length:
    """All scores up to a length in the norm that measures them."""

    piece: Gauged

    def scores(self) -> Sequence[Piece]:
        """Return the ball."""
        return [self.piece]

    def differences(self) -> Sequence[Piece]:
        """Return the ball of twice the length."""
        return [self.piece.times(Fraction(2))]


def product_set(weights: tuple[Fraction, Fraction], rows: Cuboid) -> Hull:
    """Return the hull of { w z : w between the weights, z in rows }.

    For fixed z the vectors w z lie between those of the two ends, so two cuboids have the same
    hull. It is not the product of an interval and a box: one w multiplies every coordinate.
    """
    return Hull(tuple(rows.times(w) for w in weights))
