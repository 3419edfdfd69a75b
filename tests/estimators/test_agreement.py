"""With next to no noise: the estimates of scikit-learn, statsmodels and a general solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from estimators.fitting import NORMED, WAYS, model
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

LARGE = 10**6
LINEAR = [way for way in WAYS if way.startswith("linear")]
HUBER = [way for way in WAYS if way.startswith("huber")]
QUANTILE = [way for way in WAYS if way.startswith("quantile")]
LOW, HIGH = np.array([0.0, -3.0, 10.0]), np.array([5.0, 1.0, 30.0])
THRESHOLD = 0.4


def survey(n: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return covariates that reach beyond their bounds and a response with heavy tails."""
    draw = np.random.default_rng(seed)
    X = draw.uniform(LOW - 0.5, HIGH + 0.5, (n, 3))
    y = 2 + X @ [0.5, -0.8, 0.1] + 0.5 * draw.standard_t(2.5, n)
    return X, y


def fitted(way: str, X: np.ndarray, y: np.ndarray, **options: Any) -> Any:
    shared = {"bounds_X": (LOW, HIGH), "bounds_y": (-5, 15), "random_state": 0}
    wide = {}
    if "coef_bound" in WAYS[way][1]:
        wide["coef_bound"] = 20
    if way in HUBER:
        wide["threshold"] = THRESHOLD
    return model(way, **{**shared, **wide, **options}).fit(X, y)


def agrees(found: Any, coef: Any, intercept: float, tolerance: float) -> None:
    """Compare what the models predict over the whole box, in the units of y."""
    corners = np.array(np.meshgrid(*zip(LOW, HIGH, strict=True))).reshape(3, -1).T
    expected = corners @ np.asarray(coef) + intercept
    assert np.abs(found.predict(corners) - expected).max() < tolerance


# Records are read in steps of 2**-16 of a range, which moves predictions by about that much; the
# noise at this epsilon is smaller, but for the exponential mechanism's, which falls with its root.
TOLERANCE = {"linear exponential": 0.02}


@pytest.mark.parametrize("way", LINEAR)
def test_least_squares_agrees_with_scikit_learn_on_clipped_data(way):
    X, y = survey()
    plain = LinearRegression().fit(np.clip(X, LOW, HIGH), np.clip(y, -5, 15))
    found = fitted(way, X, y, epsilon=LARGE)
    agrees(found, plain.coef_, plain.intercept_, TOLERANCE.get(way, 5e-4))
    assert found.score(X, y) == pytest.approx(plain.score(X, y), abs=1e-2)


@pytest.mark.parametrize("way", LINEAR)
def test_least_squares_without_an_intercept_agrees_with_scikit_learn(way):
    X, y = survey()
    centred = np.clip(X - (LOW + HIGH) / 2, -2, 2)
    plain = LinearRegression(fit_intercept=False).fit(centred, np.clip(y, -10, 10))
    found = fitted(
        way, centred, y, epsilon=LARGE, bounds_X=(-2, 2), bounds_y=(-10, 10), fit_intercept=False
    )
    assert np.allclose(found.coef_, plain.coef_, atol=TOLERANCE.get(way, 5e-4))


@pytest.mark.parametrize("way", LINEAR)
def test_one_covariate_agrees_with_the_formula(way):
    X, y = survey()
    x, y = np.clip(X[:, :1], 0, 5), np.clip(y, -5, 15)
    slope = np.cov(x[:, 0], y)[0, 1] / np.var(x[:, 0], ddof=1)
    found = fitted(way, X[:, :1], y, epsilon=LARGE, bounds_X=(0, 5))
    assert found.coef_[0] == pytest.approx(slope, abs=TOLERANCE.get(way, 5e-4))


