"""Estimators take parts as well as names, and draw what mechanisms put together by hand draw."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import kng
from kng.domains import Box, L1Ball, Whole
from kng.losses import Distance, Huber, Linear, Location, Pinball, Squared
from kng.norms import L1, L2, LInf

N = 150
X = np.column_stack([np.linspace(-1, 1, N), np.cos(np.arange(N))])
Y = 0.25 + X @ [1.0, -0.5] + np.tile([-0.2, 0, 0.2], N // 3)
PLANE: dict[str, Any] = {"bounds_X": (-1, 1), "bounds_y": (-3, 3), "epsilon": 1}
TABLE: dict[str, Any] = {"bounds": ([-1, -1], [1, 1]), "epsilon": 1}
LINE: dict[str, Any] = {"bounds": (-3, 3), "epsilon": 1}
RELATIONS: list[dict[str, Any]] = [{}, {"neighbours": "add-remove", "n_max": 1000}]


def fitted(kind: Any, columns: int = 2, **options: Any) -> Any:
    """Return a fit by an estimator, as a function of a seed and a relation."""
    return lambda **seed: kind(**PLANE, **options, **seed).fit(X[:, :columns], Y).release_


def made(mechanism: Any, columns: int = 2) -> Any:
    """Return a release by a mechanism over a linear model."""
    return partial(mechanism.release, X[:, :columns], Y, **PLANE)


LEAST, BEND = Linear(Squared()), Linear(Huber(0.5))
PAIRS = {
    "median": (
        partial(kng.median, Y, **LINE),
        partial(kng.KNG(Location(Pinball(0.5)), domain=Box(-3, 3)).release, Y, **LINE),
    ),
    "quantile by the exponential mechanism": (
        partial(kng.quantile, Y, 0.9, mechanism="exponential", **LINE),
        partial(kng.Exponential(Location(Pinball(0.9)), domain=Box(-3, 3)).release, Y, **LINE),
    ),
    "quantile beyond the bounds": (
        partial(kng.quantile, Y, 0.9, domain=Box(-9, 9), **LINE),
        partial(kng.KNG(Location(Pinball(0.9)), domain=Box(-9, 9)).release, Y, **LINE),
    ),
    "mean": (
        partial(kng.mean, X, **TABLE),
        partial(kng.KNorm(Location(Squared())).release, X, **TABLE),
    ),
    "mean in l1": (
        partial(kng.mean, X, norm=L1(), **TABLE),
        partial(kng.KNorm(Location(Squared()), norm="l1").release, X, **TABLE),
    ),
    "mean by KNG": (
        partial(kng.mean, X, mechanism="kng", **TABLE),
        partial(kng.KNG(Location(Squared()), domain=Box(-1, 1)).release, X, **TABLE),
    ),
    "mean in a ball": (
        partial(kng.mean, X, mechanism=kng.KNG(domain=L1Ball(1), norm="l2"), **TABLE),
        partial(kng.KNG(Location(Squared()), domain=L1Ball(1), norm=L2()).release, X, **TABLE),
    ),
    "geometric median": (
        partial(kng.geometric_median, X, **TABLE),
        partial(kng.KNG(Distance(), domain=Box(-1, 1)).release, X, **TABLE),
    ),
    "geometric median in l1": (
        partial(kng.geometric_median, X, norm="l1", **TABLE),
        partial(kng.KNG(Distance(), norm=L1(), domain=Box(-1, 1)).release, X, **TABLE),
    ),
    "linear kng": (
        fitted(kng.LinearRegression, mechanism="kng"),
        made(kng.KNG(LEAST, domain=Whole())),
    ),
    "linear kng on a ball": (
        fitted(kng.LinearRegression, mechanism="kng", coef_bound=8),
        made(kng.KNG(LEAST, domain=L1Ball(8))),
    ),
    "linear kng in l1": (
        fitted(kng.LinearRegression, mechanism="kng", coef_bound=8, norm="l1", columns=1),
        made(kng.KNG(LEAST, norm=L1(), domain=L1Ball(8)), 1),
    ),
    "linear exponential": (
        fitted(kng.LinearRegression, mechanism="exponential", coef_bound=8),
        made(kng.Exponential(LEAST, domain=L1Ball(8))),
    ),
    "linear objective": (
        fitted(kng.LinearRegression, mechanism="objective", coef_bound=8),
        made(kng.ObjectivePerturbation(LEAST, domain=L1Ball(8))),
    ),
    "linear objective, half of epsilon": (
        fitted(
            kng.LinearRegression, mechanism=kng.ObjectivePerturbation(share=0.5), domain=L1Ball(8)
        ),
        made(kng.ObjectivePerturbation(LEAST, domain=L1Ball(8), share=0.5)),
    ),
    "quantile plane": (
        fitted(kng.QuantileRegressor, quantile=0.75, coef_bound=6),
        made(kng.KNG(Linear(Pinball(0.75)), domain=Box(-6, 6))),
    ),
    "quantile plane by the exponential mechanism": (
        fitted(kng.QuantileRegressor, mechanism="exponential"),
        made(kng.Exponential(Linear(Pinball(0.5)), domain=Box(-12, 12))),
    ),
    "quantile plane in l2 on a ball": (
        fitted(kng.QuantileRegressor, 1, norm="l2", domain=L1Ball(6)),
        made(kng.KNG(Linear(Pinball(0.5)), norm=L2(), domain=L1Ball(6)), 1),
    ),
    "Huber objective": (
        fitted(kng.HuberRegressor, threshold=0.5),
        made(kng.ObjectivePerturbation(BEND)),
    ),
    "Huber objective on a ball, with a centre": (
        fitted(kng.HuberRegressor, threshold=0.5, coef_bound=4, centre=[0, 1, 0], norm="l2"),
        made(kng.ObjectivePerturbation(BEND, domain=L1Ball(4), centre=[0, 1, 0], norm=L2())),
    ),
    "Huber kng": (
        fitted(kng.HuberRegressor, threshold=0.5, mechanism="kng", coef_bound=4),
        made(kng.KNG(BEND, domain=Box(-4, 4))),
    ),
    "Huber exponential": (
        fitted(kng.HuberRegressor, threshold=0.5, mechanism="exponential", coef_bound=4),
        made(kng.Exponential(BEND, domain=Box(-4, 4))),
    ),
}


@pytest.mark.parametrize("relation", RELATIONS, ids=["replace-one", "add-remove"])
@pytest.mark.parametrize("name", PAIRS)
def test_an_estimator_draws_what_the_mechanism_by_hand_draws(name, relation):
    estimator, mechanism = PAIRS[name]
    for seed in (1, 2):
        first = estimator(random_state=seed, **relation)
        second = mechanism(random_state=seed, **relation)
        assert first.integers == second.integers
        assert first.exact_value == second.exact_value
        assert (first.law, first.event, first.sampler) == (second.law, second.event, second.sampler)


def test_names_and_objects_are_the_same_parts():
    named = fitted(kng.LinearRegression, 1, mechanism="kng", coef_bound=8, norm="l1")
    for options in (
        {"mechanism": kng.KNG(), "coef_bound": 8, "norm": L1()},
        {"mechanism": kng.KNG(norm="l1"), "domain": L1Ball(8)},
        {"mechanism": kng.KNG(norm=L1(), domain=L1Ball(8, dim=2))},
    ):
        other = fitted(kng.LinearRegression, 1, **options)
        assert other(random_state=3).integers == named(random_state=3).integers


def test_a_perturbation_without_a_bound_clips_residuals_with_its_own_share():
    model = kng.LinearRegression(mechanism=kng.ObjectivePerturbation(share=0.5), **PLANE)
    release = model.fit(X, Y).release_
    assert (release.mechanism, release.guarantee) == ("objective", "exact")
    assert model.threshold_ > 0


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_least_squares_on_a_ball_is_exact_in_any_norm(norm):
    model = kng.LinearRegression(coef_bound=8, mechanism="kng", norm=norm, **PLANE)
    release = model.fit(X[:, :1], Y).release_
    assert (release.guarantee, release.sampler) == ("exact", "branch-and-bound")


def test_domains_of_estimators_are_kept():
    for seed in range(3):
        model = kng.QuantileRegressor(domain=L1Ball(0.5), norm="l2", random_state=seed, **PLANE)
        assert abs(model.fit(X[:, :1], Y).intercept_) + abs(model.coef_[0]) <= 0.5
        box = Box((2, -1), (3, 0))
        model = kng.LinearRegression(mechanism="kng", domain=box, random_state=seed, **PLANE)
        assert 2 <= model.fit(X[:, :1], Y).intercept_ <= 3
        assert -1 <= model.coef_[0] <= 0
        assert 1 <= kng.median(Y, domain=Box(1, 2), random_state=seed, **LINE).value <= 2


PARTS = [
    {"norm": L2(), "domain": L1Ball(4), "mechanism": "kng"},
    {"mechanism": kng.ObjectivePerturbation(share=0.5), "norm": LInf()},
    {"mechanism": kng.KNG(norm=L1()), "domain": Box(-4, 4)},
]


@pytest.mark.parametrize("parts", PARTS)
def test_estimators_with_parts_are_cloned_and_pickled(parts):
    model = kng.LinearRegression(**PLANE, random_state=5, **parts)
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert {name: copy.get_params()[name] for name in parts} == parts
        drawn = [m.fit(X[:, :1], Y).release_.integers for m in (copy, model)]
        assert drawn[0] == drawn[1]
    assert "domain" in repr(kng.LinearRegression(domain=Box(-1, 1)))


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        (kng.LinearRegression, {"coef_bound": 1, "domain": Box(-1, 1)}, ["coef_bound", "domain"]),
        (
            kng.LinearRegression,
            {"mechanism": kng.KNG(LEAST, domain=Whole())},
            ["KNG", "Linear(Squared())", "own"],
        ),
        (
            kng.LinearRegression,
            {"mechanism": kng.KNG(norm="l1"), "norm": "l2"},
            ["norm", "twice", "KNG"],
        ),
        (kng.LinearRegression, {"mechanism": kng.KNorm()}, ["mechanism must be one of", "k-norm"]),
        (kng.LinearRegression, {"mechanism": L2()}, ["L2", "mechanism"]),
        (kng.LinearRegression, {"domain": L2()}, ["L2", "domain"]),
        (
            kng.LinearRegression,
            {"mechanism": "objective", "domain": Box(-1, 1)},
            ["Linear(Squared())", "Box("],
        ),
        (kng.QuantileRegressor, {"domain": Whole()}, ["pinball", "bounded"]),
        (
            kng.QuantileRegressor,
            {"domain": L1Ball(3), "quantile": [0.25, 0.75], "noncrossing": "planes"},
            ["several quantiles", "L1Ball"],
        ),
        (kng.QuantileRegressor, {"domain": Box(-1, 1, dim=2)}, ["Box(", "2", "3"]),
        (
            kng.HuberRegressor,
            {"threshold": 1, "domain": Box(-1, 1)},
            ["Linear(Huber(1))", "Box("],
        ),
        (
            kng.HuberRegressor,
            {"threshold": 1, "mechanism": "exponential", "norm": L1(), "domain": Box(-1, 1)},
            ["exponential", "norm"],
        ),
    ],
)
def test_parts_that_do_not_fit_an_estimator_are_refused(kind, options, named):
    with pytest.raises(kng.KngError) as caught:
        kind(**PLANE, **options).fit(X, Y)
    assert all(word in str(caught.value) for word in named), str(caught.value)


def test_k_norm_noise_has_no_domain():
    with pytest.raises(kng.KngError, match=r"Box\(-1, 1\)"):
        kng.mean(Y, domain=Box(-1, 1), **LINE)
