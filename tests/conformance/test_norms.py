"""What is asked of every norm: the axioms, bounds over boxes, the largest value on a piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest
from conformance.norms import NORMS, ROUNDED
from conformance.points import Vector, boxes, corners, cuboids, exactly, inside
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from kng.core.bits import SeededBits
from kng.core.bodies import Ball, Cuboid
from kng.core.enclosures import precision
from kng.core.errors import SpecError, SpecTypeError
from kng.core.parts import Norm
from kng.core.shapes import BoxShape, FacetShape, InterceptShape, RoundShape, SumShape
from kng.norms import L1, L2, CoordinateSup, InterceptSup, LInf, Polytope, WeightedSup
from kng.norms.roots import root_up

EVERY = [pytest.param(norm, dim, name, id=f"{name}-{dim}") for (name, dim), norm in NORMS.items()]
every_norm = pytest.mark.parametrize(("norm", "dim", "name"), EVERY)
# What rounding an l2 norm up may add, as a share of it.
SLACK = Fraction(1, 2**90)


def vectors(dim: int) -> st.SearchStrategy[Vector]:
    numbers = st.one_of(
        st.fractions(min_value=-1000, max_value=1000, max_denominator=1000),
        st.sampled_from([Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 10**30)]),
    )
    return st.tuples(*[numbers] * dim)


@every_norm
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_it_is_a_norm(norm, dim, name, data):
    u, v = data.draw(vectors(dim)), data.draw(vectors(dim))
    factor = data.draw(st.fractions(min_value=-50, max_value=50, max_denominator=50))
    size = norm.value(u)
    slack = SLACK if name in ROUNDED else 0
    assert size > 0 if any(u) else size == 0
    scaled = norm.value(tuple(factor * a for a in u))
    assert abs(scaled - abs(factor) * size) <= slack * abs(factor) * size
    total = size + norm.value(v)
    assert norm.value(tuple(a + b for a, b in zip(u, v, strict=True))) <= total * (1 + slack)


@every_norm
def test_bounds_hold_at_points_of_boxes(norm, dim, name):
    rng = np.random.default_rng(7)
    low, high = boxes(dim, 1, 80)
    lower, upper = norm.bounds(low, high)
    assert lower.shape == upper.shape == (80,)
    for row in range(80):
        ends = exactly(low[row]), exactly(high[row])
        for point in [inside(*ends, rng) for _ in range(6)] + corners(*ends):
            size = norm.value(point)
            assert Fraction(float(lower[row])) <= size
            # A value that is rounded up may lie above a bound that is exact.
            assert size * (1 - SLACK) <= Fraction(float(upper[row]))


@every_norm
def test_bounds_are_tight(norm, dim, name):
    """Above everywhere; below at points, and on boxes where coordinates separate."""
    low, high = boxes(dim, 2, 60)
    lower, upper = norm.bounds(low, high)
    at_low, at_high = norm.bounds(low, low)
    for row in range(60):
        ends = exactly(low[row]), exactly(high[row])
        largest, size = float(norm.largest(*ends)), float(norm.value(ends[0]))
        scale = 1e-9 * float(max(map(abs, ends[0] + ends[1]))) + 1e-100
        assert upper[row] - largest <= scale
        assert size - scale <= at_low[row] <= at_high[row] <= size + scale
        if not isinstance(norm.shape, FacetShape):
            near = tuple(max(a, -b, Fraction(0)) for a, b in zip(*ends, strict=True))
            assert float(norm.value(near)) - lower[row] <= scale


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", ["cross", "hexagon", "partial sums"])
def test_lower_bounds_of_facets_are_those_of_the_best_facet(name, dim):
    norm = NORMS[name, dim]
    low, high = boxes(dim, 3, 40)
    lower, _ = norm.bounds(low, high)
    for row in range(40):
        found = corners(exactly(low[row]), exactly(high[row]))
        away = [
            max(min(values), -max(values), Fraction(0))
            for facet in norm.shape.facets
            for values in [[sum(a * v for a, v in zip(facet, c, strict=True)) for c in found]]
        ]
        scale = 1e-9 * float(norm.largest(exactly(low[row]), exactly(high[row])))
        assert float(max(away)) - scale <= lower[row] <= max(away)


@every_norm
def test_bounds_beyond_float64_stay_bounds(norm, dim, name):
    for number in (1e308, 1e200, 1e-200, 5e-324):
        corner = np.full((1, dim), number)
        lower, upper = norm.bounds(corner, corner)
        size = norm.value(exactly(corner[0]))
        assert np.isfinite(lower[0])
        assert Fraction(float(lower[0])) <= size
        assert np.isinf(upper[0]) or size * (1 - SLACK) <= Fraction(float(upper[0]))
    lower, upper = norm.bounds(np.full((1, dim), -np.inf), np.full((1, dim), np.inf))
    assert lower[0] == 0
    assert np.isinf(upper[0])


Largest = Callable[[Sequence[Fraction], Sequence[Fraction]], Fraction]


def attack_largest(norm: Norm, dim: int, claimed: Largest, slack: Fraction) -> None:
    """Fail if a claimed largest value is exceeded somewhere, or not attained at a corner."""
    rng = np.random.default_rng(5)
    for low, high in cuboids(dim, 4, 40):
        largest = claimed(low, high)
        assert all(norm.value(inside(low, high, rng)) <= largest for _ in range(8))
        attained = max(norm.value(corner) for corner in corners(low, high))
        assert attained <= largest <= attained * (1 + slack)


@every_norm
def test_the_largest_value_on_a_cuboid(norm, dim, name):
    attack_largest(norm, dim, norm.largest, SLACK if name in ROUNDED else Fraction(0))


@pytest.mark.parametrize("wrong", ["halved", "doubled", "the corner of ones"])
def test_wrong_largest_values_are_caught(wrong):
    norm = NORMS["cross", 2]

    def claimed(low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        if wrong == "the corner of ones":
            return norm.value([max(-a, b) for a, b in zip(low, high, strict=True)])
        return norm.largest(low, high) * (2 if wrong == "doubled" else Fraction(1, 2))

    with pytest.raises(AssertionError):
        attack_largest(norm, 2, claimed, Fraction(0))


def directions(dim: int, count: int) -> np.ndarray:
    """Random directions, the axes, and all signs of ones."""
    rows = np.random.default_rng(6).normal(size=(count, dim))
    signs = [row for row in product((-1.0, 0.0, 1.0), repeat=dim) if any(row)]
    return np.concatenate([rows, signs])


def climbed(norm: Norm, dim: int) -> float:
    """The largest norm on the unit sphere: from many directions, always along the gradient."""
    best = 0.0
    for row in directions(dim, 6):
        at = row / np.sqrt((row * row).sum())
        for _ in range(25):
            slope = np.array([_slope(norm, at, j) for j in range(dim)])
            if not slope.any():
                break
            at = slope / np.sqrt((slope * slope).sum())
            best = max(best, float(norm.value(exactly(at))))
    return best


def _slope(norm: Norm, at: np.ndarray, j: int) -> float:
    step = np.where(np.arange(len(at)) == j, 2.0**-20, 0.0)
    return float((norm.value(exactly(at + step)) - norm.value(exactly(at - step))) * 2**19)


@every_norm
def test_the_largest_value_in_a_ball(norm, dim, name):
    radius = Fraction(5, 3)
    largest = norm.largest_in_ball(radius, dim)
    for row in directions(dim, 100):
        point = exactly(row)
        length = root_up(sum((a * a for a in point), Fraction(0)))
        assert norm.value(tuple(radius / length * a for a in point)) <= largest * (1 + SLACK)
    assert climbed(norm, dim) * float(radius) == pytest.approx(float(largest), rel=1e-12)


@every_norm
def test_it_says_which_vectors_it_measures(norm, dim, name):
    assert norm.refusal(dim) is None
    says = norm.refusal(dim + 1)
    if says is None:
        assert norm.value((Fraction(1),) * (dim + 1)) > 0
    else:
        assert str(dim) in says
        assert str(dim + 1) in says


@every_norm
def test_it_follows_changes_or_not(norm, dim, name):
    low, high = (Fraction(-1),) * dim, (Fraction(2), *(Fraction(0),) * (dim - 1))
    fitted = norm.at([Cuboid(low, high), Ball(Fraction(1, 3), dim)])
    if name != "coordinate":
        assert fitted is norm
        return
    assert fitted == WeightedSup((2, *(1,) * (dim - 1)))
    nothing = (Fraction(0),) * dim
    assert norm.at([Cuboid(nothing, nothing)]).value((Fraction(1),) * dim) == 1


def test_shapes_are_stated():
    assert L1().shape == SumShape()
    assert L1([2, "1/2"]).shape == SumShape((Fraction(2), Fraction(1, 2)))
    assert L2(weights=(0.1,)).shape == RoundShape((Fraction(1, 10),))
    assert LInf().shape == BoxShape()
    assert LInf([4]).shape == BoxShape((Fraction(1, 4),)) == WeightedSup([0.25]).shape
    assert InterceptSup("5/9").shape == InterceptShape(Fraction(5, 9))
    assert Polytope([[0.5]]).shape == FacetShape(((Fraction(1, 2),),))
    assert CoordinateSup().shape is None


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: L1(weights=[1, 0]), SpecError, "greater than 0"),
        (lambda: L2(weights=[1, -1]), SpecError, "greater than 0"),
        (lambda: LInf(weights=[1, float("nan")]), SpecError, "finite"),
        (lambda: LInf(weights=2), SpecTypeError, "list of numbers"),
        (lambda: L1(weights="12"), SpecTypeError, "list of numbers"),
        (lambda: L1(weights=[Fraction(-1)]), SpecError, "greater than 0"),
        (lambda: L1(weights=[Fraction(1, 10**306)]), SpecError, "float64"),
        (lambda: WeightedSup(()), SpecError, "one positive width"),
        (lambda: WeightedSup((1, 0)), SpecError, "greater than 0"),
        (lambda: InterceptSup(0.4), SpecError, "between 1/2 and 1"),
        (lambda: Polytope([]), SpecError, "needs facets"),
        (lambda: Polytope([[1, 0], [1]]), SpecError, "one number per coordinate"),
        (lambda: Polytope(facets=[1, 2]), SpecTypeError, "must be a list"),
        (lambda: Polytope(3), SpecTypeError, "list of rows"),
        (lambda: Polytope([[1, 2, 3], [2, 4, 6], [1, 1, 1]]), SpecError, "span 2 of 3"),
        (lambda: Polytope([[0.1, 0.3], ["1/3", 1]]), SpecError, "span 1 of 2"),
        (lambda: Polytope(), SpecError, "facets or by its vertices; got neither"),
        (lambda: Polytope([[1]], [[1], [-1]]), SpecError, "facets or by its vertices; got both"),
        (lambda: Polytope([[1, float("nan")]]), SpecError, "facets of Polytope must be a finite"),
        (lambda: Polytope([["a", 1]]), SpecError, "facets of Polytope must be a number"),
        (lambda: Polytope(vertices=[]), SpecError, "Polytope needs vertices"),
        (lambda: Polytope(vertices="ab"), SpecTypeError, "vertices of Polytope must be a list"),
        (lambda: Polytope(vertices=[1, -1]), SpecTypeError, "each of the vertices of Polytope"),
        (lambda: Polytope(vertices=[[1], [-1, 0]]), SpecError, "one number per coordinate"),
        (lambda: Polytope(vertices=[[1, float("inf")]]), SpecError, "vertices of Polytope must be"),
        (
            lambda: Polytope(vertices=[[1, 2], [1, 0], [-1, 0]]),
            SpecError,
            r"symmetric about 0: it has the vertex \(1, 2\) but not \(-1, -2\)",
        ),
        (lambda: Polytope(vertices=[[1, 2], [-1, -2]]), SpecError, "span 1 of 2.*flat"),
        (
            lambda: Polytope(vertices=[[0.1, 0.3], [-0.1, -0.3], ["1/3", 1], ["-1/3", -1]]),
            SpecError,
            "span 1 of 2.*flat",
        ),
        (lambda: Polytope(vertices=[[0, 0]]), SpecError, "span 0 of 2"),
        (
            lambda: Polytope(
                vertices=[[s * (i == j) for i in range(7)] for j in range(7) for s in (1, -1)]
            ),
            SpecError,
            "at most 128 vertices in 6 coordinates.*got 14 in 7. Give facets",
        ),
        (lambda: Polytope(vertices=[[k] for k in range(-70, 71)]), SpecError, "got 141 in 1"),
        (
            lambda: Polytope(
                vertices=[[s * 1e-300, s * 1e-299 * t] for s in (1, -1) for t in (1, 1.0000001)]
            ),
            SpecError,
            "beyond 1e305",
        ),
    ],
)
def test_what_is_no_norm_is_refused(make, error, says):
    with pytest.raises(error, match=says):
        make()


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("plain", [L1, L2, LInf])
def test_a_weighted_norm_draws_what_the_plain_one_draws_in_other_units(plain, dim):
    """v -> (w_j v_j) turns the weighted norm into the plain one, and so its noise and volume."""
    weights = [Fraction(1, 3), Fraction(2), Fraction(7, 10)][:dim]
    norm, sizes = plain(weights), np.array([float(w) for w in weights])
    with precision(128):
        uniforms = [arb(k + 1) / 17 for k in range(plain().uniforms(dim))]
        expected = plain().noise(uniforms, dim)
        for v, u, w in zip(norm.noise(uniforms, dim), expected, sizes, strict=True):
            assert float(v.mid()) * w == pytest.approx(float(u.mid()))
    rows = norm.directions(SeededBits(1), 50, dim)
    assert norm.lengths(rows) == pytest.approx(np.ones(50))
    assert rows * sizes == pytest.approx(plain().directions(SeededBits(1), 50, dim))
    smaller = plain().log_volume(dim) - sum(log(w) for w in weights)
    assert norm.log_volume(dim) == pytest.approx(smaller)
    assert norm.divisor(np.abs(rows)) == pytest.approx(np.ones((50, dim)))


@pytest.mark.parametrize(
    ("square", "root"), [(Fraction(0), 0), (Fraction(9, 4), "3/2"), (Fraction(1, 9), "1/3")]
)
def test_rational_roots_are_exact(square, root):
    assert root_up(square) == Fraction(root)


@pytest.mark.parametrize("square", [Fraction(2), Fraction(3, 10**80), Fraction(10**41, 7)])
def test_other_roots_are_rounded_up(square):
    assert square < root_up(square) ** 2 < square * (1 + SLACK)
