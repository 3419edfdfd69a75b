"""HuberRegressor(mechanism="kng"): exact, accurate, and refused where it cannot serve."""

from __future__ import annotations

import numpy as np
import pytest

import kng
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.privacy import Assumption


def model_of(**changed):
    asked = {"epsilon": 1, "threshold": 0.5, "bounds_X": (-1, 1), "bounds_y": (-4, 4)}
    return kng.HuberRegressor(**{**asked, "mechanism": "kng", **changed})


def line(n: int, p: int = 1):
    rng = np.random.default_rng(n)
    X = rng.uniform(-1, 1, (n, p))
    return X, 0.5 + X.sum(axis=1) + 0.5 * rng.normal(size=n)


def test_it_finds_the_line_and_is_exact():
    model = model_of().fit(*line(5000))
    assert abs(model.intercept_ - 0.5) < 0.1
    assert abs(model.coef_[0] - 1) < 0.15
    assert model.release_.event.guarantee.value == "exact"
    assert model.release_.sampler == "branch-and-bound"


def test_units_are_the_callers():
    X, y = line(5000)
    model = model_of(bounds_X=(90, 110), bounds_y=(960, 1040), threshold=5, random_state=1)
    other = model_of(random_state=1).fit(X, y)
    model.fit(100 + 10 * X, 1000 + 10 * y)
    assert np.allclose(model.coef_, other.coef_, atol=1e-3)
    assert abs(model.predict([[100.0]])[0] - (1000 + 10 * other.intercept_)) < 0.1


@pytest.mark.parametrize(
    ("changed", "X", "error", "words"),
    [
        ({"bounds_y": None}, 1, SpecError, "coef_bound"),
        ({"coef_bound": 1e9}, 1, SpecError, "thresholds"),
        ({"norm": "l3"}, 1, SpecError, "norm"),
        ({"sampler": "perturbed"}, 1, IncompatibleParts, "branch-and-bound"),
        ({}, 4, IncompatibleParts, "objective"),
        ({}, 9, IncompatibleParts, "objective"),
    ],
)
def test_what_it_cannot_draw_is_refused(changed, X, error, words):
    with pytest.raises(error, match=words):
        model_of(**changed).fit(*line(50, X))


@pytest.mark.parametrize("n", [1, 40])
def test_any_records_are_answered(n):
    model = model_of(random_state=2).fit(np.full((n, 1), np.nan), np.full(n, np.inf))
    assert np.isfinite(model.coef_).all()


def test_four_coefficients_say_that_time_has_no_limit():
    """Some records take a minute (docs/catalogue.md); three coefficients none that we know of."""
    for columns in (2, 3):
        X = np.linspace(-1, 1, 20 * columns).reshape(20, columns)
        given = {"epsilon": 1, "threshold": 0.5, "coef_bound": 1, "mechanism": "kng"}
        model = kng.HuberRegressor(**given, bounds_X=(-1, 1)).fit(X, X[:, 0])
        stated = Assumption.UNBOUNDED_TIME in model.release_.assumptions
        assert stated == (columns == 3)
