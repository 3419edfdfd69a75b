"""The product in plain arithmetic: scores, norms, Delta and laws, written without the library.

Only formulas of docs/proofs are used here, over lists of records and in fractions. Delta is found
by looking at extreme records, one pair after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, isqrt, log1p
from typing import Protocol

import numpy as np
from scipy.optimize import linprog

F = Fraction
Vector = tuple[Fraction, ...]
Length = Callable[[Sequence[Fraction]], Fraction]
ENDLESS = F(10**9)  # a residual beyond every threshold


class Function(Protocol):
    """psi and rho of a residual; ``bounded`` if psi has a range that no residual leaves."""

    bounded: bool

    def psi(self, r: Fraction) -> Fraction: ...

    def rho(self, r: Fraction) -> Fraction: ...


@dataclass(frozen=True)
class Parabola:
    bounded: bool = False

    def psi(self, r: Fraction) -> Fraction:
        return r

    def rho(self, r: Fraction) -> Fraction:
        return r * r / 2


@dataclass(frozen=True)
class Tilted:
    tau: Fraction
    bounded: bool = True

    def psi(self, r: Fraction) -> Fraction:
        return (r >= 0) - self.tau

    def rho(self, r: Fraction) -> Fraction:
        return max((1 - self.tau) * r, -self.tau * r)


@dataclass(frozen=True)
class Bent:
    threshold: Fraction
    bounded: bool = True

    def psi(self, r: Fraction) -> Fraction:
        return max(min(r / self.threshold, F(1)), F(-1))

    def rho(self, r: Fraction) -> Fraction:
        size = abs(r) / self.threshold
        return size * size / 2 if size <= 1 else size - F(1, 2)


@dataclass(frozen=True)
class Leaning:
    tau: Fraction
    bounded: bool = False

    def psi(self, r: Fraction) -> Fraction:
        return (self.tau if r < 0 else 1 - self.tau) * r

    def rho(self, r: Fraction) -> Fraction:
        return self.psi(r) * r / 2


@dataclass(frozen=True)
class Odds:
    """Of a margin, eta for class 0 and -eta for class 1, in place of a residual."""

    bounded: bool = True

    def psi(self, r: Fraction) -> Fraction:
        return F(1 / (1 + exp(-r))) if abs(r) < 99 else F(int(r > 0))

    def rho(self, r: Fraction) -> Fraction:
        return max(r, F(0)) + F(log1p(exp(-abs(r))))


@dataclass(frozen=True)
class Ramp:
    """A check loss smoothed by a uniform kernel, in units of its bandwidth."""

    tau: Fraction
    bandwidth: Fraction
    bounded: bool = True

    def psi(self, r: Fraction) -> Fraction:
        return (1 + max(min(r / self.bandwidth, F(1)), F(-1))) / 2 - self.tau

    def rho(self, r: Fraction) -> Fraction:
        size = r / self.bandwidth
        if abs(size) <= 1:
            return self.psi(r) ** 2 + self.tau * (1 - self.tau)
        return max((1 - self.tau) * size, -self.tau * size)


class Model(Protocol):
    """What one record adds at theta, and the extreme scores and the largest value there are."""

    def score(self, theta: Vector, record: Vector) -> Vector: ...

    def value(self, theta: Vector, record: Vector) -> Fraction: ...

    def extremes(self, theta: Vector) -> Sequence[Vector]:
        """Return scores whose hull holds every score that a record can have at theta."""
        ...

    def largest_value(self, corners: Sequence[Vector]) -> Fraction:
        """Return the largest value of any record at any theta of the hull of these corners."""
        ...


@dataclass(frozen=True)
class Place:
    """A location; records between bounds."""

    function: Function
    low: Vector
    high: Vector

    def score(self, theta: Vector, record: Vector) -> Vector:
        return tuple(self.function.psi(t - x) for t, x in zip(theta, record, strict=True))

    def value(self, theta: Vector, record: Vector) -> Fraction:
        return sum((self.function.rho(t - x) for t, x in zip(theta, record, strict=True)), F(0))

    def extremes(self, theta: Vector) -> Sequence[Vector]:
        records = list(product(*zip(self.low, self.high, strict=True)))
        if self.function.bounded:  # its range is stated for every theta, wherever records are
            records = list(product((-ENDLESS, ENDLESS), repeat=len(theta)))
        return [self.score(theta, record) for record in records]

    def largest_value(self, corners: Sequence[Vector]) -> Fraction:
        records = list(product(*zip(self.low, self.high, strict=True)))
        return max(self.value(theta, record) for theta in corners for record in records)


@dataclass(frozen=True)
class Away:
    """Distances; unit vectors in steps of 2**-40, distances in whole steps."""

    step: Fraction
    low: Vector
    high: Vector

    def score(self, theta: Vector, record: Vector) -> Vector:
        away = [t - x for t, x in zip(theta, record, strict=True)]
        square = sum(v * v for v in away)
        if not square:
            return tuple(F(0) for _ in away)
        long = root(square)
        return tuple(v / long for v in away)

    def value(self, theta: Vector, record: Vector) -> Fraction:
        away = [(t - x) / self.step for t, x in zip(theta, record, strict=True)]
        square = sum(v * v for v in away)
        return isqrt(square.numerator // square.denominator) * self.step

    def extremes(self, theta: Vector) -> Sequence[Vector]:
        """Return points of the unit circle: those of a right angle's parts, and the diagonals."""
        if len(theta) == 1:
            return [(F(-1),), (F(1),)]
        assert len(theta) == 2
        return CIRCLE

    def largest_value(self, corners: Sequence[Vector]) -> Fraction:
        records = list(product(*zip(self.low, self.high, strict=True)))
        return max(self.value(theta, record) for theta in corners for record in records)


