"""What every domain must keep, for those of the package and of anybody else."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest

from kng.core.errors import KngError
from kng.core.regions import Grid

Holds = Callable[[tuple[F, ...]], bool]
# Steps that are alike and around 0, and steps and origins without a simple measure.
GRIDS = (
    Grid((F(0),) * 3, (F(1, 4),) * 3),
    Grid((F(1, 5), F(-7, 3), F(1, 7)), (F(1, 3), F(2, 5), F(3, 8))),
)
BOXES = 300


def conforms(make: Callable[[int], Any], holds: Holds, dims: tuple[int, ...] = (1, 2, 3)) -> None:
    """Attack a bounded domain: ``make`` gives it in d coordinates, ``holds`` is its definition.

    It should lie within some five units of 0, for there to be few lattice points.
    """
    for d in dims:
        domain = make(d)
        assert domain.bounded
        assert domain.refusal() is None
        assert domain.dim == domain.sized(d).dim == d
        with pytest.raises(KngError):
            domain.sized(d + 1)
        copy = pickle.loads(pickle.dumps(domain))
        assert (copy, hash(copy)) == (domain, hash(domain))
        _set(domain, holds, d)
        for grid in GRIDS:
            at = Grid(grid.origin[:d], grid.step[:d])
            points = domain.on(at)
            _points(domain, points, at, holds)
            _boxes(points, np.random.default_rng(d))
            _units(domain, points, at)


def _set(domain: Any, holds: Holds, d: int) -> None:
    """Membership is that of the definition, and the region holds it."""
    region, found = domain.region(), set()
    for row in np.random.default_rng(d).integers(-60, 61, (500, d)):
        theta = tuple(F(int(v), 12) for v in row)
        expected = holds(theta)
        assert domain.contains(theta) == expected
        found.add(expected)
        if expected:
            assert all(a <= v <= b for v, (a, b) in zip(theta, region.sides(), strict=True))
            assert sum(map(abs, theta)) <= region.length
    assert found == {True, False}


def _points(domain: Any, points: Any, grid: Grid, holds: Holds) -> None:
    """Lattice points are those of the definition, and no others, within the corners and beyond."""
    ends = [range(a - 2, b + 3) for a, b in zip(points.first, points.last, strict=True)]
    count = 1
    for a, b in zip(points.first, points.last, strict=True):
        count *= b - a + 1
    assert points.points == count
    inside = [k for k in product(*ends) if points.contains(k)]
    assert inside == [k for k in product(*ends) if holds(grid.theta(k))]
    assert points.home() in inside
    region = domain.region()
    for k in inside:
        assert all(a <= v <= b for a, v, b in zip(points.first, k, points.last, strict=True))
        assert all(a <= v <= b for v, (a, b) in zip(grid.theta(k), region.sides(), strict=True))
    for row, limit in points.inequalities() if hasattr(points, "inequalities") else []:
        assert all(isinstance(v, int) for v in (*row, limit))
        assert all(sum(a * v for a, v in zip(row, k, strict=True)) <= limit for k in inside)
    if hasattr(points, "inequalities"):
        walls = points.inequalities()
        for k in product(*ends):
            behind = all(sum(a * v for a, v in zip(r, k, strict=True)) <= b for r, b in walls)
            assert behind == points.contains(k)


def _boxes(points: Any, rng: np.random.Generator) -> None:
    """No box is wrongly called inside or outside, and one lattice point is called either."""
    first, last = np.array(points.first, float), np.array(points.last, float)
    low = np.floor(rng.uniform(first - 3, last + 3, (BOXES, points.dim)))
    high = low + rng.integers(0, 5, low.shape)
    inside, outside = points.beside(low, high)
    for a, b, within, beyond in zip(low, high, inside, outside, strict=True):
        ends = [range(int(u), int(v) + 1) for u, v in zip(a, b, strict=True)]
        held = [points.contains(k) for k in product(*ends)]
        assert all(held) or not within
        assert not any(held) or not beyond
    inside, outside = points.beside(low, low)
    held = [points.contains(tuple(map(int, k))) for k in low]
    assert (inside.tolist(), outside.tolist()) == (held, [not h for h in held])
    endless = np.full((1, points.dim), np.inf)
    assert [m.tolist() for m in points.beside(-endless, endless)] == [[False], [False]]


def _units(domain: Any, points: Any, grid: Grid) -> None:
    """In other units it is the same set."""
    factor = F(7, 3)
    other = domain.scaled(factor)
    there = other.on(Grid(*(tuple(factor * v for v in w) for w in (grid.origin, grid.step))))
    assert (there.first, there.last) == (points.first, points.last)
    assert other.scaled(1 / factor) == domain
