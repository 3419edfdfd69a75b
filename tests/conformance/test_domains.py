"""Every domain and base: the set, its lattice points, boxes beside it, and what is refused."""

from __future__ import annotations

import pickle
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest

from kng.bases import HeavyTailed, Uniform
from kng.core.errors import IncompatibleParts, KngError, SpecError
from kng.core.lattice import Lattice
from kng.core.parts import Walled
from kng.core.regions import Grid, Region
from kng.domains import (
    Box,
    L1Ball,
    L2Ball,
    LatticeBox,
    Polytope,
    Simplex,
    Uncrossed,
    WalledBox,
    Whole,
)
from kng.domains.points import common_measure

DIMS = (1, 2, 3)
# Equal steps around 0, unequal ones, and origins that are no multiple of a step.
GRIDS = {
    "even": lambda d: Grid((F(0),) * d, (F(1, 2),) * d),
    "uneven": lambda d: Grid((F(0),) * d, (F(1, 2), F(1, 3), F(3, 4))[:d]),
    "shifted": lambda d: Grid((F(1, 5), F(-7, 3), F(1))[:d], (F(1, 2), F(2, 5), F(3, 4))[:d]),
}
OTHER = (F(1, 3), F(-1, 2), F(1, 7))
# Half-spaces in up to three coordinates: a skew cone over a slope, and one that cuts nothing off.
ROWS = [
    ([1, 1, 1], 2),
    (["0.7", "-1/3", 2], F(9, 5)),
    ([-1, "0.25", "-0.5"], F(3, 2)),
    ([0, -1, 0.125], F(7, 4)),
    ([0.5, 1, -1], 2),
    ([3, 1, 1], 30),
    ([0, 0, -1], 2),
]


def polytope(d: int) -> Polytope:
    """Return the half-spaces of the table, in as many coordinates."""
    kept = [(row[:d], limit) for row, limit in ROWS if any(row[:d])]
    return Polytope(*zip(*kept, strict=True))


BOUNDED = {
    "box": lambda d: Box(-1, F(3, 2), d),
    "box by coordinate": lambda d: Box([-2, "0.1", -1][:d], [F(1, 3), 1.5, 0][:d]),
    "ball": lambda d: L1Ball(2, d),
    "ball of an odd radius": lambda d: L1Ball("13/7", d),
    "round": lambda d: L2Ball(2, d),
    "round, of an odd radius": lambda d: L2Ball("13/9", d),
    "simplex": lambda d: Simplex(2, d),
    "simplex of an odd total": lambda d: Simplex("1.7", d),
    "polytope": polytope,
    "above": lambda d: Uncrossed(Box(-2, 2, d), 1, 0, OTHER[:d]),
    "below": lambda d: Uncrossed(Box(-2, 2, d), -1, 0, OTHER[:d]),
}
UNBOUNDED = {
    "heavy": Whole,
    "flat": lambda d: Whole(d, base=Uniform()),
}
DOMAINS = BOUNDED | UNBOUNDED
BASES = [Uniform(), HeavyTailed(1), HeavyTailed(3)]


def member(name: str, theta: tuple[F, ...]) -> bool:
    """Whether a theta lies in a domain of the table, by its definition."""
    d = len(theta)
    if name == "box":
        return all(-1 <= v <= F(3, 2) for v in theta)
    if name == "box by coordinate":
        ends = zip((-2, F(1, 10), -1), theta, (F(1, 3), F(3, 2), 0), strict=False)
        return all(a <= v <= b for a, v, b in ends)
    if name.startswith("ball"):
        return sum(abs(v) for v in theta) <= (2 if name == "ball" else F(13, 7))
    if name.startswith("round"):
        return sum(v * v for v in theta) <= (2 if name == "round" else F(13, 9)) ** 2
    if name.startswith("simplex"):
        return min(theta) >= 0 and sum(theta) <= (2 if name == "simplex" else F(17, 10))
    if name == "polytope":
        return all(
            sum(F(str(a)) * v for a, v in zip(row, theta, strict=False)) <= limit
            for row, limit in ROWS
        )
    if name in {"above", "below"}:
        corners = [(1, *z) for z in product((-1, 1), repeat=d - 1)]
        gaps = [sum((v - o) * z for v, o, z in zip(theta, OTHER, c, strict=False)) for c in corners]
        beyond = min(gaps) >= 0 if name == "above" else max(gaps) <= 0
        return beyond and all(abs(v) <= 2 for v in theta)
    return True


