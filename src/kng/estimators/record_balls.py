"""Bounds that are a domain: records in a box, or in a ball around 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, trunc
from typing import Any

from kng.bases import Uniform
from kng.core.bounds import Bounds
from kng.core.capabilities import GaugedDomain
from kng.core.encoding import Encoding, each_column, encoding_of
from kng.core.errors import IncompatibleParts, KngError, SpecError
from kng.core.exact import positive, show
from kng.core.kinds import members, require
from kng.core.lattice import Lattice, power_of_two_below
from kng.core.naming import Code, argument
from kng.core.parts import Domain, Norm, Point, described
from kng.core.shapes import FacetShape, RoundShape, Shape, SumShape
from kng.domains import Box
from kng.losses.ball_sum import BallSum, RecordBall
from kng.losses.location import Location
from kng.norms import Polytope
from kng.norms.shaped import norm_of_shape
from kng.norms.vertices import vertices_of

# Records are read in a box this many times as wide as the ball, so that one outside keeps its
# direction as long as it lies in there.
WIDER = 16
# Steps to a radius if no granularity is given: at most 2**26, and few enough for squares in int64.
_MOST_BITS = 26
_LESS = 1 - Fraction(1, 2**20)


@dataclass(frozen=True, slots=True)
class HeldRecords:
    """Records in a ball: the box around it, how they are read, and the loss over them."""

    ball: RecordBall
    box: Bounds
    loss: Location

    @property
    def norm(self) -> Norm:
        """The norm whose ball it is, in the units of the records."""
        return norm_of_shape(self.ball.shape)

    def norm_for(self, counted: bool) -> Norm:
        """Return the norm of the noise that fits best; a count is one more coordinate.

        Beside facets it has a pair of its own, so that one record moves no norm by more than 1.
        """
        shape = self.ball.shape
        if not counted or not isinstance(shape, FacetShape):
            return self.norm
        zero, one = Fraction(0), Fraction(1)
        facets = [(*(a / self.ball.radius for a in facet), zero) for facet in shape.facets]
        return Polytope([*facets, (*(zero,) * len(self.box), one)])

    def answers(self, parts: int) -> Lattice:
        """Return the lattice of the box around the ball, with each step cut into so many."""
        records = self.loss.encoding
        half = [ceil(v / h) for v, h in zip(self.box.high, records.step, strict=True)]
        origin = tuple(-h * k for h, k in zip(records.step, half, strict=True))
        return Lattice(origin, records.step, tuple(2 * k for k in half)).refined(parts)

    def pulled(self, point: Point, answers: Lattice) -> Point:
        """Return a point of the answers inside the ball; post-processing.

        Each round brings every coordinate nearer to 0, which lies inside.
        """
        norm, radius = self.norm, self.ball.radius
        centre = tuple(k // 2 for k in answers.last)
        size = norm.value(answers.units(point))
        factor = radius / size if size > radius else Fraction(1)
        while size > radius:
            moved = (trunc(factor * (k - c)) for k, c in zip(point, centre, strict=True))
            point = tuple(c + z for c, z in zip(centre, moved, strict=True))
            # The value may be rounded up, and truncation leaves balls that are not monotone.
            size, factor = norm.value(answers.units(point)), _LESS
        return point


def bounds_in(bounds: Any, data: Any) -> Any:
    """Return bounds as they are; of a Box its ends, for as many columns as there are."""
    if not isinstance(bounds, Box):
        return bounds
    box = bounds.sized(_columns(bounds, data))
    return Bounds(box.low, box.high)


def held_records(
    bounds: Any, data: Any, granularity: Any, missing: Any, loss: Location
) -> HeldRecords | None:
    """Return records in the ball that bounds are; None if they are no domain."""
    if isinstance(bounds, type) or not hasattr(type(bounds), "contains"):
        return None
    require(bounds, "domain", members(Domain))
    domain = bounds.sized(_columns(bounds, data))
    gauge = domain.gauge if isinstance(domain, GaugedDomain) else None
    if gauge is None:
        raise IncompatibleParts(
            f"{argument('bounds', Code(described(bounds)))} is not a ball around 0 that records "
            "can be pulled into. Use an L1Ball, an L2Ball, a symmetric Polytope, or "
            f"{argument('bounds', (Code('low'), Code('high')))}."
        )
    if not isinstance(domain.base, Uniform):
        raise IncompatibleParts(
            f"{argument('bounds', Code(described(bounds)))} bounds records, which have no base "
            "measure. Leave base out."
        )
    shape, radius = gauge
    corners = _corners(shape, radius, domain.dim, described(bounds))
    ball = RecordBall(described(bounds), shape, radius, corners)
    reach = tuple(max(column) for column in zip(*corners, strict=True)) or (radius,) * domain.dim
    box = Bounds(tuple(-v for v in reach), reach)
    records = _encoding(ball, box, granularity, missing)
    held = loss.within(ball, records)
    BallSum(records, ball)  # refuses here, or never
    return HeldRecords(ball, box, held)


def _columns(bounds: Any, data: Any) -> int:
    """Return the number of columns: stated by the domain, or that of a table in memory."""
    try:
        return int(bounds.dim)
    except KngError:  # it leaves that to the data
        shape = getattr(data, "shape", None)
    if isinstance(shape, tuple) and 1 <= len(shape) <= 2:
        return int(shape[1]) if len(shape) == 2 else 1
    if isinstance(data, Mapping):
        return len(data)
    raise SpecError(
        f"{argument('bounds', Code(described(bounds)))} does not say how many columns there are, "
        f"and data of this kind do not without being read. State it, as in {argument('dim', 2)}."
    )


def _corners(
    shape: Shape, radius: Fraction, dim: int, name: str
) -> tuple[tuple[Fraction, ...], ...]:
    """Return the vertices of a ball, if it has any."""
    match shape:
        case RoundShape(()):
            return ()
        case SumShape(()):
            axes = [[Fraction(i == j) for i in range(dim)] for j in range(dim)]
            return tuple(tuple(s * radius * v for v in axis) for axis in axes for s in (1, -1))
        case FacetShape(facets):
            return tuple(
                tuple(radius * v for v in corner)
                for corner in vertices_of(facets, f"bounds={name}")
            )
    pair = argument("bounds", (Code("low"), Code("high")))
    raise IncompatibleParts(
        f"{argument('bounds', Code(name))} is not a ball that records are pulled into. Use an "
        f"L1Ball, an L2Ball, a symmetric Polytope, or {pair}."
    )


def _encoding(ball: RecordBall, box: Bounds, granularity: Any, missing: Any) -> Encoding:
    """Return how records become whole numbers: in a box around 0 that is wider than the ball."""
    if granularity is None:
        bits = min(_MOST_BITS, (55 - len(box).bit_length()) // 2)
        steps = [power_of_two_below(v) / 2**bits for v in box.high]
    else:
        given = each_column(granularity, "granularity", box)
        steps = [positive(item, "granularity") for item in given]
    for size, reach in zip(steps, box.high, strict=True):
        if size > reach:
            raise SpecError(
                f"{argument('granularity')} {show(size)} is larger than {ball.described} reaches, "
                f"{show(reach)}; give a smaller one."
            )
    ends = tuple(WIDER * ceil(v / h) * h for v, h in zip(box.high, steps, strict=True))
    wide = Bounds(tuple(-v for v in ends), ends)
    return encoding_of(wide, granularity=steps, missing=missing, bits=0)
