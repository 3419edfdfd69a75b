"""Noise of norms whose ball is neither a box nor separates: brackets, laws, and planted faults.

Lengths and volumes are written out here a second time, and cells are integrated numerically.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import factorial, pi
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq
from samplers.laws import ALARM, p_value
from samplers.tapes import enumerate_tapes
from scipy.optimize import linprog
from scipy.spatial import ConvexHull
from scipy.stats import gamma, kstest

import kng
from kng.core.bits import SeededBits, SystemBits, TapeBits
from kng.core.enclosures import precision
from kng.core.lazy_noise import LazyNoise, rounded_noise
from kng.core.parts import Point
from kng.norms import L1, L2, InterceptSup, LInf, Polytope, frames
from kng.norms.frames import Frame, frame_of
from kng.samplers.exact.objective import LinearTerm

Array = np.ndarray
OFF = (Fraction(8, 10), Fraction(12, 10))


@dataclass(frozen=True)
class Ball:
    """A norm, and what it should be: the length of rows, and the volume of its ball."""

    norm: Any
    length: Callable[[Array], Array]
    volume: float


def hull(points: list[list[int]]) -> Ball:
    """The polytope with these vertices and their opposites, by the facets that Qhull finds."""
    both = np.array([*points, *([-v for v in p] for p in points)])
    found = ConvexHull(both)
    facets = found.equations[:, :-1] / -found.equations[:, -1:]
    return Ball(
        Polytope(vertices=both.tolist()), lambda rows: (rows @ facets.T).max(axis=1), found.volume
    )


def facets(rows: list[list[int]]) -> Ball:
    """The polytope with these facets in the plane: corners where two of them meet."""
    a = np.array(rows, dtype=float)
    meets = [
        np.linalg.solve(np.array([p, s * q]), np.ones(2))
        for i, p in enumerate(a)
        for q in a[:i]
        for s in (1, -1)
        if abs(np.linalg.det(np.array([p, s * q]))) > 1e-9
    ]
    corners = [v for v in meets if np.abs(a @ v).max() <= 1 + 1e-9]
    area = ConvexHull(np.array([*corners, *(-v for v in corners)])).volume
    return Ball(Polytope(facets=rows), lambda r: np.abs(r @ a.T).max(axis=1), area)


def _intercept(rows: Array) -> Array:
    first, second = np.abs(rows).T
    return np.maximum(first, first / 3 + second * 2 / 3)


BALLS = {
    "l2": Ball(L2(), lambda rows: np.sqrt((rows**2).sum(axis=1)), pi),
    "l2 weighted": Ball(
        L2([2, "1/2"]), lambda rows: np.sqrt((rows**2 * [4, 0.25]).sum(axis=1)), pi
    ),
    # The corners (1, 1) and (0, 3/2).
    "intercept": Ball(InterceptSup("2/3"), _intercept, 5.0),
    # Not monotone, with a facet that is listed twice and two that never bind.
    "facets": facets([[1, 1], [2, -2], [2, 0], [2, -2], [1, -1], [0, 1]]),
    "vertices": hull([[2, 1], [1, 2], [-1, 1], [1, 0]]),
}
every_ball = pytest.mark.parametrize("name", BALLS)


def drawn(norm: Any, rate: Fraction, steps: tuple[Fraction, ...], bits: Any) -> Point:
    return rounded_noise(bits, LazyNoise(norm, rate, len(steps)), steps)


def cells(known: Ball, rate: float, steps: Array, most: int, cuts: int = 24) -> dict[Any, float]:
    """Integrate c^2 / (2 vol) exp(-c ||u||) over cells in the plane, by midpoints."""
    offsets = (np.arange(cuts) + 0.5) / cuts - 0.5
    fine = np.array(list(product(offsets, repeat=2)))
    law = {}
    for cell in product(range(-most, most + 1), repeat=2):
        rows = (np.array(cell) + fine) * steps
        density = rate**2 / (2 * known.volume) * np.exp(-rate * known.length(rows))
        law[cell] = float(density.mean() * steps.prod())
    return law


@every_ball
def test_draws_follow_the_integrated_cells(name: str) -> None:
    known, rate, steps = BALLS[name], Fraction(3, 2), (Fraction(1, 2), Fraction(2, 3))
    bits = SeededBits(41)
    draws = [drawn(known.norm, rate, steps, bits) for _ in range(6000)]
    sizes = np.array([float(h) for h in steps])
    assert p_value(draws, cells(known, float(rate), sizes, 9)) > ALARM
    for factor in OFF:
        assert p_value(draws, cells(known, float(factor * rate), sizes, 9)) < ALARM


@pytest.mark.parametrize(("name", "rate"), [("intercept", 40), ("facets", 30)])
def test_every_short_tape_agrees_with_the_law(name: str, rate: int) -> None:
    """Brackets of probabilities, from the production sampler on all tapes of up to 14 bits."""
    known, steps = BALLS[name], (Fraction(1), Fraction(1, 4))
    found = enumerate_tapes(lambda bits: drawn(known.norm, Fraction(rate), steps, bits), 15_000)
    sizes = np.array([1, 1 / 4])
    law = cells(known, float(rate), sizes, 1, 200)
    assert found.unresolved < Fraction(8, 10)
    assert found.lower
    for cell, least in found.lower.items():
        assert least <= Fraction(law[cell]) <= least + found.unresolved
    # A rate far below is told apart.
    assert cells(known, rate / 20, sizes, 0, 200)[0, 0] < found.lower[0, 0]


def attack_decisions(norm: Any, draws: int) -> None:
    """Fail if a continuation of the tape could change a draw: corners of what is known disagree."""
    steps, rng = (Fraction(1), Fraction(1)), random.Random(5)
    for _ in range(draws):
        tape = TapeBits([rng.getrandbits(1) for _ in range(4000)])
        noise = LazyNoise(norm, Fraction(3), 2)
        cell = rounded_noise(tape, noise, steps)
        ends = [
            (Fraction(u.value, 2**u.length), Fraction(u.value + 1, 2**u.length))
            for u in noise._uniforms
        ]
        # A little inside: an end of a radial number may be 0, whose logarithm is not finite.
        inner = [(a + (b - a) / 10**6, b - (b - a) / 10**6) for a, b in ends]
        for corner in product(*inner):
            with precision(200):
                points = [arb(fmpq(c.numerator, c.denominator)) for c in corner]
                assert not hasattr(norm, "inside") or norm.inside(points, 2)
                u = [float(v) / 3 for v in norm.noise(points, 2)]
            assert np.abs(np.array(u) - cell).max() <= 0.5 + 1e-9


@every_ball
def test_a_draw_is_decided_by_the_bits_that_it_has_read(name: str) -> None:
    attack_decisions(BALLS[name].norm, 60)


class Hasty(InterceptSup):
    """Takes a point that may lie outside for one that lies inside."""

    def inside(self, uniforms: Any, dim: int) -> bool | None:
        return InterceptSup.inside(self, uniforms, dim) is not False


def test_a_point_that_is_taken_too_early_is_caught() -> None:
    with pytest.raises(AssertionError):
        attack_decisions(Hasty("1/2"), 200)


def point(norm: Any, dim: int, bits: Any) -> list[float]:
    noise = LazyNoise(norm, Fraction(1), dim)
    while True:
        enclosed = noise.refined(bits)
        if enclosed is not None:
            return [float(v) for v in enclosed]


SOLIDS = [[3, 1, 0], [0, 3, 1], [1, 0, 3], [2, -2, 1], [-1, 2, 2]]


def test_noise_of_a_solid_has_its_length_and_leaves_through_each_facet_by_its_volume() -> None:
    """The length is Gamma(3); the cone over a facet has its share of the volume."""
    both = np.array([*SOLIDS, *([-v for v in p] for p in SOLIDS)])
    found, norm = ConvexHull(both), Polytope(vertices=both.tolist())
    planes = found.equations[:, :-1] / -found.equations[:, -1:]
    shares: Counter[tuple[float, ...]] = Counter()
    for simplex, plane in zip(found.simplices, planes, strict=True):
        name = tuple((np.round(plane, 6) + 0.0).tolist())
        shares[name] += abs(np.linalg.det(both[simplex])) / 6 / found.volume
    assert len(shares) == 2 * len(norm.shape.facets)
    bits, names = SeededBits(3), list(shares)
    rows = np.array([point(norm, 3, bits) for _ in range(4000)])
    values = rows @ np.array(names).T
    draws = [names[k] for k in values.argmax(axis=1)]
    assert p_value(draws, shares) > ALARM
    lengths = values.max(axis=1)
    assert kstest(lengths, gamma(3).cdf).pvalue > 1e-4
    assert kstest(lengths, gamma(3, scale=1.2).cdf).pvalue < 1e-6
    assert kstest(lengths, gamma(4).cdf).pvalue < 1e-6


@pytest.mark.parametrize("slope", ["1/2", "3/4", 1])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_intercept_noise_has_its_length_and_its_moments(dim: int, slope: Any) -> None:
    norm, bits = InterceptSup(slope), SeededBits(23)
    rows = np.array([point(norm, dim, bits) for _ in range(4000)])
    s = float(norm.slope)
    first, rest = np.abs(rows[:, 0]), np.abs(rows[:, 1:]).max(axis=1, initial=0.0)
    lengths = np.maximum(first, (1 - s) * first + s * rest)
    assert kstest(lengths, gamma(dim).cdf).pvalue > 1e-4
    squares = np.array(norm.second_moments(dim)) * (dim + 1) * (dim + 2)
    assert (rows**2).mean(axis=0) == pytest.approx(squares, rel=0.15)


def random_facets(rng: random.Random, dim: int) -> list[list[Fraction]]:
    count = rng.randint(dim, 3 * dim + 2)
    while True:
        rows = [
            [Fraction(rng.randint(-9, 9), rng.randint(1, 4)) for _ in range(dim)]
            for _ in range(count)
        ]
        if frames.rank([tuple(row) for row in rows]) == dim:
            return rows


def attack_frame(frame: Frame, given: list[list[Fraction]]) -> None:
    """Fail unless every facet is a combination of the chosen ones with coefficients up to 1."""
    chosen = [given[k] for k in frame.chosen]
    dim = len(chosen)
    for row in given:
        # row = c' B, so c' = row B^-1, and `back` is B^-1.
        c = [sum(row[i] * frame.back[i][j] for i in range(dim)) for j in range(dim)]
        assert [sum(c[j] * chosen[j][i] for j in range(dim)) for i in range(dim)] == list(row)
        assert max(map(abs, c)) <= 1


def accepted(norm: Polytope, dim: int, tries: int) -> float:
    """Return the share of the parallelepiped that is in the ball."""
    cube = np.random.default_rng(1).uniform(-1, 1, (tries, dim))
    back = np.array([[float(b) for b in row] for row in norm.frame.back])
    planes = np.array([[float(a) for a in row] for row in norm.shape.facets])
    return float((np.abs(cube @ back.T @ planes.T) <= 1).all(axis=1).mean())


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5])
def test_frames_hold_random_polytopes_and_are_not_much_larger(dim: int) -> None:
    rng = random.Random(dim)
    for _ in range(12):
        given = random_facets(rng, dim)
        norm = Polytope(given)
        attack_frame(norm.frame, given)
        assert norm.proposals(dim) <= factorial(dim)
        share = accepted(norm, dim, 40_000)
        # Four standard deviations below a share of 1 / proposals.
        bound = 1 / norm.proposals(dim)
        assert share > bound - 4 * (bound / 40_000) ** 0.5


def test_shares_that_are_known_in_closed_form() -> None:
    """A square is its own parallelepiped; in space the fourth of (1, +-1, +-1) cuts off a third."""
    square = Polytope(
        vertices=[[s * (i == j) for i in range(2)] for j in range(2) for s in (1, -1)]
    )
    assert square.proposals(2) == 1
    assert square.frame.walls == ()
    axes = [[int(i == j) for i in range(3)] for j in range(3)]
    cross = Polytope([*axes, *([1, s, t] for s in (1, -1) for t in (1, -1))])
    assert len(cross.frame.walls) == 1
    assert accepted(cross, 3, 200_000) == pytest.approx(2 / 3, abs=0.01)


def test_a_coefficient_above_one_is_caught() -> None:
    """The first facets that span, without exchanges, leave out a part of the ball."""
    given = [[Fraction(1), Fraction(0)], [Fraction(1), Fraction(1, 4)], [Fraction(0), Fraction(1)]]
    bad = [[Fraction(1), Fraction(0)], [Fraction(1), Fraction(1, 4)]]
    attack_frame(frame_of([tuple(row) for row in given]), given)
    wrong = replace(frame_of([tuple(row) for row in bad]), walls=())
    with pytest.raises(AssertionError):
        attack_frame(wrong, given)


def _planted(norm: Polytope, **changes: Any) -> Polytope:
    other = Polytope(norm.facets, norm.vertices)
    object.__setattr__(other, "_frame", replace(norm.frame, **changes))
    return other


@pytest.mark.parametrize("name", ["facets", "vertices"])
def test_a_facet_that_is_dropped_is_caught(name: str) -> None:
    known, rate = BALLS[name], Fraction(3, 2)
    *others, most = sorted(known.norm.frame.walls, key=lambda w: sum(map(abs, w[0])) / w[1])
    wrong = _planted(known.norm, walls=tuple(others))
    assert accepted(known.norm, 2, 10_000) < 0.9
    assert most not in wrong.frame.walls
    bits, steps = SeededBits(43), (Fraction(1, 3),) * 2
    draws = [drawn(wrong, rate, steps, bits) for _ in range(6000)]
    assert p_value(draws, cells(known, float(rate), np.full(2, 1 / 3), 12)) < ALARM


def test_vertices_that_are_read_as_facets_are_caught() -> None:
    points = [[2, 1], [1, 2], [-1, 1]]
    both = [*points, *([-v for v in p] for p in points)]
    right, wrong = Polytope(vertices=both), Polytope(facets=both)
    attack_gauge(right, both)
    with pytest.raises(AssertionError):
        attack_gauge(wrong, both)


def attack_gauge(norm: Polytope, points: list[list[int]]) -> None:
    """Fail unless the norm is the least sum of weights that makes a vector of the vertices."""
    rng, rows = np.random.default_rng(2), np.array(points, dtype=float)
    for v in rng.normal(size=(20, rows.shape[1])):
        least = linprog(np.ones(len(rows)), A_eq=rows.T, b_eq=v)
        exactly = [Fraction(x) for x in v.tolist()]
        assert float(norm.value(exactly)) == pytest.approx(least.fun, rel=1e-9)


@pytest.mark.parametrize(("dim", "count"), [(1, 3), (2, 6), (3, 7), (4, 9), (5, 8), (6, 8)])
def test_facets_of_vertices_are_exact_and_complete(dim: int, count: int) -> None:
    """All points satisfy each facet, d independent ones attain it, and Qhull finds as many."""
    rng = random.Random(count)
    for _ in range(3):
        half = [[rng.randint(-6, 6) for _ in range(dim)] for _ in range(count)]
        both = [*half, *([-v for v in p] for p in half)]
        norm = Polytope(vertices=both)
        for a in norm.shape.facets:
            values = [sum(x * y for x, y in zip(a, p, strict=True)) for p in both]
            assert max(values) == 1
            tight = [tuple(map(Fraction, p)) for p, v in zip(both, values, strict=True) if v == 1]
            assert frames.rank(tight) == dim
        attack_gauge(norm, both)
        if dim > 1:
            found = ConvexHull(np.array(both))
            planes = found.equations[:, :-1] / -found.equations[:, -1:]
            assert len(np.unique(planes.round(8), axis=0)) == 2 * len(norm.shape.facets)


def test_vertices_are_shown_as_the_caller_wrote_them_and_redundant_points_change_nothing() -> None:
    square = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    assert (
        repr(Polytope(vertices=square)) == "Polytope(vertices=[[1, 1], [1, -1], [-1, 1], [-1, -1]])"
    )
    more = Polytope(vertices=[*square, [0, 0], [1, 0], [-1, 0], [0.5, 0], [-0.5, 0], [1, 1]])
    assert more.shape == Polytope(vertices=square).shape
    assert set(more.shape.facets) == {(1, 0), (0, 1)}
    assert repr(Polytope([[1, "1/3"], [0, 1]])) == "Polytope([[1, 1/3], [0, 1]])"


def test_membership_is_that_of_the_norm() -> None:
    """`inside` at points that are known exactly, against the value of the norm."""
    rng = random.Random(8)
    for _ in range(20):
        dim = rng.choice([1, 2, 3])
        norm = rng.choice([Polytope(random_facets(rng, dim)), InterceptSup("3/5")])
        for _ in range(20):
            numbers = [Fraction(rng.randint(1, 99), 100) for _ in range(2 * dim + 1)]
            w = [2 * u - 1 for u in numbers[dim + 1 :]]
            v = [w[0], *(x / Fraction(3, 5) for x in w[1:])]
            if isinstance(norm, Polytope):
                v = [sum(b * x for b, x in zip(row, w, strict=True)) for row in norm.frame.back]
            with precision(300):
                verdict = norm.inside([arb(fmpq(u.numerator, u.denominator)) for u in numbers], dim)
            assert verdict is None or verdict == (norm.value(v) <= 1)
            assert verdict is not None or norm.value(v) == 1


@pytest.mark.parametrize(
    "norm", ["l2", *(BALLS[k].norm for k in ("intercept", "facets", "vertices"))], ids=str
)
def test_predicted_errors_are_those_of_draws(norm: Any) -> None:
    """The mean of two columns: standard deviations of 500 releases, within four of their own."""
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    ask = {"bounds": ([-9, -9], [9, 9]), "epsilon": 4, "missing": 0}
    made = kng.KNorm(kng.losses.Location(kng.losses.Squared()), norm=norm)
    says = made.plan(n=50, **ask).predicted_error
    seen = np.array([made.release(X, random_state=k, **ask).value for k in range(500)])
    assert seen.std(axis=0) == pytest.approx(np.array(says), rel=0.2)
    same = kng.mean(X, norm=norm, random_state=7, **ask)
    assert same.value.tolist() == made.release(X, random_state=7, **ask).value.tolist()
    assert made.plan(**ask).guarantee.value == "exact"


def test_simulated_moments_of_a_polytope_are_those_of_boxes_and_cross_polytopes() -> None:
    box = Polytope([[2, 0, 0], [0, 1, 0], [0, 0, 1]]).second_moments(3)
    assert box == pytest.approx([1 / 12, 1 / 3, 1 / 3], rel=0.02)
    cross = Polytope([[1, s, t] for s in (1, -1) for t in (1, -1)]).second_moments(3)
    # Each coordinate of the cross-polytope has the mean square 2 / ((d + 1) (d + 2)).
    assert cross == pytest.approx([0.1] * 3, rel=0.03)


@pytest.mark.parametrize(
    "norm", [BALLS[k].norm for k in ("intercept", "facets", "vertices")], ids=str
)
def test_objective_perturbation_draws_noise_of_the_norm(norm: Any) -> None:
    made = kng.ObjectivePerturbation(kng.losses.Linear(kng.losses.Huber(1)), norm=norm, share=0.5)
    ask = {"bounds_X": (-1, 1), "epsilon": 1}
    plan = made.plan(**ask)._plan
    bits, lengths = SeededBits(29), []
    for _ in range(1500):
        term, found = LinearTerm(plan), None
        while found is None:
            found = term.refined(bits)
        lengths.append(float(norm.value(found[0]) * plan.rate))
    assert kstest(lengths, gamma(2).cdf).pvalue > 1e-4
    assert kstest(lengths, gamma(2, scale=1.25).cdf).pvalue < 1e-4
    answer = made.release(np.zeros((30, 1)), np.zeros(30), random_state=1, **ask)
    assert np.isfinite(answer.value).all()


def test_noise_of_real_bits_ends() -> None:
    for norm in (L1(), LInf(), *(known.norm for known in BALLS.values())):
        assert len(drawn(norm, Fraction(1, 1000), (Fraction(1),) * 2, SystemBits())) == 2
