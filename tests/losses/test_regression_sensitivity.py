"""How far one record can move a gradient, a loss or a Hessian: attacked, and attained.

Attacks are exact: records and coefficients are fractions, and no bound may be passed even by 1e-30.
Each branch of each formula is also reached by an explicit pair of records, so that none is larger
than it has to be.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regression.formulas import widths
from regression.setting import (
    ADD,
    NORMS,
    RELATIONS,
    REPLACE,
    Array,
    design,
    linear,
    problem,
    relation_of,
)

from kng.bases import Uniform
from kng.core.bodies import Body
from kng.core.delta import Absolute, changes, delta
from kng.core.errors import IncompatibleParts
from kng.core.privacy import PrivacyUnit
from kng.core.regions import Region
from kng.domains import Whole
from kng.losses import Huber, Squared
from kng.mechanisms import KNG, Exponential, ObjectivePerturbation
from kng.mechanisms.objective import Perturbation
from kng.samplers.real.space import Scale

# The same examples in every run, on every machine.
FEW, SOME, MANY = (settings(max_examples=n, deadline=None, derandomize=True) for n in (30, 80, 150))
unit = st.fractions(-1, 1, max_denominator=40)
# Extremes are where bounds break; the middle is where formulas with an inner optimum do.
entry = st.one_of(st.sampled_from([Fraction(-1), Fraction(0), Fraction(1)]), unit)
coefficient = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1), Fraction(-1), Fraction(50)]),
    st.fractions(-3, 3, max_denominator=30),
    st.fractions(-1000, 1000, max_denominator=7),
)


@st.composite
def situations(draw: Any) -> dict[str, Any]:
    """Return theta and two records of one design."""
    intercept = draw(st.booleans())
    d = draw(st.integers(1 + intercept, 4))
    theta = draw(st.lists(coefficient, min_size=d, max_size=d))
    rows = [draw(st.lists(entry, min_size=d, max_size=d)) for _ in range(2)]
    if intercept:
        for row in rows:
            row[0] = Fraction(1)
    return {
        "d": d,
        "intercept": intercept,
        "theta": theta,
        "records": [(row, draw(entry)) for row in rows],
        "relation": draw(st.sampled_from(RELATIONS)),
    }


def fractions(values: Array) -> Array:
    """Return floats as exact fractions."""
    return np.array([Fraction(float(v)) for v in values.flat], dtype=object).reshape(values.shape)


def floats(values: Array) -> Array:
    """Round exact fractions once."""
    return np.array([float(v) for v in values.flat]).reshape(values.shape)


def gradient(theta: list[Fraction], z: list[Fraction], y: Fraction) -> list[Fraction]:
    residual = sum((a * b for a, b in zip(theta, z, strict=True)), Fraction(0)) - y
    return [residual * v for v in z]


def exact_widths(theta: list[Fraction], *, intercept: bool, relation: str) -> list[Fraction]:
    shape = design(len(theta), intercept=intercept)
    return reaches(linear(shape).body(Region.at(tuple(theta))), relation)


def protected(relation: str) -> PrivacyUnit:
    return PrivacyUnit(relation_of(relation, 1))


def reaches(body: Body, relation: str) -> list[Fraction]:
    """Return how far one record moves each coordinate."""
    sides = [piece.sides() for piece in changes(body, protected(relation))]
    return [max(max(abs(a), abs(b)) for a, b in each) for each in zip(*sides, strict=True)]


def change(case: dict[str, Any]) -> list[Fraction]:
    """Return what one change of a record does to the gradient."""
    (z, y), (other, target) = case["records"]
    one = gradient(case["theta"], z, y)
    two = gradient(case["theta"], other, target)
    return one if case["relation"] == ADD else [a - b for a, b in zip(one, two, strict=True)]


# --- least squares: widths -----------------------------------------------------------------------


@MANY
@given(case=situations())
def test_no_record_moves_a_coordinate_beyond_its_width(case: dict[str, Any]) -> None:
    bounds = exact_widths(case["theta"], intercept=case["intercept"], relation=case["relation"])
    assert all(abs(g) <= w for g, w in zip(change(case), bounds, strict=True))


@SOME
@given(case=situations(), name=st.sampled_from(list(NORMS)))
def test_divisors_dominate_the_norm_of_every_change(case: dict[str, Any], name: str) -> None:
    norm = NORMS[name]
    bounds = exact_widths(case["theta"], intercept=case["intercept"], relation=case["relation"])
    moved = change(case)
    if name == "l2":  # squares on both sides, so that no root is rounded
        assert sum(g * g for g in moved) <= sum(w * w for w in bounds)
        divisor = norm.divisor(floats(np.array([bounds], dtype=object)))[0]
        root = float(sum(w * w for w in bounds)) ** 0.5
        assert divisor == pytest.approx([root] * case["d"], rel=1e-14)
        return
    divisor = norm.divisor(np.array([bounds], dtype=object))[0]
    assert norm.value([g / w for g, w in zip(moved, divisor, strict=True)]) <= 1


@SOME
@given(case=situations())
def test_slope_and_gradient_bound_dominate_widths(case: dict[str, Any]) -> None:
    theta, relation = case["theta"], case["relation"]
    size = sum(map(abs, theta))
    bounds = exact_widths(theta, intercept=case["intercept"], relation=relation)
    loss = linear(design(case["d"], intercept=case["intercept"]))
    assert max(bounds) <= loss.growth(protected(relation)) * (1 + size)
    assert max(bounds) <= max(reaches(loss.body(Region.ball(size, case["d"])), relation))


@SOME
@given(case=situations())
def test_float_widths_are_the_exact_ones(case: dict[str, Any]) -> None:
    intercept, relation = case["intercept"], case["relation"]
    bounds = exact_widths(case["theta"], intercept=intercept, relation=relation)
    theta = np.array([[float(t) for t in case["theta"]]])
    shape = design(case["d"], intercept=intercept)
    found = linear(shape).widths(theta, protected(relation))[0]
    assert found == pytest.approx([float(b) for b in bounds], rel=1e-13)
    # and the oracle, which derives them another way, agrees
    again = widths(theta, intercept=intercept, relation=relation)[0]
    assert again == pytest.approx(found, rel=1e-12)


def test_widths_work_on_rows_of_any_shape() -> None:
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(5, 7, 3)) * 10.0 ** rng.integers(-8, 8, (5, 7, 1))
    for intercept, relation in product((False, True), RELATIONS):
        loss, unit = linear(design(3, intercept=intercept)), protected(relation)
        whole = loss.widths(theta, unit)
        rows = [loss.widths(row[None], unit)[0] for row in theta.reshape(-1, 3)]
        np.testing.assert_array_equal(whole.reshape(-1, 3), rows)


def brute(theta: list[Fraction], j: int, *, intercept: bool, relation: str) -> Fraction:
    """Return the widest change of coordinate j over a grid of records that holds the optimum.

    For fixed z_j the gradient is affine in y and in every other covariate, so those need their ends
    only; z_j needs its ends, 0, and the inner optimum |z_j| = T / (2 |theta_j|).
    """
    d = len(theta)
    ends = (Fraction(-1), Fraction(1))
    rest = 1 + sum(map(abs, theta)) - abs(theta[j])
    inner = [rest / (2 * abs(theta[j]))] if theta[j] else []
    choices = []
    for k in range(d):
        if intercept and k == 0:
            choices.append((Fraction(1),))
        elif k == j:
            choices.append((*ends, Fraction(0), *(s * t for t in inner for s in ends if t <= 1)))
        else:
            choices.append(ends)
    values = [gradient(theta, list(z), y)[j] for z in product(*choices) for y in ends]
    return max(values) - min(values) if relation == REPLACE else max(map(abs, values))


BRANCHES = {
    "flat": [Fraction(1, 4), Fraction(-1, 3), Fraction(2)],
    "at-zero": [Fraction(0), Fraction(0), Fraction(0)],
    "steep": [Fraction(5), Fraction(-1, 3), Fraction(1, 2)],
    "steep-negative": [Fraction(-7), Fraction(0), Fraction(1)],
    "on-the-border": [Fraction(1), Fraction(1, 2), Fraction(1, 2)],  # 2 a = T
    "just-beyond": [Fraction(101, 100), Fraction(1, 2), Fraction(1, 2)],
    "far": [Fraction(1000), Fraction(-999), Fraction(1, 1000)],
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", BRANCHES)
def test_widths_are_attained(name: str, intercept: bool, relation: str) -> None:
    for turn in range(3):
        theta = BRANCHES[name][turn:] + BRANCHES[name][:turn]
        bounds = exact_widths(theta, intercept=intercept, relation=relation)
        for j in range(3):
            assert brute(theta, j, intercept=intercept, relation=relation) == bounds[j], j


def test_widths_are_attained_in_one_dimension() -> None:
    for a in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(2), Fraction(9)):
        for relation in RELATIONS:
            found = brute([a], 0, intercept=False, relation=relation)
            assert exact_widths([a], intercept=False, relation=relation) == [found]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("intercept", [False, True])
def test_slope_and_gradient_bound_are_attained(intercept: bool, relation: str) -> None:
    """All of the ball's size on one coordinate moves another one by the whole bound."""
    theta = [Fraction(0), Fraction(0), Fraction(3)]
    bounds = exact_widths(theta, intercept=intercept, relation=relation)
    loss = linear(design(3, intercept=intercept))
    assert max(bounds) == loss.growth(protected(relation)) * 4
    assert max(bounds) == max(reaches(loss.body(Region.ball(Fraction(3), 3)), relation))