def lattice(d: int) -> list[tuple[int, ...]]:
    """Return all k of a box that holds the points of every bounded domain and grid."""
    reach = range(-12, 13) if d < 3 else range(-7, 14)
    return list(product(reach, repeat=d))


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_contains_what_its_definition_says(name, d):
    domain: Any = DOMAINS[name](d)
    rng = np.random.default_rng(d)
    assert domain.dim == d
    found = set()
    for row in rng.integers(-13, 14, (400, d)):
        theta = tuple(F(int(v), 6) for v in row)
        assert domain.contains(theta) == member(name, theta)
        found.add(domain.contains(theta))
    assert found == ({True, False} if name in BOUNDED else {True})


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("name", DOMAINS)
def test_the_region_holds_the_domain(name, d):
    domain: Any = DOMAINS[name](d)
    region = domain.region()
    assert region.dim == d
    assert region.bounded == domain.bounded == (name in BOUNDED)
    if not domain.bounded:
        assert region == Region.everything(d)
        return
    assert domain.proper
    for row in np.random.default_rng(d).integers(-13, 14, (400, d)):
        theta = tuple(F(int(v), 6) for v in row)
        if domain.contains(theta):
            assert all(a <= v <= b for a, v, b in zip(region.low, theta, region.high, strict=True))
            assert sum(map(abs, theta)) <= region.length


@pytest.mark.every(2)
@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", BOUNDED)
def test_lattice_points_are_those_of_the_domain(name, grid, d):
    domain, at = BOUNDED[name](d), GRIDS[grid](d)
    points = domain.on(at)
    assert isinstance(points, Walled) == (d == 1 or not name.startswith("round"))
    assert points.dim == d
    box = LatticeBox(points.first, points.last)
    assert points.points == box.points
    walls = points.inequalities() if isinstance(points, Walled) else None
    assert walls is None or all(isinstance(v, int) for row, b in walls for v in (*row, b))
    inside = 0
    for k in lattice(d):
        expected = member(name, at.theta(k))
        assert points.contains(k) == expected == domain.contains(at.theta(k))
        if walls is not None and (expected or d < 3):
            below = [sum(a * v for a, v in zip(row, k, strict=True)) <= b for row, b in walls]
            assert all(below) == expected
        assert box.contains(k) or not expected
        inside += expected
    assert 0 < inside <= points.points
    assert points.contains(points.home())


