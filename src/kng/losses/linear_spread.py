"""How far the scores of a linear model reach where psi grows without end, in closed form.

    score_j = z_j psi(r),    r = z'theta - y',    psi(r) = left r for r < 0,  right r for r > 0
    |z_j| <= 1,  z_0 = 1 for an intercept,  |y'| <= Y,    m = max(left, right)

With a = |theta_j|, T_j = Y + sum of the other |theta_k| and N = Y + ||theta||_1,

    slope j      between -m q and m N, or mirrored where theta_j < 0
                 q = T_j - a  if  2 a <= T_j,  else  T_j^2 / (4 a)
    intercept    between psi(theta_0 - T_0) and psi(theta_0 + T_0);  with it no slope's is larger

and two scores of one theta differ by no more than the length of these, nor by m s N, where s is
the longest interval that a column fills, of the response too, and at least 1.
Least squares is left = right = 1. Proof: docs/proofs/losses/linear.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kng.core.bodies import Cuboid, Reaching, Spread, Vector
from kng.core.design import Design
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.quadratic import Matrix
from kng.core.regions import Region
from kng.losses.linear_reach import LinearReach
from kng.losses.pointwise.function import Interval, Pointwise

_NONE = Fraction(0)
# In so many coordinates the edges of the box of records are walked.
_MOST = 5


@dataclass(frozen=True, slots=True)
class LinearSpread:
    """The scores of one record, for a function with these sides over a design."""

    pointwise: Pointwise
    sides: tuple[Fraction, Fraction]
    design: Design

    @property
    def steepest(self) -> Fraction:
        """The larger slope of psi, m."""
        return max(self.sides)

    @property
    def largest_response(self) -> Fraction:
        """The largest |y'|, Y; the response's ends reach 1 or -1 of its own half width."""
        return self.design.halves[-1] / self.design.half_y

    @property
    def longest(self) -> Fraction:
        """The longest interval that a column fills, s."""
        return max(Fraction(1), *(high - low for low, high in self.design.ends))

    def over(self, region: Region) -> Spread:
        """Return what holds the scores at each theta of a bounded region.

        Everything grows with each |theta_k|, but for q, which falls with a. So it is taken at the
        largest of them, where T_j is at most  Y + length - min |theta_j|,  and at most Y and what
        the other sides reach.
        """
        sides = _sides(region)
        length = sum((_far(side) for side in sides), _NONE)
        if region.length is not None:
            length = min(length, region.length)
        total, m = self.largest_response + length, self.steepest
        each, apart, most = [], [], None
        for j, side in enumerate(sides):
            others = sum((_far(other) for k, other in enumerate(sides) if k != j), _NONE)
            rest = min(total - _near(side), self.largest_response + others)
            if self._fixed(j):
                low, high = self._intercept(side, rest)
                each.append((max(low, -m * total), min(high, m * total)))
                width, most = self._between(side, rest).high, max(-low, high)
            else:
                least = m * _least(_near(side), rest)
                each.append(_within(_mirrored(side, least, m * total, m * total), most))
                width = m * (_far(side) + rest + _least(_far(side), rest))
                width = width if most is None else min(width, 2 * most)
            assert width is not None  # only an unbounded region has no end
            apart.append(min(width, m * self.longest * total))
        found, reach = _spread(each, apart), self.reach
        if reach is None:
            return found
        return _reaching(
            found,
            lambda v: min(reach.each_over(v, region), _across(found.each, v)),
            lambda v: min(reach.apart_over(v, region), _across(found.apart, v)),
        )

    def under(self, region: Region) -> Spread:
        """Return what no theta of a bounded region falls below, in any norm.

        Differences are those of the theta nearest to 0. A score's cuboid is one that the cuboids
        of all theta have in common. Where they have no common intercept it is 0, and slopes are
        symmetric: of u and its mirror image (u_0, -u) the longer is no shorter than (0, u).
        """
        sides = _sides(region)
        total = self.largest_response + sum((_near(side) for side in sides), _NONE)
        m = self.steepest
        each, apart, most = [], [], None
        common = True
        for j, side in enumerate(sides):
            rest = total - _near(side)
            if self._fixed(j):
                low, _ = self._intercept((side[1], side[1]), rest)
                _, high = self._intercept((side[0], side[0]), rest)
                common = low <= high
                each.append((low, high) if common else (_NONE, _NONE))
                width, most = self._between(side, rest).low, max(-low, high, _NONE)
            else:
                least = m * _least(_far(side), rest)
                each.append(_within(_mirrored(side, least, m * total, least), most))
                width = m * (_near(side) + rest + _least(_near(side), rest))
                width = width if most is None else min(width, 2 * most)
            assert width is not None
            apart.append(min(width, m * self.longest * total))
        if not common:
            least_far = [min(-low, high) for low, high in each]
            each = [(-end, end) for end in least_far]
        found, reach = _spread(each, apart), self.reach
        if reach is None:
            return found
        return _reaching(
            found, lambda v: reach.each_under(v, region), lambda v: reach.apart_under(v, region)
        )

    @property
    def reach(self) -> LinearReach | None:
        """How far scores reach along any direction: where psi is one line, in few coordinates."""
        design = self.design
        if self.sides[0] != self.sides[1] or design.dim > _MOST:
            return None
        unit, (low, high) = self.largest_response, design.ends[-1]
        return LinearReach(design.rows, (unit * low, unit * high), self.steepest)

    def widths(self, theta: Matrix, unit: PrivacyUnit) -> Matrix:
        """Return how far one record moves each coordinate, for rows of theta in float64.

        The same as at a theta, for sides of one slope and a response of its whole half width.
        """
        a = np.abs(theta)
        total = 1 + a.sum(axis=-1, keepdims=True)
        if not isinstance(unit.neighbours, ReplaceOne):
            return self._steep(total + 0 * a)
        rest = total - a
        steep = np.where(a > 0, a, 1)  # only used where a > rest / 2 > 0
        width = np.where(2 * a <= rest, 2 * rest, a + rest + rest * rest / (4 * steep))
        if self.design.intercept:
            width[..., 0] = 2 * rest[..., 0]
        elif self.longest < 2:
            width = np.minimum(width, total * float(self.longest))
        if unit.presence == "optional":
            width = np.maximum(width, total)
        return self._steep(width)

    def _steep(self, width: Matrix) -> Matrix:
        return width if self.steepest == 1 else float(self.steepest) * width

    def _fixed(self, coordinate: int) -> bool:
        return self.design.intercept and coordinate == 0

    def _intercept(self, side: tuple[Fraction, Fraction], rest: Fraction) -> tuple[Fraction, ...]:
        """Return the range of psi where the other terms of a residual are at most ``rest``."""
        found = self.pointwise.psi(Interval(*side), Interval(-rest, rest))
        assert found.low is not None
        assert found.high is not None
        return found.low, found.high

    def _between(self, side: tuple[Fraction, Fraction], rest: Fraction) -> Interval:
        """Return the least and the largest distance of two such psi at one theta."""
        return self.pointwise.apart(Interval(*side), Interval(-rest, rest))


def _sides(region: Region) -> list[tuple[Fraction, Fraction]]:
    assert region.low is not None
    assert region.high is not None
    return list(zip(region.low, region.high, strict=True))


def _far(side: tuple[Fraction, Fraction]) -> Fraction:
    """Return the largest |theta_j|."""
    return max(abs(side[0]), abs(side[1]))


def _near(side: tuple[Fraction, Fraction]) -> Fraction:
    """Return the least |theta_j|."""
    return max(side[0], -side[1], _NONE)


def _least(a: Fraction, rest: Fraction) -> Fraction:
    """Return q, with -q the least of a w^2 + t w over |w| <= 1 and |t| <= rest."""
    return rest - a if 2 * a <= rest else rest * rest / (4 * a)


def _mirrored(
    side: tuple[Fraction, Fraction], least: Fraction, top: Fraction, across: Fraction
) -> tuple[Fraction, Fraction]:
    """Return -least .. top for theta_j > 0, its mirror image below 0, and both ends across 0."""
    if side[0] >= 0:
        return -least, top
    return (-top, least) if side[1] <= 0 else (-across, across)


def _within(side: tuple[Fraction, Fraction], most: Fraction | None) -> tuple[Fraction, Fraction]:
    """Return what lies between -most and most of an interval around 0."""
    return side if most is None else (max(side[0], -most), min(side[1], most))


def _across(around: Cuboid | Reaching, direction: Sequence[Fraction]) -> Fraction:
    """Return the largest |v'u| between the corners of a cuboid."""
    assert isinstance(around, Cuboid)
    ends = zip(direction, around.sides(), strict=True)
    sides = [sorted((v * a, v * b)) for v, (a, b) in ends]
    return max(-sum((a for a, _ in sides), _NONE), sum((b for _, b in sides), _NONE))


def _reaching(
    spread: Spread, each: Callable[[Vector], Fraction], apart: Callable[[Vector], Fraction]
) -> Spread:
    """Return the same, with how far it reaches along any direction."""
    assert isinstance(spread.each, Cuboid)
    assert isinstance(spread.apart, Cuboid)
    return Spread(Reaching(spread.each, each), Reaching(spread.apart, apart))


def _spread(each: list[tuple[Fraction, Fraction]], apart: list[Fraction]) -> Spread:
    lows, highs = zip(*each, strict=True)
    return Spread(Cuboid(lows, highs), Cuboid(tuple(-w for w in apart), tuple(apart)))