@dataclass(frozen=True)
class Plane:
    """A linear model: records are z_1 .. z_p and y', an intercept has z_0 = 1."""

    function: Function
    intercept: bool
    ends: tuple[tuple[Fraction, Fraction], ...]  # of each z_j, then of y'

    def row(self, record: Vector) -> Vector:
        return (F(1), *record[:-1]) if self.intercept else tuple(record[:-1])

    def residual(self, theta: Vector, record: Vector) -> Fraction:
        row = self.row(record)
        return sum((z * t for z, t in zip(row, theta, strict=True)), F(0)) - record[-1]

    def score(self, theta: Vector, record: Vector) -> Vector:
        w = self.function.psi(self.residual(theta, record))
        return tuple(w * z for z in self.row(record))

    def value(self, theta: Vector, record: Vector) -> Fraction:
        return self.function.rho(self.residual(theta, record))

    def extremes(self, theta: Vector) -> Sequence[Vector]:
        rows = [self.row((*z, F(0))) for z in product(*self.ends[:-1])]
        if self.function.bounded:
            ws = [self.function.psi(r) for r in (-ENDLESS, ENDLESS)]
            return [tuple(w * z for z in row) for w in ws for row in rows]
        return [self.score(theta, record) for record in self.turning(theta)]

    def turning(self, theta: Vector) -> list[Vector]:
        """Return corners of the records, and where z_j (z_j theta_j + rest) turns between them."""
        records = list(product(*self.ends))
        found = list(records)
        for record in records:
            for j, (low, high) in enumerate(self.ends[:-1]):
                slope = theta[j + self.intercept]
                if slope:
                    rest = self.residual(theta, record) - record[j] * slope
                    at = -rest / (2 * slope)
                    if low < at < high:
                        found.append((*record[:j], at, *record[j + 1 :]))
        return found

    def largest_value(self, corners: Sequence[Vector]) -> Fraction:
        records = list(product(*self.ends))
        return max(self.value(theta, record) for theta in corners for record in records)