def random_boxes(points: Any, rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
    """Return corners in and around the points, some of them single points."""
    first, last = np.array(points.first, float), np.array(points.last, float)
    low = np.floor(rng.uniform(first - 3, last + 3, (rows, len(first))))
    return low, low + rng.integers(0, 5, low.shape)


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", BOUNDED)
def test_no_box_is_wrongly_called_inside_or_outside(name, grid, d):
    points = BOUNDED[name](d).on(GRIDS[grid](d))
    low, high = random_boxes(points, np.random.default_rng(d), 150)
    inside, outside = points.beside(low, high)
    for a, b, within, beyond in zip(low, high, inside, outside, strict=True):
        ranges = [range(int(u), int(v) + 1) for u, v in zip(a, b, strict=True)]
        held = [points.contains(k) for k in product(*ranges)]
        assert within == all(held)  # the sum is convex, so whole corners decide
        assert not (beyond and any(held))
    single = low.copy()
    inside, outside = points.beside(single, single)
    held = [points.contains(tuple(map(int, k))) for k in single]
    assert inside.tolist() == held
    assert outside.tolist() == [not h for h in held]


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("name", BOUNDED)
def test_boxes_far_away_are_outside_and_corners_need_not_be_whole(name, d):
    points = BOUNDED[name](d).on(GRIDS["uneven"](d))
    far = np.full((1, d), 100.0)
    assert points.beside(far, far + 5)[1].tolist() == [True]
    wide = points.beside(-far, far)
    assert [m.tolist() for m in wide] == [[False], [False]]
    home = np.array([points.home()], float)
    assert points.beside(home - 2.0**-9, home + 2.0**-9)[1].tolist() == [False]
    endless = points.beside(np.full((1, d), -np.inf), np.full((1, d), np.inf))
    assert [m.tolist() for m in endless] == [[False], [False]]


def test_a_box_that_lies_across_an_axis_is_seen_to_be_outside():
    points = L1Ball(9, 2).on(Grid((F(0),) * 2, (F(1),) * 2))
    low, high = np.array([[-1.0, 10.0], [-1.0, 9.0]]), np.array([[1.0, 11.0], [1.0, 9.0]])
    assert points.beside(low, high)[1].tolist() == [True, False]
    wide = WalledBox(LatticeBox((-40, -40), (40, 40)), (1, 1), (0, 0), ((1, -1),) * 2, 9, (0, 0))
    assert wide.beside(low, high)[1].tolist() == [True, False]


@pytest.mark.parametrize("bits", [40, 52, 53, 54, 60, 200])
def test_walls_and_corners_beyond_what_float64_holds_give_no_wrong_yes(bits):
    size = 2**bits + 1
    box = LatticeBox((-size,) * 2, (size,) * 2)
    ball = WalledBox(box, (1, 3), (1, -2), ((1, -1),) * 2, size, (0, 0))
    rng = np.random.default_rng(bits)
    x = rng.uniform(0, 1, 200)
    low = np.column_stack([np.floor(size * x), np.floor(size * (1 - x) / 3)])
    low += rng.integers(-3, 4, low.shape) * np.maximum(1.0, np.spacing(low))
    for points in (box, ball):
        inside, outside = points.beside(low, low)
        held = np.array([points.contains(tuple(int(v) for v in k)) for k in low])
        assert not (inside & ~held).any()
        assert not (outside & held).any()
        if bits == 40:
            assert (inside == held).all()
            assert (outside == ~held).all()
    top = np.array([[float(size), 0.0]])
    assert not box.beside(top + 2 * np.spacing(top), top + 2 * np.spacing(top))[0].any()
    assert box.beside(top / 2, top / 2)[0].all()


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("name", BOUNDED)
def test_other_units_have_the_same_lattice_points(name, d):
    domain, at, factor = BOUNDED[name](d), GRIDS["shifted"](d), F(7, 3)
    other = Grid(tuple(factor * v for v in at.origin), tuple(factor * v for v in at.step))
    points, scaled = domain.on(at), domain.scaled(factor).on(other)
    assert (points.first, points.last) == (scaled.first, scaled.last)
    assert points == scaled
    assert domain.scaled(factor).scaled(1 / factor) == domain
    with pytest.raises(SpecError, match="factor must be greater than 0"):
        domain.scaled(F(0))


def test_units_and_sizes_of_domains_that_leave_their_coordinates_to_the_loss():
    assert Box(-1, 2).scaled(F(2)) == Box(-2, 4)
    assert L1Ball(3).scaled(F(1, 2)).sized(2) == L1Ball(F(3, 2), 2)
    assert Whole().scaled(F(5)) == Whole()


def test_what_is_made_of_public_numbers_is_not_refused_for_its_size():
    """A ball is scaled below the charge, by a threshold that was drawn."""
    large, small = F(10) ** 299, F(10) ** -299
    assert L1Ball(large, 2).scaled(large).scaled(large).radius == large**3
    assert Box(-1, large).scaled(large).high == (large**2,)
    fine = Lattice((-small,), (small / 2**24,), (2**25 - 1,))
    assert Box.of(fine).on(Grid(fine.origin, fine.step)) == LatticeBox((0,), (2**25 - 1,))
    with pytest.raises(SpecError, match="high must lie between"):
        Box(0, small**2)
    assert Box(-1, 2).sized(3) == Box([-1] * 3, [2] * 3)
    assert Whole().sized(2) == Whole(2)
    assert Uncrossed(Box(-1, 1), 1, 0).sized(2).dim == 2


@pytest.mark.parametrize(
    "domain",
    [Box(-5, 5), L1Ball(5), L2Ball(5), Simplex(5), Whole(), Uncrossed(Box(-5, 5), 1, 0)],
)
def test_the_number_of_coordinates_is_the_loss_s(domain):
    for d in DIMS:
        sized = domain.sized(d)
        assert sized.dim == sized.region().dim == d
        assert sized.sized(d) == sized
        with pytest.raises(IncompatibleParts, match=f"has {d} coordinate.*but the loss has 7"):
            sized.sized(7)
    with pytest.raises(IncompatibleParts, match="does not say how many coordinates it has"):
        domain.dim  # noqa: B018
    with pytest.raises(IncompatibleParts, match="does not say how many coordinates it has"):
        domain.region()


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("name", UNBOUNDED)
def test_an_unbounded_domain_has_no_lattice_points(name, d):
    with pytest.raises(IncompatibleParts, match=r"Whole\(.*is unbounded.*Use Box or L1Ball\."):
        UNBOUNDED[name](d).on(GRIDS["even"](d))


SQUARE = ([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, 1, 1])


@pytest.mark.parametrize(
    "kind",
    [
        lambda b: Box(-1, 1, 2, b),
        lambda b: L1Ball(1, 2, b),
        lambda b: L2Ball(1, 2, b),
        lambda b: Simplex(1, 2, b),
        lambda b: Polytope(*SQUARE, b),
    ],
)
def test_a_base_weighs_points_and_leaves_them_where_they_are(kind):
    grid = GRIDS["even"](2)
    assert kind(HeavyTailed(3)).on(grid) == kind(Uniform()).on(grid)
    assert kind(HeavyTailed(3)).proper


@pytest.mark.parametrize(
    "domain",
    [
        Box([5, 5], [9, 9]),
        L1Ball(8, 2),
        L2Ball(8, 2),
        Simplex(8, 2),
        Polytope(*SQUARE),
        Uncrossed(Box(-1, 1, 2), 1, 0, (F(0),) * 2),
    ],
)
def test_a_grid_of_other_coordinates_is_refused(domain):
    with pytest.raises(IncompatibleParts, match="has 2 coordinates, but the lattice has 3"):
        domain.on(GRIDS["even"](3))


def test_a_box_away_from_the_records_has_its_own_points():
    points = Box([5, 5], [9, 9]).on(Grid((F(0),) * 2, (F(1),) * 2))
    assert (points.first, points.last) == ((5, 5), (9, 9))
    assert not points.contains((0, 0))


def test_a_lattice_without_a_point_in_the_domain_is_refused():
    coarse = Grid((F(1, 2),) * 2, (F(1),) * 2)
    for domain in (Box(F(-1, 4), F(1, 4), 2), L1Ball(F(9, 10), 2)):
        with pytest.raises(IncompatibleParts, match="holds no point of the lattice"):
            domain.on(coarse)
    assert L1Ball(1, 2).on(coarse).points == 4
    beyond = Uncrossed(Box(-1, 1, 2), 1, 0, (F(3), F(0)))
    with pytest.raises(IncompatibleParts, match="no plane of the box"):
        beyond.on(GRIDS["even"](2))


def test_a_ball_has_lattice_points_in_up_to_ten_coordinates():
    assert len(L1Ball(1, 10).on(Grid((F(0),) * 10, (F(1),) * 10)).inequalities()) == 20 + 2**10
    with pytest.raises(IncompatibleParts, match=r"L1Ball\(1, dim=11\).*at most 10"):
        L1Ball(1, 11).on(Grid((F(0),) * 11, (F(1),) * 11))


def test_steps_without_a_usable_measure_are_refused():
    with pytest.raises(SpecError, match="no common measure"):
        L1Ball(1, 2).on(Grid((F(0),) * 2, (F(1, 2**300), F(1, 3**200))))


def test_the_common_measure_divides_all_and_nothing_larger_does():
    numbers = [F(1, 2), F(-2, 3), F(0), F(5, 4)]
    unit = common_measure(numbers)
    counts = [v / unit for v in numbers]
    assert all(v.denominator == 1 for v in counts)
    assert np.gcd.reduce([int(v) for v in counts]) == 1


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("side", [1, -1])
def test_planes_that_will_not_cross_wait_for_the_other_one(side, d):
    grid = GRIDS["even"](d)
    domain = Uncrossed(Box(-2, 2, d), side, 1)
    waiting = domain.on(grid)
    assert (waiting.first, waiting.last) == ((-4,) * d, (4,) * d)
    ask = np.zeros((1, d))
    for question in (
        waiting.home,
        waiting.inequalities,
        lambda: waiting.contains((0,) * d),
        lambda: waiting.beside(ask, ask),
        lambda: waiting.domain.contains((F(0),) * d),
    ):
        with pytest.raises(SpecError, match="has not been drawn yet"):
            question()
    for other in product((-4, 0, 3), repeat=d):
        known = domain.given(grid, [(0,) * d, other]).on(grid)
        assert known.contains(other)
        end = 4 if side > 0 else -4
        assert known.home() == ((other[0] + end) // 2, *other[1:])
        assert known.contains(known.home())


@pytest.mark.parametrize("base", BASES)
def test_a_base_is_a_density_up_to_a_constant(base):
    for d in DIMS:
        theta = np.random.default_rng(d).normal(size=(50, d))
        logs = base.log_density(theta)
        assert logs.shape == (50,)
        power = 0 if base == Uniform() else d + base.freedom
        np.testing.assert_allclose(logs, -power * np.log(1 + np.abs(theta).sum(axis=1)))


def test_a_base_that_is_not_proper_says_so_and_a_bounded_domain_always_is():
    for d in DIMS:
        assert Whole(d).proper
        assert Whole(d).refusal() is None
        flat = Whole(d, base=Uniform())
        assert not flat.proper
        assert flat.refusal().startswith(f"{flat!r} has no finite mass.")
        for domain in (kind(d) for kind in BOUNDED.values()):
            assert domain.proper
            assert domain.refusal() is None


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Box(1, 1), "Box: low must lie below high, got 1 and 1."),
        (
            lambda: Box([0, 0], [1]),
            "give as many of both|high must have one number per ",
        ),
        (lambda: Box([], []), "Box: low must have one number per coordinate, and has 0"),
        (lambda: Box([0, 0], 1, dim=3), "low must have one number per coordinate, and has 2"),
        (lambda: Box(0, float("inf")), "high must be a finite number"),
        (lambda: Box("x", 1), "low must be a number"),
        (lambda: L1Ball(0), "radius must be greater than 0, got 0."),
        (lambda: L1Ball(1, 0), "dim must be a whole number of at least 1"),
        (lambda: L1Ball(None), "radius must be a number, got None"),
        (lambda: Whole(1.5), "dim must be a whole number"),
        (lambda: HeavyTailed(0), "freedom must be a whole number of at least 1, got 0."),
        (lambda: HeavyTailed(2.5), "freedom must be a whole number"),
        (lambda: LatticeBox((0,), (1, 1)), "two corners with the same number"),
        (lambda: LatticeBox((1,), (0,)), "first corner lies beyond"),
    ],
)
def test_what_cannot_be_a_domain_is_refused_in_one_sentence(build, message):
    with pytest.raises(KngError, match=message):
        build()


