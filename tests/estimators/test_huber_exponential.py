"""HuberRegressor(mechanism="exponential"): exact, accurate, and refused where it cannot serve."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

import kng
from kng.core.errors import BudgetError, IncompatibleParts, SpecError

THRESHOLD = 0.5


def model_of(**changed):
    asked = {"epsilon": 1, "threshold": THRESHOLD, "bounds_X": (-1, 1), "bounds_y": (-4, 4)}
    return kng.HuberRegressor(**{**asked, "mechanism": "exponential", **changed})


def line(n: int, p: int = 1):
    rng = np.random.default_rng(n)
    X = rng.uniform(-1, 1, (n, p))
    return X, 0.5 + X.sum(axis=1) + 0.5 * rng.standard_t(3, n)


def plain(X, y):
    """Return Huber's fit by statsmodels, its scale fixed at 1 as the threshold is ours."""
    fit = sm.RLM(y, sm.add_constant(X), M=sm.robust.norms.HuberT(t=THRESHOLD)).fit(
        start_scale=1.0, update_scale=False, maxiter=500, tol=1e-12
    )
    return np.asarray(fit.params)


@pytest.mark.parametrize("p", [1, 2])
def test_it_finds_the_plane_and_is_exact(p):
    model = model_of(coef_bound=4).fit(*line(10_000, p))
    # the law's own spread: sqrt(2 Delta / (epsilon n)) thresholds or so, along each slope
    assert abs(model.intercept_ - 0.5) < 0.4
    assert np.abs(model.coef_ - 1).max() < 0.7
    assert model.release_.event.guarantee.value == "exact"
    assert model.release_.event.mechanism == "exponential"
    assert model.release_.sampler == "branch-and-bound"
    assert model.release_.details["response"] == "clipped to its bounds"


@pytest.mark.parametrize("p", [1, 2, 3])
def test_with_next_to_no_noise_it_is_hubers_fit(p):
    X, y = line(3000, p)
    expected = plain(X, np.clip(y, -4, 4))
    model = model_of(epsilon=10**6, random_state=1).fit(X, y)
    assert np.allclose([model.intercept_, *model.coef_], expected, atol=0.01)


def test_its_error_is_the_one_that_the_rate_foretells():
    """Spread of the slope: 1 / sqrt( rate * Hessian ), within a third."""
    X, y = line(4000)
    model, found = model_of(epsilon=10), []
    expected = plain(X, np.clip(y, -4, 4))
    for seed in range(60):
        found.append(model.set_params(random_state=seed).fit(X, y).coef_[0] - expected[1])
    inside = np.abs(y - expected[0] - expected[1] * X[:, 0]) <= THRESHOLD
    reach, range_y = 2 * 32, 8  # in thresholds: two terms of four half ranges each, and y
    rate = 10 / (2 * (reach + range_y - 0.5))
    stated = THRESHOLD / np.sqrt(rate * (X[inside] ** 2).sum())
    assert 0.67 < np.std(found) / stated < 1.5


def test_units_are_the_callers():
    X, y = line(5000)
    model = model_of(bounds_X=(90, 110), bounds_y=(960, 1040), threshold=5, random_state=1)
    other = model_of(random_state=1).fit(X, y)
    model.fit(100 + 10 * X, 1000 + 10 * y)
    assert np.allclose(model.coef_, other.coef_, atol=1e-3)
    assert abs(model.predict([[100.0]])[0] - (1000 + 10 * other.intercept_)) < 0.1


def test_bounds_that_are_no_multiple_of_the_threshold_keep_their_middle():
    X, y = line(4000)
    model = model_of(
        fit_intercept=False, threshold="0.3", bounds_y=("-1.7", "1.7"), epsilon=1000
    ).fit(X, y - 0.5)
    assert abs(model.coef_[0] - 1) < 0.2


def test_responses_are_clipped_to_their_bounds():
    X, y = line(2000)
    wild = np.where(np.arange(2000) % 10 == 0, 1e12, y)
    model, other = model_of(random_state=3), model_of(random_state=3)
    model.fit(X, wild)
    other.fit(X, np.minimum(wild, 4.0))
    assert np.array_equal(model.release_.value, other.release_.value)


@pytest.mark.parametrize(
    ("changed", "X", "error", "words"),
    [
        ({"bounds_y": None}, 1, SpecError, "give bounds_y"),
        ({"bounds_y": None, "coef_bound": 4}, 1, SpecError, "give bounds_y"),
        ({"bounds_y": (4, -4)}, 1, SpecError, "bounds_y"),
        ({"bounds_y": (0, float("nan"))}, 1, SpecError, "bounds_y"),
        ({"coef_bound": 1e9}, 1, SpecError, "thresholds"),
        ({"threshold": 1e-9}, 1, SpecError, "thresholds"),
        ({"norm": "linf"}, 1, IncompatibleParts, "no norm"),
        ({"sampler": "perturbed"}, 1, IncompatibleParts, "branch-and-bound"),
        ({"sampler": "affine"}, 1, IncompatibleParts, "branch-and-bound"),
        ({}, 4, IncompatibleParts, "objective"),
        ({}, 9, IncompatibleParts, "hit-and-run"),
        ({"epsilon": 0}, 1, SpecError, "epsilon"),
    ],
)
def test_what_it_cannot_draw_is_refused_before_the_charge(changed, X, error, words, tmp_path):
    ledger = kng.Ledger(tmp_path / "study.ledger", cap=5)
    with pytest.raises(error, match=words):
        model_of(ledger=ledger, **changed).fit(*line(50, X))
    assert ledger.spent == 0


def test_it_is_charged_once_and_never_beyond_the_budget(tmp_path):
    ledger = kng.Ledger(tmp_path / "study.ledger", cap=1)
    model = model_of(ledger=ledger).fit(*line(100))
    assert ledger.spent == 1
    with pytest.raises(BudgetError):
        model.fit(*line(100))


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("X", "y"), [(np.nan, np.inf), (0.0, 0.0), (5.0, -1e300)], ids=["missing", "zero", "far"]
)
@pytest.mark.parametrize("n", [1, 40])
def test_any_records_are_answered(n, X, y, intercept, neighbours):
    model = model_of(random_state=2, fit_intercept=intercept, neighbours=neighbours)
    model.fit(np.full((n, 1), X), np.full(n, y))
    assert np.isfinite(model.coef_).all()


def test_the_chain_is_taken_only_by_name_and_is_approximate():
    model = model_of(sampler="hit-and-run", coef_bound=4).fit(*line(300, 5))
    assert model.release_.event.guarantee.value == "approximate"
    assert model.coef_.shape == (5,)


def test_auto_is_still_objective_perturbation():
    model = kng.HuberRegressor(epsilon=1, threshold=1, bounds_X=(-1, 1), bounds_y=(-4, 4))
    assert model.fit(*line(100)).release_.event.mechanism == "objective"