def huber_by_statsmodels(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return intercept and coefficients with the scale fixed at 1, as the threshold is ours."""
    fit = sm.RLM(y, sm.add_constant(X), M=sm.robust.norms.HuberT(t=THRESHOLD)).fit(
        start_scale=1.0, update_scale=False, maxiter=500, tol=1e-12
    )
    return np.asarray(fit.params)


def huber_by_minimising(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(X)), X])

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        residual = design @ beta - y
        psi = np.clip(residual, -THRESHOLD, THRESHOLD)
        return float(np.sum(psi * residual - psi**2 / 2)), design.T @ psi

    start = np.linalg.lstsq(design, y, rcond=None)[0]
    done = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-6})
    return np.asarray(done.x)


def test_the_two_references_for_huber_agree():
    X, y = survey()
    X = np.clip(X, LOW, HIGH)
    assert np.allclose(huber_by_statsmodels(X, y), huber_by_minimising(X, y), atol=1e-5)


@pytest.mark.parametrize("way", HUBER)
@pytest.mark.parametrize("epsilon", [800, LARGE])
def test_huber_agrees_with_statsmodels_on_clipped_data(way, epsilon):
    X, y = survey()
    intercept, *coef = huber_by_statsmodels(np.clip(X, LOW, HIGH), y)
    found = fitted(way, X, y, epsilon=epsilon)
    agrees(found, coef, intercept, 5e-4 if epsilon == LARGE else 0.02)


@pytest.mark.parametrize("way", HUBER)
def test_huber_needs_no_bounds_of_the_response(way):
    X, y = survey()
    intercept, *coef = huber_by_statsmodels(np.clip(X, LOW, HIGH), y + 100)
    found = fitted(way, X, y + 100, epsilon=800, bounds_y=..., coef_bound=...)
    agrees(found, coef, intercept, 0.02)


def test_public_bounds_of_the_response_tell_huber_where_it_lies():
    # Ten thousand thresholds from 0 the ridge wins and the intercept is far off; with bounds that
    # have y near their middle, wide as they are, it is not.
    X, y = survey()
    far = y + 10_000 * THRESHOLD
    intercept, *coef = huber_by_statsmodels(np.clip(X, LOW, HIGH), far)
    without = fitted("huber", X, far, epsilon=1, bounds_y=...)
    assert abs(without.predict([LOW])[0] - intercept - LOW @ coef) > 1000 * THRESHOLD
    agrees(fitted("huber", X, far, epsilon=1, bounds_y=(0, 8000)), coef, intercept, 2)


def test_huber_with_a_large_threshold_is_least_squares():
    X, y = survey()
    plain = LinearRegression().fit(np.clip(X, LOW, HIGH), y)
    found = fitted("huber", X, y, epsilon=800, threshold=1000)
    agrees(found, plain.coef_, plain.intercept_, 5)
    nearer = fitted("huber", X, y, epsilon=800, threshold=100)
    agrees(nearer, plain.coef_, plain.intercept_, 0.5)


@pytest.mark.parametrize(("way", "norm"), NORMED)
def test_every_norm_agrees(way, norm):
    X, y = survey()
    auto = fitted(way, X, y, epsilon=800)
    named = fitted(way, X, y, epsilon=800, norm=norm)
    agrees(named, auto.coef_, auto.intercept_, 0.1)


@pytest.mark.parametrize("way", QUANTILE)
@pytest.mark.parametrize("tau", [0.2, 0.5])
def test_quantiles_agree_with_statsmodels_on_clipped_data(way, tau):
    # The minimiser need not be unique, its loss is.
    X, y = survey()
    x, y = np.clip(X[:, :1], 0, 5), np.clip(y, -5, 15)
    plain = sm.QuantReg(y, sm.add_constant(x)).fit(q=tau, max_iter=5000)
    found = fitted(way, X[:, :1], y, quantile=tau, epsilon=LARGE, bounds_X=(0, 5))

    def loss(predicted: np.ndarray) -> float:
        return float(np.mean(np.maximum(tau * (y - predicted), (tau - 1) * (y - predicted))))

    assert loss(found.predict(x)) == pytest.approx(loss(plain.predict()), rel=1e-4)


@pytest.mark.parametrize("way", LINEAR + HUBER)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_an_ordinary_budget_gives_a_useful_fit(way, relation):
    # 20 000 records and epsilon 2: predictions within a tenth of the range of y.
    X, y = survey(20_000)
    plain = LinearRegression().fit(np.clip(X, LOW, HIGH), np.clip(y, -5, 15))
    found = fitted(way, X, y, epsilon=2, neighbours=relation)
    limit = 8 if way == "linear exponential" else 2
    agrees(found, plain.coef_, plain.intercept_, limit)


@pytest.mark.parametrize("way", LINEAR + HUBER)
def test_more_budget_means_less_noise(way):
    X, y = survey()
    X = np.clip(X, LOW, HIGH)
    middle = (LOW + HIGH) / 2

    def spread(epsilon: float) -> float:
        drawn = [
            fitted(way, X, y, epsilon=epsilon, random_state=seed).predict([middle])[0]
            for seed in range(12)
        ]
        return float(np.std(drawn))

    assert spread(0.5) > 3 * spread(50)
