"""Print mean errors on the paper's data with the paper's own bounds, which are not private.

    python docs/tables/paper_regression.py

Algorithm 1 of the paper, d = 12, epsilon = 1: bounds_y = +-R and coef_bound = R with R = max |Y|,
read from the data as the paper does. Shown is the mean Euclidean distance to the truth over 50
seeded replicates, with its standard error.
"""

from __future__ import annotations

import numpy as np
from accuracy_regression import COMMON, REPLICATES, TRUTH, Array, data

import kng


def errors(X: Array, y: Array, seed: int) -> dict[str, float]:
    """Return each method's distance to the truth."""
    reach = float(np.abs(y).max())
    squares = {**COMMON, "bounds_y": (-reach, reach), "random_state": seed}
    models = {
        "KNG on the paper's ball": kng.LinearRegression(
            **squares, coef_bound=reach, mechanism="kng"
        ),
        '`mechanism="kng"`, no bound': kng.LinearRegression(**squares, mechanism="kng"),
        "`LinearRegression`, `coef_bound=R`": kng.LinearRegression(**squares, coef_bound=reach),
    }
    for threshold in (0.5, 1, 2):
        name = f"`HuberRegressor`, `threshold={threshold}`, y unbounded"
        models[name] = kng.HuberRegressor(**COMMON, threshold=threshold, random_state=seed)
    found = {
        "not private": np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]
    }
    for name, model in models.items():
        model.fit(X, y)
        found[name] = np.r_[model.intercept_, model.coef_]
    return {name: float(np.linalg.norm(theta - TRUTH)) for name, theta in found.items()}


def main() -> None:
    """Print one table."""
    cells: dict[str, list[str]] = {}
    for n in (10**4, 10**5):
        runs = [errors(*data(n, replicate), replicate) for replicate in range(REPLICATES)]
        for name in runs[0]:
            values = np.array([run[name] for run in runs])
            spread = values.std(ddof=1) / REPLICATES**0.5
            cells.setdefault(name, []).append(f"{values.mean():.4f} ({spread:.4f})")
    print("| d = 12, epsilon = 1 | n = 10,000 | n = 100,000 |\n| --- | --- | --- |")
    for name, row in cells.items():
        print(f"| {name} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
