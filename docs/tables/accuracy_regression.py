"""Print the accuracy table of docs/regression.md.

    python docs/tables/accuracy_regression.py

The paper's Algorithm 1 with public bounds in place of R = max |Y|: d = 12, epsilon = 1, errors of
standard deviation 1. Shown are the median and, in brackets, the 90th percentile of the Euclidean
distance to the truth over 50 seeded replicates. The paper averages; KNG on the whole space
has polynomial tails (three degrees of freedom), and where data are few its mean is that of a few
far draws.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

import kng

Array = NDArray[np.float64]

TRUTH = np.r_[0, -1 + 2 * np.arange(11) / 11]  # intercept first
REPLICATES = 50
SIZES = (10**3, 10**4, 10**5)
COMMON = {"epsilon": 1, "bounds_X": (-1, 1)}
SQUARES = {**COMMON, "bounds_y": (-8, 8)}

METHODS = {
    "ordinary least squares, not private": None,
    "`LinearRegression`, exponential mechanism, `coef_bound=8`": (
        kng.LinearRegression,
        {**SQUARES, "coef_bound": 8, "mechanism": "exponential"},
    ),
    "`LinearRegression`, KNG on the paper's ball, `coef_bound=8`": (
        kng.LinearRegression,
        {**SQUARES, "coef_bound": 8, "mechanism": "kng"},
    ),
    "`LinearRegression`, KNG without a bound": (
        kng.LinearRegression,
        {**SQUARES, "mechanism": "kng"},
    ),
    "`LinearRegression`, objective perturbation, `coef_bound=8`": (
        kng.LinearRegression,
        {**SQUARES, "coef_bound": 8, "mechanism": "objective"},
    ),
    "`HuberRegressor`, `threshold=0.5`": (kng.HuberRegressor, {**COMMON, "threshold": 0.5}),
    "`HuberRegressor`, `threshold=1`": (kng.HuberRegressor, {**COMMON, "threshold": 1}),
    "`HuberRegressor`, `threshold=2`": (kng.HuberRegressor, {**COMMON, "threshold": 2}),
}


def data(n: int, replicate: int) -> tuple[Array, Array]:
    """Return covariates and responses."""
    rng = np.random.default_rng([n, replicate])
    X = rng.uniform(-1, 1, (n, 11))
    return X, X @ TRUTH[1:] + TRUTH[0] + rng.normal(size=n)


def estimate(method: str, X: Array, y: Array, seed: int) -> Array:
    """Return the intercept and the coefficients."""
    recipe = METHODS[method]
    if recipe is None:
        return np.asarray(np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y)[0])
    kind, settings = recipe
    model = kind(**settings, random_state=seed).fit(X, y)
    return np.r_[model.intercept_, model.coef_]


def main() -> None:
    """Print the table."""
    found: dict[str, list[str]] = {method: [] for method in METHODS}
    for n in SIZES:
        errors: dict[str, list[float]] = {method: [] for method in METHODS}
        for replicate in range(REPLICATES):
            X, y = data(n, replicate)
            for method in METHODS:
                off = estimate(method, X, y, replicate) - TRUTH
                errors[method].append(float(np.linalg.norm(off)))
        for method, distances in errors.items():
            middle, high = np.quantile(distances, [0.5, 0.9])
            found[method].append(f"{middle:.3f} ({high:.3f})")
        print(f"n = {n:,} done", file=sys.stderr, flush=True)
    print(f"| d = 12, epsilon = 1 | {' | '.join(f'n = {n:,}' for n in SIZES)} |")
    print(f"| --- |{' --- |' * len(SIZES)}")
    for method, cells in found.items():
        print(f"| {method} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
