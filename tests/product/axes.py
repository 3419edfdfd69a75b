"""The axes of the product. A new part joins by one line in its registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import log, log1p
from typing import Any

from product.plain import Bent, Leaning, Odds, Parabola, Ramp, Tilted, Vector, gauge, root
from product.rows import ONE, LossRow, linear, located, ranked, traced

from kng.bases import Density, Gaussian, HeavyTailed, Student, Uniform
from kng.core.parts import Base, Domain, Norm
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.domains import Box, L1Ball, L2Ball, Ordered, Polytope, Simplex, Uncrossed, Whole
from kng.losses import (
    Counts,
    Distance,
    Expectile,
    Huber,
    Logistic,
    Pinball,
    SmoothedPinball,
    Squared,
)
from kng.mechanisms import KNG, Exponential, KNorm, ObjectivePerturbation
from kng.norms import (
    L1,
    L2,
    CoordinateSup,
    Exchange,
    Hull,
    InterceptSup,
    LInf,
    Variation,
    WeightedSup,
)
from kng.norms import Polytope as Facets

F = Fraction

TAU, BEND = F(3, 4), F(1, 2)
# Two-sided covariates; with an intercept the first coordinate is constant.
_LINE, _SQUARE = [(-1, 1)], [(-1, 1), (-2, 2)]

LOSSES: dict[str, LossRow] = {
    "location squared": located(Squared(), Parabola(), 1),
    "location squared d2": located(Squared(), Parabola(), 2),
    "location pinball": located(Pinball(TAU), Tilted(TAU), 1),
    "location pinball d2": located(Pinball(TAU), Tilted(TAU), 2),
    "location huber": located(Huber(BEND), Bent(BEND), 1),
    "location huber d2": located(Huber(BEND), Bent(BEND), 2),
    "distance": located(Distance(), None, 1),
    "distance d2": located(Distance(), None, 2),
    "linear squared": linear(Squared(), Parabola(), _LINE, False, boxed=True),
    "linear squared d2": linear(Squared(), Parabola(), _SQUARE, False, boxed=True),
    "linear squared +1": linear(Squared(), Parabola(), _LINE, True, boxed=True),
    "linear pinball": linear(Pinball(TAU), Tilted(TAU), _LINE, False),
    "linear pinball d2": linear(Pinball(TAU), Tilted(TAU), _SQUARE, False),
    "linear pinball +1": linear(Pinball(TAU), Tilted(TAU), _LINE, True),
    "linear huber": linear(Huber(BEND), Bent(ONE), _LINE, False, BEND),
    "linear huber d2": linear(Huber(BEND), Bent(ONE), _SQUARE, False, BEND),
    "linear huber +1": linear(Huber(BEND), Bent(ONE), _LINE, True, BEND),
    "location expectile": located(Expectile(TAU), Leaning(TAU), 1),
    "location expectile d2": located(Expectile(TAU), Leaning(TAU), 2),
    "linear expectile d2": linear(Expectile(TAU), Leaning(TAU), _SQUARE, False, boxed=True),
    "linear expectile +1": linear(Expectile(TAU), Leaning(TAU), _LINE, True, boxed=True),
    "location smoothed": located(SmoothedPinball(TAU, BEND), Ramp(TAU, BEND), 1),
    "location smoothed d2": located(SmoothedPinball(TAU, BEND), Ramp(TAU, BEND), 2),
    "linear smoothed d2": linear(SmoothedPinball(TAU, BEND), Ramp(TAU, ONE), _SQUARE, False, BEND),
    "linear smoothed +1": linear(SmoothedPinball(TAU, BEND), Ramp(TAU, ONE), _LINE, True, BEND),
    "linear counts +1": linear(Counts(2), Ramp(TAU, ONE), _LINE, True),
    "quantiles": ranked((F(1, 4), F(2, 3))),
    "score": traced((ONE, BEND)),
    "linear logistic d2": linear(Logistic(), Odds(), _SQUARE, False),
    "linear logistic +1": linear(Logistic(), Odds(), _LINE, True),
}


# --- norms ---------------------------------------------------------------------------------------

Plain = Callable[[Sequence[Fraction]], Fraction]
WEIGHTS, WIDTHS = (F(1, 3), F(2)), (F(3), F(1, 2))
CROSS, HEXAGON = ((1, 1), (10, -10)), ((1, 0), (0, 1), (1, -1))
# Far from the axes and from monotone; one of each pair of opposite vertices.
CORNERS = ((3, 1), (1, 2), (-2, 2))


@dataclass(frozen=True)
class NormRow:
    """A norm in d coordinates, and the same in plain arithmetic; None where it follows Delta.

    ``facets`` are known of norms that are largest along one of them.
    """

    norm: Callable[[int], Norm]
    plain: Plain | None
    dims: tuple[int, ...] = (1, 2)
    facets: tuple[tuple[Fraction, ...], ...] = ()


def _weighed(v: Sequence[Fraction]) -> list[Fraction]:
    return [w * a for w, a in zip(WEIGHTS, v, strict=False)]


def _sum(v: Sequence[Fraction]) -> Fraction:
    return sum((abs(a) for a in v), F(0))


def _round(v: Sequence[Fraction]) -> Fraction:
    return root(sum((a * a for a in v), F(0)))


def _largest(v: Sequence[Fraction]) -> Fraction:
    return max(abs(a) for a in v)


def _soft(v: Sequence[Fraction]) -> Fraction:
    first, rest = abs(v[0]), max((abs(a) for a in v[1:]), default=F(0))
    return max(first, (first + 2 * rest) / 3)


def _facets(rows: Sequence[Sequence[int]]) -> Plain:
    return lambda v: max(abs(sum(a * b for a, b in zip(row, v, strict=True))) for row in rows)


def _exact(rows: Sequence[Sequence[int]]) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(F(a) for a in row) for row in rows)


def _variation(v: Sequence[Fraction]) -> Fraction:
    walk = [F(0), *v, F(0)]
    return sum((abs(b - a) for a, b in pairwise(walk)), F(0)) / 2


def _exchange(v: Sequence[Fraction]) -> Fraction:
    return (_sum(v) + abs(sum(v, F(0)))) / 2


NORMS: dict[str, NormRow] = {
    "l1": NormRow(lambda _: L1(), _sum),
    "l2": NormRow(lambda _: L2(), _round),
    "sup": NormRow(lambda _: LInf(), _largest),
    "l1 weighted": NormRow(lambda d: L1(WEIGHTS[:d]), lambda v: _sum(_weighed(v))),
    "l2 weighted": NormRow(lambda d: L2(WEIGHTS[:d]), lambda v: _round(_weighed(v))),
    "sup weighted": NormRow(lambda d: LInf(WEIGHTS[:d]), lambda v: _largest(_weighed(v))),
    "widths": NormRow(
        lambda d: WeightedSup([1 / w for w in WEIGHTS[:d]]), lambda v: _largest(_weighed(v))
    ),
    "intercept": NormRow(lambda _: InterceptSup(F(2, 3)), _soft),
    "variation": NormRow(lambda _: Variation(), _variation),
    "exchange": NormRow(lambda _: Exchange(), _exchange),
    "coordinate": NormRow(lambda _: CoordinateSup(), None),
    "hull": NormRow(lambda _: Hull(), None),
    "cross": NormRow(lambda _: Facets(CROSS), _facets(CROSS), (2,), _exact(CROSS)),
    "hexagon": NormRow(lambda _: Facets(HEXAGON), _facets(HEXAGON), (2,), _exact(HEXAGON)),
    "corners": NormRow(
        lambda _: Facets(vertices=[*CORNERS, *((-a, -b) for a, b in CORNERS)]),
        gauge(_exact(CORNERS)),
        (2,),
        ((F(1, 5), F(2, 5)), (F(0), F(1, 2)), (F(-3, 8), F(1, 8))),
    ),
}


# --- domains -------------------------------------------------------------------------------------


Known = tuple[Vector, Vector, Fraction | None]


@dataclass(frozen=True)
class DomainRow:
    """A domain around where theta is at home, and membership in plain arithmetic.

    ``known`` is what is known of it: the corners of a box around it and, unless it is a box, the
    largest sum of absolute values.
    """

    domain: Callable[[LossRow], Domain]
    holds: Callable[[LossRow, Vector], bool] | None  # None: not bounded
    known: Callable[[LossRow], Known] | None = None


# By how much of its width a box is wider than home, on each side.
WIDER = {"box": F(0), "box beyond": F(1, 2), "box within": F(-1, 4), "uncrossed": F(1, 2)}


def box_ends(row: LossRow, domain: str) -> tuple[Vector, Vector]:
    """Return the corners of a box, or of the box that a domain lies in."""
    grow = [WIDER[domain] * (b - a) for a, b in zip(row.low, row.high, strict=True)]
    low = tuple(a - g for a, g in zip(row.low, grow, strict=True))
    return low, tuple(b + g for b, g in zip(row.high, grow, strict=True))


def _boxed(name: str) -> DomainRow:
    def holds(row: LossRow, theta: Vector) -> bool:
        low, high = box_ends(row, name)
        return all(a <= t <= b for a, t, b in zip(low, theta, high, strict=True))

    return DomainRow(
        lambda row: Box(*box_ends(row, name)), holds, lambda row: (*box_ends(row, name), None)
    )


RADIUS = F(3, 2)
_WIDE = _boxed("uncrossed")


def _above(row: LossRow, theta: Vector) -> bool:
    step = [t - o for t, o in zip(theta, _other(row), strict=True)]
    assert _WIDE.holds is not None
    return _WIDE.holds(row, theta) and step[0] >= sum(abs(v) for v in step[1:])


def _other(row: LossRow) -> Vector:
    """A lattice point near the middle of home."""
    grid = row.grid
    middle = [(a + b) / 2 for a, b in zip(row.low, row.high, strict=True)]
    sides = zip(middle, grid.origin, grid.step, strict=True)
    return tuple(o + h * ((m - o) // h) for m, o, h in sides)


def _ball(row: LossRow, length: Fraction) -> Known:
    return (-RADIUS,) * row.dim, (RADIUS,) * row.dim, length


# Half-spaces through points around the middle of home, none of them along an axis in the plane.
SIDES = {1: ((1,), (-2,)), 2: ((1, 2), (-3, 1), (1, -1), (-1, -2))}
ROOM = (F(3, 2), F(2), F(5, 3), F(1))


def half_spaces(row: LossRow) -> list[tuple[Vector, Fraction]]:
    """Return rows and limits of a polytope around the middle of home."""
    middle = [(a + b) / 2 for a, b in zip(row.low, row.high, strict=True)]
    sides = zip(SIDES[row.dim], ROOM, strict=False)
    return [
        (tuple(map(F, side)), sum(a * m for a, m in zip(side, middle, strict=True)) + room)
        for side, room in sides
    ]


def _beneath(row: LossRow, theta: Vector) -> bool:
    return all(
        sum(a * t for a, t in zip(side, theta, strict=True)) <= limit
        for side, limit in half_spaces(row)
    )


def _around(row: LossRow) -> Known:
    """Return the box around a polytope, from its vertices."""
    sides = half_spaces(row)
    if row.dim == 1:
        found = [(limit / side[0],) for side, limit in sides]
    else:
        found = []
        for i, ((a, b), p) in enumerate(sides):
            for (c, d), q in sides[:i]:
                det = a * d - b * c
                if det != 0:  # sides that face each other do not meet
                    found.append(((p * d - b * q) / det, (a * q - p * c) / det))
        found = [point for point in found if _beneath(row, point)]
    columns = list(zip(*found, strict=True))
    longest = max(_sum(point) for point in found)
    return tuple(map(min, columns)), tuple(map(max, columns)), longest


DOMAINS: dict[str, DomainRow] = {
    "box": _boxed("box"),
    "box beyond": _boxed("box beyond"),
    "box within": _boxed("box within"),
    "ball": DomainRow(
        lambda row: L1Ball(RADIUS, row.dim),
        lambda _, theta: _sum(theta) <= RADIUS,
        lambda row: _ball(row, RADIUS),
    ),
    "round ball": DomainRow(
        lambda row: L2Ball(RADIUS, row.dim),
        lambda _, theta: sum(t * t for t in theta) <= RADIUS**2,
        lambda row: _ball(row, RADIUS * root(F(row.dim))),
    ),
    "polytope": DomainRow(
        lambda row: Polytope(*zip(*half_spaces(row), strict=True)), _beneath, _around
    ),
    "simplex": DomainRow(
        lambda row: Simplex(RADIUS, row.dim),
        lambda _, theta: min(theta) >= 0 and sum(theta) <= RADIUS,
        lambda row: ((F(0),) * row.dim, (RADIUS,) * row.dim, RADIUS),
    ),
    "uncrossed": DomainRow(
        lambda row: Uncrossed(Box(*box_ends(row, "uncrossed")), 1, 0, _other(row)),
        _above,
        lambda row: (*box_ends(row, "uncrossed"), None),
    ),
    "ordered": DomainRow(
        lambda row: Ordered(min(row.low), max(row.high), row.dim),
        lambda row, theta: (
            [min(row.low), *theta, max(row.high)] == sorted([min(row.low), *theta, max(row.high)])
        ),
        lambda row: ((min(row.low),) * row.dim, (max(row.high),) * row.dim, None),
    ),
    "whole": DomainRow(lambda row: Whole(row.dim), None),
    "everything": DomainRow(lambda row: Whole(row.dim, base=Uniform()), None),
}


# --- base measures -------------------------------------------------------------------------------


@dataclass(frozen=True)
class BaseRow:
    """A base measure for d coordinates, and minus its log density in plain arithmetic."""

    base: Callable[[int], Base]
    plain: Callable[[Vector], float]


_EDGES, _WEIGHTS = (F(-9), F(-1, 3), F(1, 2), F(9)), (F(1), F(5), F(2))


def _table(theta: Vector) -> float:
    cells = [sum(t >= edge for edge in _EDGES[1:-1]) for t in theta]
    return -sum(log(_WEIGHTS[i] / 5) for i in cells)


def _weights(dim: int) -> Any:
    row = [float(w) for w in _WEIGHTS]
    return row if dim == 1 else [[a * b for b in row] for a in row]


def _square(theta: Vector) -> Fraction:
    return sum(((t - F(1, 3)) ** 2 for t in theta), F(0))


BASES: dict[str, BaseRow] = {
    "gaussian": BaseRow(
        lambda _: Gaussian(F(3, 2), F(1, 3)), lambda theta: float(_square(theta) / F(9, 2))
    ),
    "student": BaseRow(
        lambda _: Student(2, 3, F(1, 3)),
        lambda theta: (len(theta) + 3) / 2 * log1p(_square(theta) / 12),
    ),
    "heavy": BaseRow(lambda _: HeavyTailed(2), lambda theta: (len(theta) + 2) * log1p(_sum(theta))),
    "table": BaseRow(
        lambda dim: Density(edges=[_EDGES] * dim if dim > 1 else _EDGES, weights=_weights(dim)),
        _table,
    ),
}


# --- neighbours and mechanisms -------------------------------------------------------------------


@dataclass(frozen=True)
class UnitRow:
    """A relation, and whether records may be absent."""

    relation: str
    absent: bool

    def unit(self, n: int) -> PrivacyUnit:
        neighbours = ReplaceOne(n) if self.relation == "replace-one" else AddRemove()
        return PrivacyUnit(neighbours, presence="optional" if self.absent else "always")


UNITS = {
    "replace-one": UnitRow("replace-one", False),
    "add-remove": UnitRow("add-remove", False),
    "replace-one absent": UnitRow("replace-one", True),
    "add-remove absent": UnitRow("add-remove", True),
}
MECHANISMS: dict[str, Any] = {
    "kng": KNG(),
    "exponential": Exponential(),
    "k-norm": KNorm(),
    "objective": ObjectivePerturbation(),
}