def test_numbers_are_read_as_they_are_written():
    assert L1Ball(0.1).radius == F(1, 10)
    assert Box("-1/3", np.float64(0.1), 2).low == (F(-1, 3),) * 2
    assert Box(np.array([0.1, 0.2]), [1, 2]) == Box(["0.1", "1/5"], (1, 2), dim=2)
    assert Box(np.array(0.5), 1).low == (F(1, 2),)
    assert HeavyTailed() == HeavyTailed(3)


@pytest.mark.parametrize(
    "domain",
    [Box(-5, 5), Box([-1, 0], [0.5, 2]), L1Ball("1/3", 2), Whole(), Whole(2, HeavyTailed(1)),
     Whole(base=Uniform()), L1Ball(1, base=HeavyTailed(2)), L2Ball("1/3", 2), Simplex(),
     Simplex(0.5, 3, HeavyTailed(1)), Polytope(*SQUARE), Polytope([[1.5], [-1]], ["1/3", 0])],
)  # fmt: skip
def test_a_domain_shows_how_it_was_written_and_can_be_kept(domain):
    names = {"Box": Box, "L1Ball": L1Ball, "Whole": Whole, "Uniform": Uniform}
    names |= {"L2Ball": L2Ball, "Simplex": Simplex, "Polytope": Polytope}
    written = repr(domain).replace("1/3", "'1/3'")
    assert eval(written, names | {"HeavyTailed": HeavyTailed}) == domain
    assert pickle.loads(pickle.dumps(domain)) == domain
    assert hash(domain) == hash(pickle.loads(pickle.dumps(domain)))
