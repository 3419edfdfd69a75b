"""Designs on which least squares breaks down: they are answered, like all others."""

from __future__ import annotations

import time
import warnings
from itertools import product

import numpy as np
import pytest
from estimators.fitting import NORMED, WAYS, model

RELATIONS = ["replace-one", "add-remove"]
# Branch and bound draws five coefficients at most; tests/samplers has it on other hard designs.
WIDE = [way for way in WAYS if not way.startswith("quantile")]


def designs(way: str = "") -> dict[str, tuple[np.ndarray, np.ndarray]]:
    narrow = way.startswith("quantile")
    k, few, many = (1, 2, 3) if narrow else (3, 4, 12)
    draw = np.random.default_rng(8)
    x, y = draw.uniform(-1, 1, (50, k)), draw.uniform(-2, 2, 50)
    return {
        "a column twice": (np.column_stack([x, x[:, 0]]), y),
        "a column and its mirror": (np.column_stack([x, -x[:, 0]]), y),
        "a sum of columns": (np.column_stack([x, x.sum(axis=1) / 3]), y),
        "all columns alike": (np.column_stack([x[:, 0]] * 2 * k), y),
        "a column of ones": (np.column_stack([x, np.ones(50)]), y),
        "a column of zeros": (np.column_stack([x, np.zeros(50)]), y),
        "a column at its bound": (np.column_stack([x, np.full(50, -1.0)]), y),
        "all zeros": (np.zeros((50, k)), np.zeros(50)),
        "all at a corner": (np.ones((50, k)), np.full(50, 2.0)),
        "all missing": (np.full((50, k), np.nan), np.full(50, np.nan)),
        "all far outside": (np.full((50, k), 1e308), np.full(50, -1e308)),
        "fewer records than columns": (draw.uniform(-1, 1, (few, many)), draw.uniform(-2, 2, few)),
        "one record": (draw.uniform(-1, 1, (1, many)), np.ones(1)),
        "nearly alike": (np.column_stack([x, x[:, 0] + 2e-5]), y),
        "a perfect line": (x, x @ np.array([0.5, -0.5, 0.25])[:k]),
        "a response at its bounds": (x, np.sign(x[:, 0]) * 2),
        "two clusters": (np.sign(x) * 0.999, np.sign(x[:, 0])),
        "tiny covariates": (x * 1e-12, y),
        "outliers": (x, np.where(np.arange(50) < 10, 1e9, y)),
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("design", designs())
def test_hard_designs_are_answered_without_a_word(way, relation, design, capfd):
    X, y = designs(way)[design]
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model(way, neighbours=relation).fit(X, y)
    assert time.perf_counter() - started < 20
    assert np.all(np.isfinite(fitted.coef_))
    assert np.isfinite(fitted.intercept_)
    assert fitted.coef_.shape == (X.shape[1],)
    assert capfd.readouterr() == ("", "")


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("way", "epsilon"),
    # One record or two, weighed at 10 000 by the loss itself, take branch and bound minutes.
    [*product(WAYS, [1e-9, 0.01, 100]), *product([*WIDE, "quantile"], [10_000])],
)
def test_hard_designs_are_answered_at_every_epsilon(way, epsilon):
    # A ball of 10 holds every estimate; the next test is about those that do not.
    wide = {"coef_bound": 10} if "coef_bound" in WAYS[way][1] else {}
    for X, y in designs(way).values():
        assert np.all(np.isfinite(model(way, epsilon=epsilon, **wide).fit(X, y).coef_))


@pytest.mark.parametrize("way", [way for way in WAYS if "coef_bound" in WAYS[way][1]])
def test_a_ball_that_leaves_the_estimate_out_is_answered(way):
    # Ordinary data, an ordinary epsilon, and a caller who guessed too small a bound.
    draw = np.random.default_rng(10)
    X = draw.uniform(-1, 1, (20_000, 2))
    y = X @ [1.0, 0.5] + draw.normal(0, 0.1, 20_000)
    started = time.perf_counter()
    fitted = model(way, coef_bound=1).fit(X, y)
    assert time.perf_counter() - started < 20
    assert np.abs(fitted.coef_).sum() + abs(fitted.intercept_) <= 1 + 1e-8


@pytest.mark.parametrize(("way", "norm"), NORMED)
def test_norms_by_name_are_answered(way, norm):
    for design in ("a column twice", "fewer records than columns", "all missing"):
        fitted = model(way, norm=norm).fit(*designs()[design])
        assert np.all(np.isfinite(fitted.coef_))


@pytest.mark.parametrize("way", WIDE)
def test_many_columns_are_answered(way):
    draw = np.random.default_rng(9)
    X, y = draw.uniform(-1, 1, (500, 15)), draw.uniform(-2, 2, 500)
    started = time.perf_counter()
    assert model(way).fit(X, y).coef_.shape == (15,)
    assert time.perf_counter() - started < 20