@dataclass(frozen=True)
class Sorted(Plane):
    """A linear model of two classes: 1 from y' = 1/2 on."""

    def side(self, record: Vector) -> int:
        return -1 if record[-1] >= F(1, 2) else 1

    def score(self, theta: Vector, record: Vector) -> Vector:
        side = self.side(record)
        w = side * self.function.psi(side * (self.residual(theta, record) + record[-1]))
        return tuple(w * z for z in self.row(record))

    def value(self, theta: Vector, record: Vector) -> Fraction:
        return self.function.rho(self.side(record) * (self.residual(theta, record) + record[-1]))

    def extremes(self, theta: Vector) -> Sequence[Vector]:
        """Return rows times the least and the largest psi at theta, of any row and class."""
        rows = [self.row((*z, F(0))) for z in product(*self.ends[:-1])]
        etas = [_dot(row, theta) for row in rows]
        ws = -self.function.psi(-min(etas)), self.function.psi(max(etas))
        return [tuple(w * z for z in row) for w in ws for row in rows]


@dataclass(frozen=True)
class Ranked:
    """Several quantiles of one column; a record at theta counts on either side, as serves best."""

    taus: tuple[Fraction, ...]

    def stairs(self, below: int) -> Vector:
        """Return the score of a record with so many of the quantiles below it."""
        return tuple((j >= below) - tau for j, tau in enumerate(self.taus))

    def choices(self, theta: Vector, record: Vector) -> list[Vector]:
        """Return the scores that a record may have: several if it is tied."""
        first = sum(t < record[0] for t in theta)
        last = sum(t <= record[0] for t in theta)
        return [self.stairs(k) for k in range(first, last + 1)]

    def least(self, theta: Vector, dataset: Sequence[Vector]) -> float:
        """Return the least half variation of the sum, where tied records may be shared.

        A linear program: shares of each record's choices, and one bound for each step of the walk.
        """
        options = [self.choices(theta, x) for x in dataset]
        columns = [(i, v) for i, each in enumerate(options) for v in each]
        m = len(self.taus)
        shares = np.array([[i == k for i, _ in columns] for k in range(len(options))], dtype=float)
        walks = np.array([np.diff([0, *map(float, v), 0]) for _, v in columns]).reshape(-1, m + 1)
        upper = np.block([[walks.T, -np.eye(m + 1)], [-walks.T, -np.eye(m + 1)]])
        equal = np.hstack([shares.reshape(len(options), -1), np.zeros((len(options), m + 1))])
        cost = np.r_[np.zeros(len(columns)), np.full(m + 1, 0.5)]
        kept = {"A_eq": equal, "b_eq": np.ones(len(options))} if options else {}
        return float(linprog(cost, A_ub=upper, b_ub=np.zeros(2 * m + 2), **kept).fun)

    def score(self, theta: Vector, record: Vector) -> Vector:
        return self.choices(theta, record)[0]

    def value(self, theta: Vector, record: Vector) -> Fraction:
        raise NotImplementedError

    def extremes(self, theta: Vector) -> Sequence[Vector]:
        return [self.stairs(k) for k in range(len(self.taus) + 1)]

    def largest_value(self, corners: Sequence[Vector]) -> Fraction:
        raise NotImplementedError


@dataclass(frozen=True)
class Clipped:
    """Moments of theta_0 + theta_1 x - y and of x times it, each clipped."""

    clip: Vector

    def score(self, theta: Vector, record: Vector) -> Vector:
        x, y = record
        residual = theta[0] + theta[1] * x - y
        found = zip((residual, x * residual), self.clip, strict=True)
        return tuple(max(min(v, c), -c) for v, c in found)

    def value(self, theta: Vector, record: Vector) -> Fraction:
        raise NotImplementedError

    def extremes(self, theta: Vector) -> Sequence[Vector]:
        """Return the corners of the clip: it is promised, and nothing else is."""
        return list(product(*((-c, c) for c in self.clip)))

    def largest_value(self, corners: Sequence[Vector]) -> Fraction:
        raise NotImplementedError


