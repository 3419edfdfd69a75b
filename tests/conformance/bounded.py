"""Losses over public records, each with its definition in plain fractions. A new one is a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

import numpy as np

from kng.core.bounds import bounds_of
from kng.core.encoding import Encoding, encoding_of
from kng.core.parts import Loss, Norm
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.losses.distance import Distance
from kng.losses.location import Location
from kng.losses.pointwise.expectile import Expectile
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.squared import Squared
from kng.norms import L1, L2, LInf

Theta = tuple[Fraction, ...]
Record = tuple[int, ...]
UNITS = [
    PrivacyUnit(ReplaceOne(5)),
    PrivacyUnit(AddRemove()),
    PrivacyUnit(ReplaceOne(5), presence="optional"),
]


NORMS: dict[str, Norm] = {"l1": L1(), "l2": L2(), "sup": LInf()}


@dataclass(frozen=True)
class Row:
    """A loss, where theta may lie, and what one record adds to gradient and value."""

    loss: Loss
    records: Encoding
    first: tuple[int, ...]
    last: tuple[int, ...]
    plain: Callable[[Theta, Record], tuple[Sequence[Fraction], Fraction]]
    # How far a score as computed is from its definition, for each record.
    steps: Fraction = Fraction(0)
    # Whether some records attain the body at every theta of the records' own lattice.
    attained: bool = False

    def draw(self, rng: np.random.Generator, n: int) -> list[Record]:
        """Return random records, corners and ties."""
        last = self.records.last
        corners = list(product(*((0, k) for k in last)))
        drawn = [tuple(int(rng.integers(0, k + 1)) for k in last) for _ in range(n)]
        kinds = [
            drawn[i] if rng.random() < 0.5 else corners[rng.integers(len(corners))]
            for i in range(n)
        ]
        return [kinds[0] if rng.random() < 0.2 else record for record in kinds]

    def point(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Return a lattice point of the domain."""
        return tuple(
            int(rng.integers(a, b + 1)) for a, b in zip(self.first, self.last, strict=True)
        )


def located(
    function: Any,
    psi: Callable[[Fraction], Fraction],
    rho: Callable[[Fraction], Fraction],
    bounds: Any,
    granularity: Any,
    beyond: int,
    **more: Any,
) -> Row:
    records = encoding_of(bounds_of(bounds), granularity=granularity, missing=None, bits=8)
    loss = Location(function).over(records)

    def plain(theta: Theta, record: Record) -> tuple[list[Fraction], Fraction]:
        x = [o + h * k for o, h, k in zip(loss.grid.origin, loss.grid.step, record, strict=True)]
        r = [t - v for t, v in zip(theta, x, strict=True)]
        return [psi(v) for v in r], sum((rho(v) for v in r), Fraction(0))

    first = tuple(-beyond for _ in records.last)
    last = tuple(k + beyond for k in records.last)
    return Row(loss, records, first, last, plain, **more)


def huber(r: Fraction) -> Fraction:
    return r * r / 2 if abs(r) <= 1 else abs(r) - Fraction(1, 2)


def apart(bounds: Any, granularity: Any, beyond: int) -> Row:
    records = encoding_of(bounds_of(bounds), granularity=granularity, missing=None, bits=8)
    loss = Distance().over(records)

    def plain(theta: Theta, record: Record) -> tuple[list[Fraction], Fraction]:
        at = zip(theta, loss.grid.origin, loss.grid.step, record, strict=True)
        away = [int((t - o) / h) - k for t, o, h, k in at]
        square = sum(a * a for a in away)
        sizes = [isqrt(4**25 * a * a // square) if square else 0 for a in away]
        unit = [Fraction(-v if a < 0 else v, 2**25) for a, v in zip(away, sizes, strict=True)]
        return unit, isqrt(square) * records.step[0]

    first = tuple(-beyond for _ in records.last)
    last = tuple(k + beyond for k in records.last)
    return Row(loss, records, first, last, plain, steps=Fraction(1, 2**24))


def parabola(r: Fraction) -> Fraction:
    return r * r / 2


def clipped(r: Fraction) -> Fraction:
    return max(min(r, Fraction(1)), Fraction(-1))


def side(r: Fraction) -> Fraction:
    return (r >= 0) - TAU


def tilted(r: Fraction) -> Fraction:
    return max((1 - TAU) * r, -TAU * r)


def leaning(r: Fraction) -> Fraction:
    return (TAU if r < 0 else 1 - TAU) * r


TAU = Fraction(9, 10)
PLANE = np.array([[0, -3], [10, 1]])
BEND = Fraction(3, 2)
FINE = Fraction(1, 2**22)
ROWS = {
    "mean": located(Squared(), Fraction, parabola, (-1, 9), "0.1", 7, attained=True),
    "mean within": located(Squared(), Fraction, parabola, (0, 8), 1, 0, attained=True),
    "means": located(Squared(), Fraction, parabola, PLANE, [1, "1/7"], 3, attained=True),
    "quantile": located(Pinball(TAU), side, tilted, (0, 20), 1, 3),
    "quantiles": located(Pinball(TAU), side, tilted, PLANE, [1, "1/2"], 3),
    "huber": located(
        Huber(BEND),
        lambda r: clipped(r / BEND),
        lambda r: huber(r / BEND),
        (0, 20),
        "1/3",
        5,
        steps=FINE,
    ),
    "distance on a line": apart((0, 20), 1, 4),
    "distance": apart(PLANE, "1/2", 3),
    "fine distance": apart(PLANE, "1/4096", 30),
    "distance in space": apart(np.array([[0, -3, 0], [10, 1, 3]]), "1/2", 3),
    "expectile": located(
        Expectile(TAU), leaning, lambda r: leaning(r) * r / 2, (-1, 9), "0.1", 7, attained=True
    ),
    "expectiles": located(
        Expectile(TAU), leaning, lambda r: leaning(r) * r / 2, PLANE, [1, "1/7"], 3, attained=True
    ),
    "hubers": located(Huber(1), clipped, huber, PLANE, ["1/4", "1/8"], 5, steps=FINE),
}
