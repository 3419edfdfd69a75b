"""Boxes beside half-spaces and balls: ten thousand of them, and no wrong yes; planted faults."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pytest
from domains.half_spaces import random_polytope

from kng.core.boxes.halving import beside
from kng.core.boxes.sheared import ShearedBoxes
from kng.core.compiled import load
from kng.core.regions import Grid
from kng.domains import (
    HalfSpaces,
    L2Ball,
    LatticeBox,
    Polytope,
    RoundPoints,
    Simplex,
    WalledHalfSpaces,
    half_spaces,
)

BOXES = 10_000
GRIDS = {
    "even": lambda d: Grid((F(0),) * d, (F(1, 8),) * d),
    "uneven": lambda d: Grid((F(1, 5), F(-7, 3), F(1))[:d], (F(1, 9), F(2, 25), F(3, 16))[:d]),
    "fine": lambda d: Grid((F(1, 10),) * d, (F(1, 2**40),) * d),
    "finer than float64": lambda d: Grid((F(1, 10),) * d, (F(1, 3**45),) * d),
}
DOMAINS = {
    "round": lambda d: L2Ball("1.9", d),
    "simplex": lambda d: Simplex("1.9", d),
    "polytope": lambda d: random_polytope(d, d, 2 * d + 6),
    "polytope of long decimals": lambda d: Polytope(
        [*random_polytope(d, d, 2 * d).A, [0.3333333333333333, 0.7071067811865476, 0.1][:d]],
        [*random_polytope(d, d, 2 * d).b, 0.4142135623730951],
    ),
}


def ranges(points: Any, low: Any, high: Any) -> list[tuple[F, F, F]]:
    """Return the least and the largest of every form over a box, and its limit, exactly."""
    a, b = ([F(float(v)) for v in corner] for corner in (low, high))
    found = [(u, v, F(last)) for u, v, last in zip(a, b, points.last, strict=True)]
    found += [(-v, -u, F(-first)) for u, v, first in zip(a, b, points.first, strict=True)]
    if isinstance(points, RoundPoints):
        ends = [
            (w * u - c, w * v - c)
            for u, v, w, c in zip(a, b, points.weights, points.centre, strict=True)
        ]
        least = sum(F(0) if p <= 0 <= q else min(p * p, q * q) for p, q in ends)
        return [*found, (least, sum(max(p * p, q * q) for p, q in ends), F(points.limit))]
    for row, limit in getattr(points, "walls", ()):
        sides = [sorted((k * u, k * v)) for k, u, v in zip(row, a, b, strict=True)]
        found.append((sum(s[0] for s in sides), sum(s[1] for s in sides), F(limit)))
    return found


def attack(points: Any, seed: int, rows: int) -> tuple[Any, Any]:
    """Return boxes of all sizes, most of them across an edge, and many of them points."""
    rng = np.random.default_rng(seed)
    first, last = np.array(points.first, float), np.array(points.last, float)
    low = rng.uniform(first, last, (rows, len(first)))
    # Half of them are moved to the edge, by halving the way between home and themselves.
    home, inside = np.array(points.home(), float), np.zeros(rows)
    outside = np.ones(rows)
    for _ in range(50):
        middle = (inside + outside) / 2
        at = np.rint(home + middle[:, None] * (low - home))
        held = [points.contains(tuple(int(v) for v in k)) for k in at] if rows <= 500 else None
        if held is None:
            held = points.beside(at, at)[0]
        inside = np.where(held, middle, inside)
        outside = np.where(held, outside, middle)
    edge = rng.random(rows) < 0.5
    low[edge] = (home + inside[:, None] * (low - home))[edge]
    whole = rng.random(rows) < 0.7
    low[whole] = np.rint(low[whole]) + rng.integers(-1, 2, low[whole].shape)
    sides = (last - first) * 2.0 ** -rng.integers(1, 60, (rows, 1)) * rng.random(low.shape)
    sides[whole] = np.rint(sides[whole])
    sides[rng.random(low.shape) < 0.4] = 0.0
    return low, low + sides


@pytest.mark.every(2)
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", DOMAINS)
def test_no_box_is_wrongly_called_inside_or_outside(name, grid, d):
    points = DOMAINS[name](d).on(GRIDS[grid](d))
    low, high = attack(points, d, BOXES)
    inside, outside = points.beside(low, high)
    assert not (inside & outside).any()
    small = not grid.startswith("fine") and "long" not in name
    # Exact arithmetic is slow: every box with an answer near an edge, and some others.
    for i in range(0, BOXES, 1 if d == 2 else 3):
        if not (inside[i] or outside[i] or small):
            continue
        forms = ranges(points, low[i], high[i])
        within = all(most <= limit for _, most, limit in forms)
        beyond = any(least > limit for least, _, limit in forms)
        if small and np.array_equal(low[i], np.rint(low[i])):
            assert (inside[i], outside[i]) == (within, beyond)
        assert within or not inside[i]
        assert beyond or not outside[i]
    if d > 1:
        assert min(inside.sum(), outside.sum(), (~inside & ~outside).sum()) > BOXES / 200


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", DOMAINS)
def test_what_is_not_a_number_is_no_yes(name, d):
    points = DOMAINS[name](d).on(GRIDS["even"](d))
    nan, inf = np.full((1, d), np.nan), np.full((1, d), np.inf)
    for low, high in ((nan, nan), (-inf, inf), (-inf, nan)):
        assert [m.tolist() for m in points.beside(low, high)] == [[False], [False]]


# --- planted faults ------------------------------------------------------------------------------


def agrees(domain: Any, grid: Grid, d: int) -> None:
    """Compare lattice points with the set itself."""
    points = domain.on(grid)
    for k in product(range(-20, 40), repeat=d):
        assert points.contains(k) == domain.contains(grid.theta(k))


TESTED = [
    (random_polytope(5, 2, 9), Grid((F(0),) * 2, (F(1, 8),) * 2)),
    (random_polytope(7, 2, 9), GRIDS["uneven"](2)),
    (Simplex(2, 2), Grid((F(0),) * 2, (F(1, 8),) * 2)),
    (Simplex("1.9", 2), GRIDS["uneven"](2)),
]


@pytest.mark.parametrize(("domain", "grid"), TESTED)
def test_lattice_points_are_those_of_the_set(domain, grid):
    agrees(domain, grid, 2)


def test_a_half_space_that_is_dropped_is_caught(monkeypatch):
    right = half_spaces.cut
    monkeypatch.setattr(
        "kng.domains.polytope.cut", lambda box, walls, inner: right(box, walls[:-1], inner)
    )
    with pytest.raises(AssertionError):
        agrees(*TESTED[0], 2)


def test_a_strict_inequality_is_caught(monkeypatch):
    def strict(walls: Any, point: Any) -> bool:
        return all(sum(a * k for a, k in zip(row, point, strict=True)) < b for row, b in walls)

    monkeypatch.setattr(half_spaces, "_below", strict)
    for case in (TESTED[0], TESTED[2]):
        with pytest.raises(AssertionError):
            agrees(*case, 2)


def test_a_wall_that_is_rounded_up_is_caught(monkeypatch):
    monkeypatch.setattr(half_spaces, "floor", ceil)
    for case in (TESTED[1], TESTED[3]):
        with pytest.raises(AssertionError):
            agrees(*case, 2)


def test_a_margin_that_is_forgotten_is_caught(monkeypatch):
    """Next to a wall of some 2**110 a sum of two products rounds by far more than a step."""
    points = DOMAINS["polytope of long decimals"](2).on(GRIDS["finer than float64"](2))
    (a, b), limit = max(points.walls, key=lambda wall: abs(wall[0][0]))
    rng = np.random.default_rng(0)
    x = np.rint(rng.uniform(points.first[0] / 2, points.last[0] / 2, 2000))
    y = np.array([float((limit - a * int(v)) // b) for v in x])
    at = np.column_stack([x, y + rng.integers(-1, 2, len(y)) * np.spacing(np.abs(y))])
    held = np.array([points.contains(tuple(int(v) for v in k)) for k in at])
    inside, outside = points.beside(at, at)
    assert not ((inside & ~held) | (outside & held)).any()
    monkeypatch.setattr(half_spaces, "EXACT", np.inf)
    inside, outside = points.beside(at, at)
    assert ((inside & ~held) | (outside & held)).any()


def test_walls_for_compiled_loops_are_small():
    """Sums of products with walls stay below 2**46 over boxes that hold the domain six times."""
    for name, d in product(DOMAINS, (2, 3)):
        for grid in GRIDS.values():
            points = DOMAINS[name](d).on(grid(d))
            if not hasattr(points, "inequalities"):
                continue
            sides = [b - a + 1 for a, b in zip(points.first, points.last, strict=True)]
            for row, _ in getattr(points, "walls", ()):
                assert sum(abs(a) * n for a, n in zip(row, sides, strict=True)) <= 2**40


def test_points_are_refused_whose_home_lies_outside():
    with pytest.raises(ValueError, match="the point that should lie inside does not"):
        HalfSpaces(LatticeBox((0, 0), (3, 3)), (((1, 1), 2),), (3, 3))
    with pytest.raises(ValueError, match="the point that should lie inside does not"):
        RoundPoints(LatticeBox((0, 0), (3, 3)), (1, 1), (0, 0), 2, (3, 3))


# --- compiled loops ------------------------------------------------------------------------------


def wide_walls(d: int) -> WalledHalfSpaces:
    """Return walls as large as compiled loops are given: 2**40 over the box."""
    box = LatticeBox((-(2**20),) * d, (2**20 - 1,) * d)
    rng = np.random.default_rng(d)
    rows = rng.integers(-(2**19) // d, 2**19 // d, (12, d)).tolist()
    walls = [(tuple(row), int(rng.integers(2**36, 2**38))) for row in rows]
    points = half_spaces.cut(box, walls, (0,) * d)
    assert isinstance(points, WalledHalfSpaces)
    return points


@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_shear_is_given_up_where_walls_would_round(d):
    points, steep = wide_walls(d), np.triu(np.full((d, d), 4.0), 1) + np.eye(d)
    start = np.zeros(d)
    for domain, kept in ((points, d < 5), (LatticeBox(points.first, points.last), True)):
        boxes = ShearedBoxes(domain, start, steep, 1, 0)
        assert bool(boxes.turn.any()) == kept
        sides = np.abs(boxes.shear) @ 2.0 ** boxes.whole[0, d : 2 * d]
        assert (np.abs(boxes.walls) @ sides).max() <= 2.0**46


@pytest.mark.parametrize("d", [2, 3, 5])
def test_compiled_loops_say_no_wrong_yes_of_the_largest_walls(d):
    load(beside)
    points = wide_walls(d)
    boxes = ShearedBoxes(points, np.zeros(d), np.eye(d), 1, 0)
    rng, found = np.random.default_rng(d), set()
    for _ in range(BOXES // 4):
        half = np.rint(2.0 ** rng.integers(0, 19, d) * rng.integers(0, 2, d))
        row, limit = points.walls[int(rng.integers(len(points.walls)))]
        t = rng.integers(-(2**18), 2**18, d)
        # The last coordinate is moved to where a corner meets the wall.
        reach = sum(abs(a) * int(h) for a, h in zip(row, half, strict=True))
        rest = limit - reach - sum(a * int(v) for a, v in zip(row[:-1], t[:-1], strict=True))
        t[-1] = rest // row[-1] + int(rng.integers(-1, 2))
        at = t.astype(float)
        inside, outside, _ = beside(boxes.walls, boxes.limits, boxes.shear, at, half, 0.0)
        forms = ranges(points, at - half, at + half)
        assert all(most <= end for _, most, end in forms) or not inside
        assert any(least > end for least, _, end in forms) or not outside
        found |= {("inside", inside), ("outside", outside)}
    assert len(found) == 4
