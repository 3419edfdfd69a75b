"""Means of records in a ball: what one record does to their sum, and what mean it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, gcd, lcm

from kng.core.bodies import Ball, Body, Cuboid, Piece, Vector
from kng.core.enclosures import root_above
from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import show
from kng.core.naming import Code, argument
from kng.core.parts import Norm, Point
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import Source
from kng.core.shapes import FacetShape, RoundShape, Shape, SumShape
from kng.losses.kernels.pulling import MOST, Gauge, PulledSums, RoundGauge, SumGauge, WalledGauge
from kng.losses.location_sum import SumField, counted


@dataclass(frozen=True, slots=True)
class RecordBall:
    """All records x with ||x|| <= radius, in a norm by the shape of its ball.

    ``corners`` are its vertices; a round ball has none.
    """

    described: str
    shape: Shape
    radius: Fraction
    corners: tuple[Vector, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class BallSum:
    """The sum of records that are pulled into a ball, whose mean minimises the squared loss.

        number of records public    sum of x
        private                     sum of x, and the number of records in units of ``count_unit``

    Paper    Section 4.1: ||x_i||_K <= r, and the remark on location families.
    Privacy  docs/proofs/losses/ball.md.
    Cost     One pass.
    """

    records: Encoding
    ball: RecordBall
    gauge: Gauge = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        gauge = _gauge(self.ball, self.records.step)
        object.__setattr__(self, "gauge", gauge)
        if gauge.least < 1:
            raise SpecError(
                f"{argument('granularity')} {', '.join(map(show, self.records.step))} is too "
                f"coarse for {self.ball.described}; give a smaller one."
            )
        # What lies farther out than a quarter of the encoding is divided before it is asked about;
        # a wall adds up numbers of both signs, whose rounded sum may be small anywhere.
        part = 2 if isinstance(gauge, WalledGauge) else 8
        if gauge.largest([k // part + 1 for k in self.records.last]) >= MOST:
            raise SpecError(
                f"{argument('granularity')} {', '.join(map(show, self.records.step))} is too "
                f"fine, or has no simple ratio with the numbers of {self.ball.described}, for "
                "sums in whole numbers. Give a larger granularity or rounder numbers."
            )

    @property
    def count_unit(self) -> Fraction:
        """What one record counts in the units of the sum; docs/proofs/losses/ball.md.

        In l2 radius / d^(1/4) and in l1 radius / d^(1/3) have the smallest error of a mean at the
        edge, in multiples of 1/1024. A polytope's own norm charges nothing for the count.
        """
        dim, shape = len(self.records), self.ball.shape
        if isinstance(shape, FacetShape):
            return Fraction(1)
        share = dim ** (-1 / 4 if isinstance(shape, RoundShape) else -1 / 3)
        return self.ball.radius * Fraction(max(1, round(1024 * float(share))), 1024)

    def body(self, unit: PrivacyUnit) -> Body:
        """Return what holds the part of any record in the sum, in the caller's units."""
        ball, dim = self.ball, len(self.records)
        more: Vector = (self.count_unit,) if counted(unit) else ()
        nothing = (Fraction(0),) * len(more)
        if isinstance(ball.shape, RoundShape):
            far = ball.radius if not more else root_above(ball.radius**2 + more[0] ** 2)
            whole = dim + len(more)
            return Pieces((Ball(far, whole),), (Ball(2 * ball.radius, whole),))
        twice = [tuple(2 * v for v in corner) for corner in ball.corners]
        each = [(*corner, *more) for corner in ball.corners]
        apart = [(*corner, *nothing) for corner in twice]
        return Pieces(tuple(Cuboid(v, v) for v in each), tuple(Cuboid(v, v) for v in apart))

    def steps(self, unit: PrivacyUnit) -> tuple[Fraction, ...]:
        """Return the size of one whole step of each coordinate of the sum."""
        return (*self.records.step, self.count_unit) if counted(unit) else self.records.step

    def read(self, source: Source, unit: PrivacyUnit, norm: Norm) -> SumField:
        """Return the sum of the pulled records in whole steps, and their number if private."""
        n, sums = source.reduce(PulledSums(self.gauge, self.centre))
        total = (*sums, n) if counted(unit) else sums
        return SumField(total, n, sums, self.records.step, norm)

    @property
    def centre(self) -> Point:
        """Where 0 stands among the whole numbers of a record."""
        return tuple(k // 2 for k in self.records.last)

    def minimiser(self, total: Point, problem: Problem) -> tuple[Fraction, ...]:
        """Return the mean that a sum stands for, in the caller's units."""
        neighbours = problem.unit.neighbours
        sums = total[: len(self.records)]
        if counted(problem.unit):
            most = neighbours.n if isinstance(neighbours, ReplaceOne) else neighbours.n_max
            n = min(max(total[-1], 1), most)
        else:
            assert isinstance(neighbours, ReplaceOne)
            n = neighbours.n
        return tuple(h * s / n for h, s in zip(self.records.step, sums, strict=True))


@dataclass(frozen=True, slots=True)
class Pieces:
    """A body by pieces that hold each score, and pieces that hold each difference."""

    each: tuple[Piece, ...]
    apart: tuple[Piece, ...]

    def scores(self) -> Sequence[Piece]:
        """Return what holds each score."""
        return self.each

    def differences(self) -> Sequence[Piece]:
        """Return what holds each difference."""
        return self.apart


def _gauge(ball: RecordBall, steps: Sequence[Fraction]) -> Gauge:
    """Return the ball in whole steps: the same set of lattice points, exactly."""
    match ball.shape:
        case RoundShape(()):
            unit = _measure(steps)
            return RoundGauge(tuple(int(h / unit) for h in steps), floor((ball.radius / unit) ** 2))
        case SumShape(()):
            unit = _measure(steps)
            return SumGauge(tuple(int(h / unit) for h in steps), floor(ball.radius / unit))
        case FacetShape(facets):
            return WalledGauge(tuple(_wall(facet, ball.radius, steps) for facet in facets))
    raise IncompatibleParts(
        f"{argument('bounds', Code(ball.described))} is not a ball that records are pulled into. "
        "Use a round ball, an l1 ball, a polytope or a box."
    )


def _wall(facet: Vector, radius: Fraction, steps: Sequence[Fraction]) -> tuple[Point, int]:
    """Return |a'x| <= radius for x in steps, in whole numbers."""
    steep = [a * h for a, h in zip(facet, steps, strict=True)]
    unit = _measure([abs(v) for v in steep if v])
    return tuple(int(v / unit) for v in steep), floor(radius / unit)


def _measure(numbers: Sequence[Fraction]) -> Fraction:
    """Return the largest fraction of which all are whole multiples."""
    bottom = lcm(*(v.denominator for v in numbers))
    return Fraction(gcd(*(int(v * bottom) for v in numbers)), bottom)