# --- what plans make of them ---------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", NORMS)
def test_plans_divide_by_the_widths(name: str, intercept: bool, relation: str) -> None:
    """The float Delta of a plan is the exact one, on the whole space and on a ball."""
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-3, 4, (200, 1))
    norm = NORMS[name]
    regression = problem(3, norm=norm, intercept=intercept, relation=relation)
    plan = KNG().plan(regression, Fraction(1))
    exact = np.array(
        [
            exact_widths(list(row), intercept=intercept, relation=relation)
            for row in fractions(theta)
        ],
        dtype=object,
    )
    by = floats(exact) if name == "coordinate" else None
    if by is None:
        lengths = [float(norm.value(list(row))) for row in exact]
        by = np.repeat(np.array(lengths)[:, None], 3, axis=1)
    scale = Scale.of(plan)
    found = scale.widths(theta)
    np.testing.assert_allclose(found, by, rtol=1e-13)
    reach = scale.bound * (1 + np.abs(theta).sum(axis=1, keepdims=True))
    assert np.all(found <= reach * (1 + 1e-14))
    ball = KNG().plan(
        problem(3, norm=norm, intercept=intercept, relation=relation, radius=2), Fraction(1)
    )
    whole = Scale.of(ball)
    if name == "coordinate":  # the norm at theta on a ball, too
        assert ball.steady == 1
        np.testing.assert_allclose(whole.widths(theta), by, rtol=1e-13)
        return
    corner = {"l1": 3.0, "l2": 3**0.5}.get(name, 1.0)
    expected = corner * (2 if relation == REPLACE else 1) * 3
    assert whole.bound == pytest.approx(expected, rel=1e-15)
    assert np.all(whole.widths(theta) == whole.bound)
    assert plan.rate == ball.rate == 0.5