# --- Delta ---------------------------------------------------------------------------------------


def moves(
    model: Model, thetas: Sequence[Vector], relation: str, absent: bool
) -> list[list[Vector]]:
    """Return what one record can do to a sum: all differences of scores, all scores, or both."""
    scores = [score for theta in thetas for score in model.extremes(theta)]
    apart = [move for theta in thetas for move in differences(model, theta)]
    if relation == "add-remove":
        return [scores]
    return [apart, scores] if absent else [apart]


def differences(model: Model, theta: Vector) -> list[Vector]:
    """Return the differences of any two scores of one theta."""
    scores = model.extremes(theta)
    if isinstance(model, Away):  # a ball's longest differences are its diameters
        return [tuple(2 * v for v in score) for score in scores]
    return [minus(u, v) for u in scores for v in scores]


def reach(model: Plane, theta: Vector, direction: Sequence[Fraction], relation: str) -> Fraction:
    """Return how far least squares moves along a direction: a form on a box, face by face.

    (v'z)(z'theta - y) over corners, and where it turns on an edge; faces of two free coordinates
    have saddles only.
    """
    found = []
    for record in product(*model.ends):
        spots = [record]
        for j, (low, high) in enumerate(model.ends[:-1]):
            v, t = direction[j + model.intercept], theta[j + model.intercept]
            if v and t:
                still = (*record[:j], F(0), *record[j + 1 :])
                s = _dot(direction, model.row(still))
                at = -(s / v + model.residual(theta, still) / t) / 2
                if low < at < high:
                    spots.append((*record[:j], at, *record[j + 1 :]))
        found += [_dot(direction, model.row(spot)) * model.residual(theta, spot) for spot in spots]
    each, apart = max(map(abs, found)), max(found) - min(found)
    return {"add-remove": each, "replace-one": apart, "absent": max(each, apart)}[relation]


def _dot(u: Sequence[Fraction], v: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True)), F(0))


def gauge(points: Sequence[Vector]) -> Length:
    """Return the norm whose unit ball is the hull of points and their negatives, in the plane."""
    border = _hull([*points, *(tuple(-v for v in p) for p in points)])
    facets = []
    for (a, b), (c, d) in zip(border, [*border[1:], border[0]], strict=True):
        det = a * d - b * c
        facets.append(((d - b) / det, (a - c) / det))
    return lambda v: max(_dot(facet, v) for facet in facets)


def _hull(points: Sequence[Vector]) -> list[Vector]:
    """Return the corners of the hull of points in the plane, counterclockwise."""

    def half(ordered: Sequence[Vector]) -> list[Vector]:
        kept: list[Vector] = []
        for p in ordered:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    ordered = sorted(set(points))
    return half(ordered) + half(ordered[::-1])


def _turn(p: Vector, q: Vector, r: Vector) -> Fraction:
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def box_of(vectors: Sequence[Vector]) -> list[Vector]:
    """Return the corners of the smallest box around vectors."""
    return list(product(*((min(column), max(column)) for column in zip(*vectors, strict=True))))


def minus(u: Vector, v: Vector) -> Vector:
    return tuple(a - b for a, b in zip(u, v, strict=True))


def root(square: Fraction) -> Fraction:
    """Return a square root to 2**-60 or so."""
    scaled = square * 4**80
    return F(isqrt(scaled.numerator // scaled.denominator), 2**80)


def _circle() -> list[Vector]:
    """Return rational points of the unit circle, by the half-angle formula, in all quadrants."""
    found: list[Vector] = []
    for k in range(257):
        t = F(k, 256)
        x, y = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
        found += [(s * x, q * y) for s in (1, -1) for q in (1, -1)]
    return found


CIRCLE = _circle()
