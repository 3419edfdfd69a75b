"""Polytopes: bounded, with points inside, or refused in a sentence; what is known of them."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import inf, nan

import numpy as np
import pytest
from domains.half_spaces import corners, holds, random_polytope, random_rows

import kng
from kng.core.errors import IncompatibleParts, KngError, SpecError
from kng.core.parts import Walled
from kng.core.regions import Grid
from kng.domains import HalfSpaces, L2Ball, LatticeBox, Polytope, Simplex, WalledHalfSpaces

CUBE = [[1, 0], [-1, 0], [0, 1], [0, -1]]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("m", [8, 12])
def test_the_region_is_that_of_all_corners(d, m):
    for seed in range(6):
        rows, limits = random_rows(np.random.default_rng(seed), d, m)
        found = list(corners(rows, limits))
        region = Polytope(rows, limits).region()
        columns = list(zip(*found, strict=True))
        assert region.low == tuple(map(min, columns))
        assert region.high == tuple(map(max, columns))
        assert region.length == max(sum(map(abs, corner)) for corner in found)


def test_in_many_coordinates_the_length_is_that_of_the_box():
    d = 8
    rows = [[(1, -1)[i % 2] * (j == i // 2) for j in range(d)] for i in range(2 * d)]
    assert Polytope([*rows, [1] * d], [1] * (2 * d) + [2]).region().length == d


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("m", [1, 2, 40])
def test_so_many_half_spaces(d, m):
    rows, limits = random_rows(np.random.default_rng(d), d, m)
    if m < 2 * d:
        with pytest.raises(SpecError, match="Polytope is unbounded: coordinate"):
            Polytope(rows, limits)
        return
    polytope = Polytope(rows, limits)
    points = polytope.on(Grid((F(1, 7),) * d, (F(1, 16),) * d))
    assert isinstance(points, Walled)
    assert points.contains(points.home())
    rng = np.random.default_rng(m)
    first, last = np.array(points.first), np.array(points.last)
    found = set()
    for k in rng.integers(first - 1, last + 2, (300, d)).tolist():
        theta = points_theta(k, d)
        expected = holds(rows, limits, theta)
        assert points.contains(tuple(k)) == polytope.contains(theta) == expected
        found.add(expected)
    assert found == {True, False}


def points_theta(k: list[int], d: int) -> tuple[F, ...]:
    return tuple(F(1, 7) + F(v, 16) for v in k[:d])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Polytope([[1, 0]], [1]), "Polytope is unbounded: coordinate 0 has no bound below"),
        (lambda: Polytope(CUBE[:3], [1] * 3), "is unbounded: coordinate 1 has no bound below"),
        (lambda: Polytope([[1, 1], [-1, -1]], [1, 1]), "Polytope is unbounded"),
        (lambda: Polytope([[1], [-1]], [0, -1]), "Polytope is empty: no theta satisfies its 2"),
        (lambda: Polytope([*CUBE, [0, 0]], [1, 1, 1, 1, -1]), "Polytope is empty"),
        (lambda: Polytope([[1, 1], [-1, -1]], [0, -1]), "Polytope is empty"),
        (lambda: Polytope([[1], [-1]], [1, -1]), "Polytope is flat: every theta"),
        (lambda: Polytope([*CUBE, [1, 1], [-1, -1]], [1] * 4 + [1, -1]), "Polytope is flat"),
        (lambda: Polytope([[1], [-1]], ["1e-300", 0]), None),
        (lambda: Polytope([[1], [-1]], [1]), "A has 2 rows and b has 1 numbers"),
        (lambda: Polytope([[1, 2], [1]], [1, 1]), "Polytope needs rows of A, each with one number"),
        (lambda: Polytope([], []), "Polytope needs rows of A"),
        (lambda: Polytope([[]], [1]), "Polytope needs rows of A"),
        (lambda: Polytope(1, [1]), "A of Polytope must be a list, got 1"),
        (lambda: Polytope([[1]], 1), "b of Polytope must be a list, got 1"),
        (lambda: Polytope([1], [1]), "each row of A of Polytope must be a list, got 1"),
        (lambda: Polytope([[nan]], [1]), "A of Polytope must be a finite number, got nan"),
        (lambda: Polytope([[1]], [inf]), "b of Polytope must be a finite number, got inf"),
        (lambda: L2Ball(0), "radius of L2Ball must be greater than 0, got 0"),
        (lambda: L2Ball(-1), "radius of L2Ball must be greater than 0, got -1"),
        (lambda: L2Ball(nan), "radius of L2Ball must be a finite number, got nan"),
        (lambda: L2Ball(inf), "radius of L2Ball must be a finite number, got inf"),
        (lambda: L2Ball(1, 0), "dim must be a whole number of at least 1"),
        (lambda: Simplex(0), "total of Simplex must be greater than 0, got 0"),
        (lambda: Simplex("x"), "total of Simplex must be a number"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_domain_is_refused_in_one_or_two_sentences(build, message):
    if message is None:
        build()
        return
    with pytest.raises(KngError, match=message) as refused:
        build()
    assert str(refused.value).count(". ") <= 1
    assert "\n" not in str(refused.value)


def test_no_float_decides_whether_it_is_flat():
    """Two parallel planes as far apart as 1e-250, which a float solver takes for one."""
    thin = Polytope([*CUBE, ["1/3", "1/7"], ["-1/3", "-1/7"]], [1] * 4 + ["1e-250", 0])
    assert thin.contains((F(0), F(0)))
    with pytest.raises(SpecError, match="flat"):
        Polytope([*CUBE, ["1/3", "1/7"], ["-1/3", "-1/7"]], [1] * 4 + [0, 0])


def test_rows_that_cut_nothing_off_are_kept_and_do_no_harm():
    plain, more = Polytope(CUBE, [1] * 4), Polytope([*CUBE, [1, 1], [0, 0]], [1] * 4 + [9, 0])
    assert plain.region() == more.region()
    grid = Grid((F(0),) * 2, (F(1, 3),) * 2)
    assert plain.on(grid) == more.on(grid) == LatticeBox((-3, -3), (3, 3))
    assert plain != more


def test_numbers_are_read_as_they_are_written():
    found = Polytope(np.array([[0.1], [-1.0]]), (np.float64(0.3), "1/7"))
    assert [list(row) for row in found.A] == [[F(1, 10)], [F(-1)]]
    assert (found.region().low, found.region().high) == ((F(-1, 7),), (F(3),))
    assert repr(found) == "Polytope([[0.1], [-1]], [0.3, 1/7])"


def test_long_decimals_leave_walls_to_the_generic_way():
    grid = Grid((F(0),) * 2, (F(1, 2**20),) * 2)
    short = Polytope([*CUBE, [0.25, 0.75]], [1, 1, 1, 1, 0.5]).on(grid)
    long = Polytope([*CUBE, [0.2500000000000001, 0.75]], [1, 1, 1, 1, 0.5]).on(grid)
    assert isinstance(short, WalledHalfSpaces)
    assert isinstance(short, Walled)
    assert isinstance(long, HalfSpaces)
    assert not isinstance(long, Walled)
    with pytest.raises(SpecError, match="half-spaces have no common measure of a usable size"):
        Polytope([*CUBE, ["1e-200", "1"]], [1, 1, 1, 1, 0.5]).on(grid)


def test_a_thin_polytope_has_a_point_or_is_refused():
    """Strips along a diagonal: the point nearest to their middle lies outside."""
    grid = Grid((F(0),) * 2, (F(1),) * 2)
    for above, below, found in ((F(4, 3), F(5, 6), True), (1, F(99, 100), True), (1.9, 1.1, False)):
        strip = Polytope([[7, -5], [-7, 5], *CUBE], [above, -below, 40, 40, 40, 40])
        exists = any(strip.contains(map_(k)) for k in product(range(-40, 41), repeat=2))
        assert exists == found
        if found:
            assert strip.contains(map_(strip.on(grid).home()))
            continue
        with pytest.raises(IncompatibleParts, match="Polytope of 6 half-spaces holds no point"):
            strip.on(grid)


def map_(k: tuple[int, ...]) -> tuple[F, ...]:
    return tuple(map(F, k))


@pytest.mark.parametrize("d", [2, 3])
def test_every_small_polytope_has_its_home_or_no_point_at_all(d):
    rng = np.random.default_rng(d)
    empty = 0
    for _ in range(60):
        rows, limits = random_rows(rng, d, 2 * d + 4)
        shift = [F(int(v), 11) for v in rng.integers(0, 22, d)]
        shrunk = [limit / 3 for limit in limits]
        polytope, grid = Polytope(rows, shrunk), Grid(tuple(shift), (F(1),) * d)
        inside = [k for k in product(range(-4, 3), repeat=d) if holds(rows, shrunk, grid.theta(k))]
        if inside:
            points = polytope.on(grid)
            assert points.home() in inside
            assert {k for k in product(range(-4, 3), repeat=d) if points.contains(k)} == set(inside)
        else:
            empty += 1
            with pytest.raises(IncompatibleParts, match="holds no point of the lattice"):
                polytope.on(grid)
    assert 5 < empty < 55


def test_a_lattice_that_only_just_touches_a_ball():
    grid = Grid((F(3), F(4)), (F(20), F(20)))
    touching = L2Ball(5, 2).on(grid)
    assert (touching.points, touching.home()) == (1, (0, 0))
    low = high = np.zeros((1, 2))
    assert [m.tolist() for m in touching.beside(low, high)] == [[True], [False]]
    with pytest.raises(IncompatibleParts, match=r"L2Ball\(4.9999, dim=2\) holds no point"):
        L2Ball("4.9999", 2).on(grid)
    with pytest.raises(IncompatibleParts, match=r"Simplex\(6.9, dim=2\) holds no point"):
        Simplex("6.9", 2).on(grid)
    assert Simplex(7, 2).on(grid).points == 1


@pytest.mark.parametrize("size", ["1e300", "1e-300", "1e12", "1e-12"])
def test_huge_and_tiny_domains(size):
    unit = F(size)
    steps = Grid((unit / 3,) * 2, (unit / 16,) * 2)
    for domain in (L2Ball(size, 2), Simplex(size, 2), Polytope(CUBE, [size] * 4)):
        points = domain.on(steps)
        assert 100 < points.points < 2000
        assert points.contains(points.home())
        assert domain.contains(steps.theta(points.home()))
        assert points == domain.scaled(F(3)).on(Grid((unit,) * 2, (3 * unit / 16,) * 2))
    with pytest.raises(SpecError, match="radius of L2Ball and the steps of the coordinates"):
        L2Ball(1, 2).on(Grid((F(0),) * 2, (F(1, 2**300), F(1, 3**200))))


def test_the_length_of_a_ball_is_rounded_up_by_little():
    for d in range(1, 30):
        region = L2Ball("2/3", d).region()
        square = (region.length / F(2, 3)) ** 2
        assert d <= square <= d * (1 + F(1, 2**90))
        assert (region.low, region.high) == ((F(-2, 3),) * d, (F(2, 3),) * d)


def test_other_numbers_of_coordinates_are_refused():
    square = Polytope(CUBE, [1] * 4)
    assert square.sized(2) is square
    with pytest.raises(IncompatibleParts, match="has 2 coordinates, but the loss has 3"):
        square.sized(3)
    for domain in (square, L2Ball(1, 2), Simplex(1, 2)):
        assert not domain.contains((F(0),) * 3)
        with pytest.raises(IncompatibleParts, match="2 coordinates, but the loss has 3"):
            kng.KNG(kng.losses.Location(kng.losses.Squared()), domain=domain).plan(
                bounds=([0] * 3, [1] * 3), epsilon=1
            )


def test_a_polytope_in_twelve_coordinates_is_known_in_seconds():
    polytope = random_polytope(3, 12, 30)
    points = polytope.on(Grid((F(0),) * 12, (F(1, 2**30),) * 12))
    assert points.contains(points.home())