def test_people_with_several_records_slow_the_rate_not_the_widths() -> None:
    for k in (1, 2, 5):
        assert KNG().plan(problem(2, people=k), Fraction(3)).rate == pytest.approx(3 / (2 * k))
        value = Exponential().plan(problem(2, radius=1, people=k), Fraction(3))
        assert value.rate == pytest.approx(3 / (2 * k))
        perturbed = problem(2, radius=1, people=k, norm=NORMS["linf"])
        assert Perturbation.of(perturbed).sensitivity == k * 4


# --- the loss itself -----------------------------------------------------------------------------


def largest_value(radius: Fraction, d: int) -> Fraction:
    """Return how far one record moves the summed loss on a ball."""
    values = linear(design(d)).values(Region.ball(radius, d))
    return delta(Absolute(), values, protected(REPLACE))


@SOME
@given(case=situations())
def test_no_record_changes_the_loss_beyond_its_sensitivity(case: dict[str, Any]) -> None:
    """Losses start at 0, so adding, removing and replacing are bounded by the largest loss."""
    values = []
    for z, y in case["records"]:
        residual = sum(a * b for a, b in zip(case["theta"], z, strict=True)) - y
        values.append(residual**2 / 2)
    bound = largest_value(sum(map(abs, case["theta"]), Fraction(0)), case["d"])
    assert max(values) <= bound
    assert abs(values[0] - values[1]) <= bound


def test_value_sensitivity_is_attained() -> None:
    theta, radius = [Fraction(2), Fraction(-1)], Fraction(3)
    far = (theta[0] * 1 + theta[1] * -1 + 1) ** 2 / 2  # z = (1, -1), y = -1
    none = (theta[0] * 0 + theta[1] * 0 - 0) ** 2 / 2
    assert far - none == largest_value(radius, 2) == 8
    plan = Exponential().plan(problem(2, radius=radius), Fraction(1))
    assert plan.steady == 8


# --- Huber ---------------------------------------------------------------------------------------


@SOME
@given(case=situations(), stretch=st.integers(1, 10**6))
def test_no_record_moves_hubers_gradient_beyond_its_width(
    case: dict[str, Any], stretch: int
) -> None:
    """Whatever theta and y are: the residual is clipped."""
    moved = []
    for z, y in case["records"]:
        residual = sum(a * b for a, b in zip(case["theta"], z, strict=True)) - stretch * y
        moved.append([min(max(residual, Fraction(-1)), Fraction(1)) * v for v in z])
    loss = linear(design(case["d"], intercept=case["intercept"], unit=2), Huber(1))
    found = reaches(loss.body(Region.everything(case["d"])), case["relation"])
    for a, b, width in zip(*moved, found, strict=True):
        assert abs(a if case["relation"] == ADD else a - b) <= width


