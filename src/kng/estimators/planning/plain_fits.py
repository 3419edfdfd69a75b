"""Fits without privacy, for simulated records: what a dry run compares with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kng.core.errors import SpecError
from kng.estimators.expectile import ExpectileRegressor
from kng.estimators.huber import HuberRegressor
from kng.estimators.linear import LinearRegression
from kng.estimators.logistic import LogisticRegression
from kng.estimators.planning.declared import Array
from kng.estimators.poisson import PoissonRegressor
from kng.estimators.quantile_regression import QuantileRegressor

_STEPS = 50
# Logarithms of means beyond this are cut off while a fit is under way.
_STEEP = 40.0


def plain_fit(model: Any, X: Array, y: Any) -> Array:
    """Return the intercept, if there is one, and the coefficients that a model estimates."""
    rows = np.column_stack([np.ones(len(X)), X]) if model.fit_intercept else X
    if isinstance(model, LinearRegression):
        return np.asarray(np.linalg.lstsq(rows, y, rcond=None)[0])
    if isinstance(model, HuberRegressor):
        # A drawn threshold is three quarters of the spread of y.
        drawn = isinstance(model.threshold, str)
        threshold = 0.75 * float(np.std(y)) if drawn else float(model.threshold)
        return _huber(rows, y, threshold)
    if isinstance(model, LogisticRegression):
        return _logistic(rows, (y == model.classes[1]).astype(float))
    if isinstance(model, QuantileRegressor):
        taus = [float(v) for v in np.atleast_1d(model.quantile)]
        return np.concatenate([_quantile(rows, y, tau) for tau in taus])
    if isinstance(model, ExpectileRegressor):
        return _expectile(rows, y, float(model.expectile))
    if isinstance(model, PoissonRegressor):
        return _poisson(rows, y)
    raise SpecError(f"{type(model).__name__} has no plan yet; simulate it by hand.")


def _newton(start: Array, step: Callable[[Array], Array]) -> Array:
    theta = start
    for _ in range(_STEPS):
        change = step(theta)
        theta = theta - change
        if np.abs(change).max() < 1e-10:
            break
    return theta


def _huber(rows: Array, y: Array, threshold: float) -> Array:
    """Minimise Huber's loss by reweighted least squares."""

    def step(theta: Array) -> Array:
        residual = rows @ theta - y
        weights = np.minimum(1, threshold / np.maximum(np.abs(residual), 1e-300))
        scored = rows * weights[:, None]
        return np.asarray(np.linalg.solve(scored.T @ rows, scored.T @ residual))

    return _newton(np.asarray(np.linalg.lstsq(rows, y, rcond=None)[0], dtype=float), step)


def _logistic(rows: Array, hits: Array) -> Array:
    def step(theta: Array) -> Array:
        odds = 1 / (1 + np.exp(-rows @ theta))
        curved = (rows * (odds * (1 - odds) + 1e-12)[:, None]).T @ rows
        return np.asarray(np.linalg.solve(curved, rows.T @ (odds - hits)))

    return _newton(np.zeros(rows.shape[1]), step)


def _expectile(rows: Array, y: Array, tau: float) -> Array:
    """Minimise tilted squares by reweighted least squares."""

    def step(theta: Array) -> Array:
        residual = rows @ theta - y
        scored = rows * np.where(residual < 0, tau, 1 - tau)[:, None]
        return np.asarray(np.linalg.solve(scored.T @ rows, scored.T @ residual))

    return _newton(np.asarray(np.linalg.lstsq(rows, y, rcond=None)[0], dtype=float), step)


def _poisson(rows: Array, counts: Array) -> Array:
    """Maximise the likelihood of counts with a logarithmic link."""

    def step(theta: Array) -> Array:
        mean = np.exp(np.clip(rows @ theta, -_STEEP, _STEEP))
        curved = (rows * (mean + 1e-12)[:, None]).T @ rows
        return np.asarray(np.linalg.solve(curved, rows.T @ (mean - counts)))

    start = np.linalg.lstsq(rows, np.log(counts + 0.5), rcond=None)[0]
    return _newton(np.asarray(start, dtype=float), step)


def _quantile(rows: Array, y: Array, tau: float) -> Array:
    """Minimise the check loss as a linear program."""
    from scipy.optimize import linprog
    from scipy.sparse import eye, hstack

    n, d = rows.shape
    costs = np.concatenate([np.zeros(d), np.full(n, tau), np.full(n, 1 - tau)])
    equal = hstack([rows, eye(n), -eye(n)], format="csr")
    bounds = [(None, None)] * d + [(0, None)] * (2 * n)
    return np.asarray(linprog(costs, A_eq=equal, b_eq=y, bounds=bounds, method="highs").x[:d])
