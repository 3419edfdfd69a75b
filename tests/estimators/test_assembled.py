"""Mechanisms over parts: every loss that ships, planned, released and looked at."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import kng
from kng.domains import Box, L1Ball, Whole
from kng.losses import Distance, Expectile, Huber, Linear, Location, Pinball, Squared
from kng.norms import L1, L2, LInf

POINTWISE = [Squared(), Pinball(0.3), Huber(1), Expectile(0.3)]
PLACES = np.column_stack([np.linspace(3, 7, 80) ** 1, np.linspace(7, 3, 80)])
X = np.linspace(-1, 1, 60)[:, None]
Y = 0.5 + X[:, 0] + np.tile([-0.1, 0.1], 30)
PLANE = {"bounds_X": (-1, 1), "bounds_y": (-3, 3)}
SEED = {"epsilon": 4, "random_state": 7}


@pytest.mark.parametrize(
    ("mechanism", "pointwise", "dim"), [*product([kng.KNG, kng.Exponential], POINTWISE, [1, 2])]
)
def test_a_location_of_any_function_is_released(mechanism, pointwise, dim):
    made = mechanism(Location(pointwise), domain=Box(0, 10))
    found = made.release(PLACES[:, :dim], bounds=([0] * dim, [10] * dim), **SEED)
    assert np.all(np.abs(np.atleast_1d(found.value) - 5) < 2.5)
    assert found.scalar == (dim == 1)


@pytest.mark.parametrize(
    ("mechanism", "pointwise", "intercept"),
    [*product([kng.KNG, kng.Exponential], POINTWISE, [True, False])],
)
def test_a_linear_model_of_any_function_is_released(mechanism, pointwise, intercept):
    made = mechanism(Linear(pointwise, intercept=intercept), domain=Box(-4, 4))
    found = made.release(X, Y, **PLANE, **SEED)
    assert len(found.value) == 1 + intercept
    assert np.all(np.abs(found.value) < 8)


@pytest.mark.parametrize(("norm", "dim"), [*product(["auto", "l1", L2(), "linf"], [1, 2])])
def test_distances_are_released_in_any_norm(norm, dim):
    made = kng.KNG(Distance(), norm=norm, domain=Box(0, 10))
    found = made.release(PLACES[:, :dim], bounds=([0] * dim, [10] * dim), **SEED)
    assert np.all(np.abs(np.atleast_1d(found.value) - 5) < 2)


def test_a_domain_keeps_theta_inside_itself():
    """Theta of a linear model is effects in units of y, that of a location as it is returned."""
    for seed in range(4):
        options = {"epsilon": 1, "random_state": seed}
        box = kng.KNG(Linear(Squared()), domain=Box((2, 1), (2.5, 1.25)))
        intercept, slope = box.release(X, Y, **PLANE, **options).value
        assert 2 <= intercept <= 2.5
        assert 1 <= slope <= 1.25
        ball = kng.KNG(Location(Squared()), domain=L1Ball(3))
        assert np.abs(ball.release(PLACES, bounds=([0, 0], [10, 10]), **options).value).sum() <= 3
        beyond = kng.KNG(Location(Pinball(0.5)), domain=Box(20, 30))
        assert 20 <= beyond.release(PLACES[:, 0], bounds=(0, 10), **options).value <= 30


def test_a_table_and_two_arrays_give_the_same_release():
    made = kng.KNG(Linear(Huber(1), target="y"), domain=Box(-4, 4))
    table = {"y": Y, "x": X[:, 0], "other": Y}
    first = made.release(table, bounds={"y": (-3, 3), "x": (-1, 1)}, **SEED)
    assert first.integers == made.release(X, Y, **PLANE, **SEED).integers
    assert first.bounds.columns == ("x", "y")


def test_one_pair_of_bounds_serves_as_many_columns_as_the_domain_has():
    made = kng.KNG(Location(Squared()), domain=Box(0, 10, dim=2))
    pair, ends = (
        made.release(PLACES, bounds=b, **SEED).integers for b in ((0, 10), ([0, 0], [10, 10]))
    )
    assert pair == ends


@pytest.mark.parametrize(
    ("made", "options", "theta", "expected"),
    [
        (kng.KNG(Location(Pinball(0.3)), domain=Box(0, 9)), {"bounds": (0, 9)}, 3, 1),
        (kng.KNG(Location(Squared()), domain=Box(0, 8)), {"bounds": (0, 8)}, [3], 8),
        (kng.KNorm(Location(Squared()), norm=LInf()), {"bounds": (0, 8)}, None, 8),
        (kng.Exponential(Location(Squared()), domain=Box(0, 8)), {"bounds": (0, 8)}, 3, 32),
        (kng.KNG(Linear(Pinball(0.5)), domain=Box(-4, 4)), PLANE, [1, 1], 1),
        (kng.KNG(Linear(Squared()), norm="linf", domain=Whole()), PLANE, [0, 0], 2),
        (kng.KNG(Linear(Squared()), norm="linf", domain=Whole()), PLANE, [3, 0], 4),
    ],
)
def test_a_plan_knows_its_sensitivity(made, options, theta, expected):
    plan = made.plan(**options, epsilon=1)
    assert plan.sensitivity(theta) == expected
    assert plan.exact_sensitivity(theta) == Fraction(expected)
    # a person with three records can do three times as much
    assert made.plan(**options, epsilon=1, records_per_person=3).sensitivity(theta) == 3 * expected


def test_a_plan_says_what_a_release_will():
    made = kng.KNG(Location(Pinball(0.5)), domain=Box(0, 10))
    plan = made.plan(bounds=(0, 10), epsilon=0.5)
    found = made.release(PLACES[:, 0], bounds=(0, 10), epsilon=0.5)
    assert (plan.law, plan.guarantee, plan.sampler) == (found.law, found.guarantee, found.sampler)
    assert (plan.assumptions, plan.epsilon) == (found.assumptions, found.epsilon)
    assert plan.predicted_error is None


def test_k_norm_noise_has_the_predicted_spread():
    made = kng.KNorm(Location(Squared()))
    data = np.full(50, 5.0)
    plan = made.plan(bounds=(0, 10), epsilon=2, n=50)
    ask = {"bounds": (0, 10), "epsilon": 2, "missing": 5}
    drawn = [made.release(data, random_state=s, **ask) for s in range(400)]
    spread = np.std([release.value for release in drawn])
    assert plan.predicted_error == pytest.approx(10 / 2 * 2**0.5 / 50, rel=1e-6)
    assert spread == pytest.approx(plan.predicted_error, rel=0.15)
    assert made.plan(bounds=(0, 10), epsilon=2).predicted_error is None


def test_objective_perturbation_predicts_what_it_minimises():
    made = kng.ObjectivePerturbation(Linear(Huber(1)))
    best = made.plan(bounds_X=(-1, 1), epsilon=1).predicted_error
    half = kng.ObjectivePerturbation(Linear(Huber(1)), share=0.5)
    assert best <= half.plan(bounds_X=(-1, 1), epsilon=1).predicted_error


def test_a_density_is_the_law_at_lattice_points():
    made = kng.KNG(Location(Pinball(0.5)), domain=Box(0, 4))
    data = [1, 2, 2, 3]
    found = made.density(data, bounds=(0, 4), epsilon=1, granularity=1, grid=5, public=True)
    scores = np.array([2, 1, 0, 1, 2])
    assert found.points[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert found.log_density == pytest.approx(-scores / 2)
    assert found.mass == pytest.approx(np.exp(-scores / 2) / np.exp(-scores / 2).sum())
    given = made.density(data, bounds=(0, 4), epsilon=1, granularity=1, grid=[1, 3], public=True)
    assert given.mass == pytest.approx([0.5, 0.5])


def test_a_density_of_two_coordinates_is_that_of_its_draws():
    made = kng.KNG(Location(Squared()), norm="l1", domain=Box(0, 3))
    data, options = [[1, 2], [2, 2], [3, 0]], {"bounds": ([0, 0], [3, 3]), "granularity": 1}
    found = made.density(data, **options, epsilon=2, grid=4, public=True)
    drawn = [made.release(data, **options, epsilon=2, random_state=s).value for s in range(150)]
    counts = {tuple(p): 0 for p in found.points.tolist()}
    for value in drawn:
        counts[tuple(value.tolist())] += 1
    expected = 150 * found.mass
    chi = sum((c - e) ** 2 / e for c, e in zip(counts.values(), expected, strict=True))
    assert chi < 45  # 15 degrees of freedom: p < 1e-4


@pytest.mark.parametrize("public", [False, None, 1, "yes"])
def test_a_density_of_private_records_is_refused(public):
    made = kng.KNG(Location(Squared()), domain=Box(0, 1))
    with pytest.raises(kng.KngError, match="public=True"):
        made.density([0.5], bounds=(0, 1), epsilon=1, grid=3, public=public)


def test_a_density_plots_itself():
    made = kng.KNG(Location(Squared()), domain=Box(0, 1))
    found = made.density([0.5], bounds=(0, 1), epsilon=1, grid=3, public=True)

    class Axes:
        def plot(self, x, y):
            self.drawn = x, y

    assert found.plot(Axes()).drawn[1] is found.mass


@pytest.mark.parametrize(
    ("make", "ask", "named"),
    [
        (lambda: kng.KNG(Location(Squared())), {}, ["Location(Squared())", "domain"]),
        (lambda: kng.KNG(domain=Box(0, 1)), {"bounds": (0, 1)}, ["KNG", "loss"]),
        (lambda: kng.KNG(L1(), domain=Box(0, 1)), {}, ["L1", "loss", "over"]),
        (lambda: kng.KNG(Distance(), norm=Box(0, 1), domain=Box(0, 1)), {}, ["Box", "norm"]),
        (lambda: kng.KNG(Distance(), norm=L2, domain=Box(0, 1)), {}, ["class L2"]),
        (lambda: kng.KNG(Distance(), domain=L2()), {}, ["L2", "domain", "dim"]),
        (lambda: kng.KNG(Distance(), domain=Box(0, 1, base=3)), {}, ["3 is not a base", "finite"]),
        (
            lambda: kng.KNG(Distance(), norm="l3", domain=Box(0, 1)),
            {},
            ["norm must be one of", "l3"],
        ),
        (
            lambda: kng.KNG(Location(Squared()), domain=Whole()),
            {"bounds": (0, 1)},
            ["Location(Squared())", "Whole("],
        ),
        (
            lambda: kng.KNG(Location(Squared()), domain=Box(0, 1, dim=3)),
            {"bounds": ([0, 0], [1, 1])},
            ["Box(0, 1, dim=3)", "2"],
        ),
        (
            lambda: kng.KNorm(Location(Pinball(0.5))),
            {"bounds": (0, 1)},
            ["KNorm", "Location(Pinball(0.5))"],
        ),
        (
            lambda: kng.ObjectivePerturbation(Linear(Pinball(0.5))),
            PLANE,
            ["Objective perturbation", "Linear(Pinball(0.5))"],
        ),
        (
            lambda: kng.ObjectivePerturbation(Linear(Huber(1)), domain=Box(-1, 1)),
            PLANE,
            ["Linear(Huber(1))", "Box("],
        ),
        (
            lambda: kng.Exponential(Linear(Squared()), domain=Whole()),
            PLANE,
            ["Exponential", "Linear(Squared())", "Whole("],
        ),
        (
            lambda: kng.KNG(Linear(Squared()), domain=Box(-1, 1)),
            {"bounds": {"x": (0, 1), "y": (0, 1)}},
            ["Linear(Squared())", "target"],
        ),
        (
            lambda: kng.KNG(Linear(Squared(), target="y"), domain=Box(-1, 1)),
            {"bounds": {"x": (0, 1), "z": (0, 1)}},
            ["'y'"],
        ),
        (
            lambda: kng.KNG(Distance(), domain=Box(0, 1)),
            {**PLANE, "bounds": (0, 1)},
            ["bounds_X", "Distance()"],
        ),
        (lambda: kng.ObjectivePerturbation(share=1), {}, ["share"]),
    ],
)
def test_what_does_not_fit_is_refused_and_named(make, ask, named):
    with pytest.raises(kng.KngError) as caught:
        make().plan(**ask, epsilon=1)
    assert all(word in str(caught.value) for word in named), str(caught.value)


def test_what_does_not_fit_is_refused_before_the_data_are_touched():
    class Untouched:
        def __getattribute__(self, name):
            raise AssertionError(name)

    for made in (kng.KNorm(Location(Pinball(0.5))), kng.KNG(Location(Squared()), domain=Whole())):
        with pytest.raises(kng.KngError):
            made.release(Untouched(), bounds=(0, 1), epsilon=1)