def test_hubers_widths_are_attained() -> None:
    """z = 1 with residuals of -1 and 1: every coordinate moves by 2, and by 1 from nothing."""
    residuals = [Fraction(5) - 6, Fraction(5) - 4]
    clipped = [min(max(r, Fraction(-1)), Fraction(1)) for r in residuals]
    body = linear(design(1, unit=2), Huber(1)).body(Region.everything(1))
    assert [clipped[1] - clipped[0]] == reaches(body, REPLACE) == [2]
    assert [clipped[1]] == reaches(body, ADD) == [1]


# --- curvature -----------------------------------------------------------------------------------


@pytest.mark.parametrize("pointwise", [Squared(), Huber(1)], ids=["squared", "huber"])
@pytest.mark.parametrize("intercept", [False, True])
def test_curvature_dominates_and_is_attained(pointwise: Any, intercept: bool) -> None:
    rng = np.random.default_rng(2)
    for d in range(1 + intercept, 7):
        bound = float(linear(design(d, intercept=intercept, unit=2), pointwise).curvature())
        z = rng.uniform(-1, 1, (200, d))
        z[:, 0] = 1 if intercept else z[:, 0]
        largest = np.linalg.eigvalsh(np.einsum("ni,nj->nij", z, z))[:, -1]
        assert np.all(largest <= bound * (1 + 1e-12))
        corner = np.ones(d)
        corner[1:] = -1
        assert np.linalg.eigvalsh(np.outer(corner, corner))[-1] == pytest.approx(bound)


@FEW
@given(
    d=st.integers(1, 4),
    k=st.integers(1, 4),
    share=st.fractions(Fraction(1, 20), Fraction(19, 20)),
    epsilon=st.fractions(Fraction(1, 10), 5),
    seed=st.integers(0, 2**32),
)
def test_the_ridge_pays_for_the_determinant(
    d: int, k: int, share: Fraction, epsilon: Fraction, seed: int
) -> None:
    """k records of one person change log det by at most (1 - share) epsilon, at any Hessian."""
    share = min(max(share, Fraction(1, 20)), Fraction(19, 20))
    posed = Perturbation.of(problem(d, radius=1, people=k, norm=NORMS["linf"]))
    gamma = float(posed.ridge(epsilon, share))
    rng = np.random.default_rng(seed)
    others = rng.uniform(-1, 1, (rng.integers(0, 6), d))
    common = gamma * np.eye(d) + others.T @ others
    budget = float((1 - share) * epsilon)
    for rows in (np.sign(rng.uniform(-1, 1, (2, k, d))), rng.uniform(-1, 1, (2, k, d))):
        gone, come = rows
        for a, b in ((gone, come), (gone, 0 * come), (0 * gone, come)):
            one = np.linalg.slogdet(common + a.T @ a)[1]
            two = np.linalg.slogdet(common + b.T @ b)[1]
            assert abs(one - two) <= budget * (1 + 1e-9)
    # One record at a corner, on an empty Hessian, uses up its share of it exactly.
    corner = np.ones((1, d))
    alone = np.linalg.slogdet(gamma * np.eye(d) + corner.T @ corner)[1] - d * np.log(gamma)
    assert alone == pytest.approx(budget / k, rel=1e-6)  # the ridge is rounded up
    assert alone <= budget / k


def test_least_squares_refuses_an_unbounded_objective() -> None:
    with pytest.raises(IncompatibleParts, match="coef_bound"):
        ObjectivePerturbation().plan(problem(2, domain=Whole(2, base=Uniform())), Fraction(1))


@pytest.mark.parametrize("name", ["linf", "l2", "l1"])
def test_noise_is_scaled_to_the_norm_of_the_widest_change(name: str) -> None:
    d, radius = 3, Fraction(2)
    corner = {"linf": 1.0, "l2": 3**0.5, "l1": 3.0}[name]
    plan = ObjectivePerturbation(Fraction(3, 4)).plan(
        problem(d, norm=NORMS[name], radius=radius, people=2), Fraction(2)
    )
    assert plan.rate == pytest.approx(0.75 * 2 / (2 * corner * 2 * 3), rel=1e-14)
    huber = ObjectivePerturbation(Fraction(3, 4)).plan(
        problem(
            d, norm=NORMS[name], pointwise=Huber(1), domain=Whole(d, base=Uniform()), relation=ADD
        ),
        Fraction(2),
    )
    assert huber.rate == pytest.approx(0.75 * 2 / corner, rel=1e-14)


def test_a_width_of_zero_cannot_be() -> None:
    """Dividing by Delta is safe: it is at least 1 for every theta."""
    for theta in ([0, 0], [10**9, 0], [1, -1]):
        for intercept, relation in product((False, True), RELATIONS):
            widest = exact_widths(
                list(map(Fraction, theta)), intercept=intercept, relation=relation
            )
            assert min(widest) >= 1
