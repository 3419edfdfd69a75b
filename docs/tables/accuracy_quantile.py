"""Print what privacy costs quantile regression, at epsilon = 1.

    python docs/tables/accuracy_quantile.py [replicates]

Covariates are uniform in [-1, 1] with these public bounds, y = 0.2 + sum of slopes * x + 0.2 * e
with normal e, and bounds_y = (-2, 2). The error of a fit is the root mean square, over uniform
covariates, of its plane's distance to the true conditional quantile; shown is its root mean square
over seeded replicates, beside that of statsmodels' fit on the same records.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.stats import norm

import kng

Array = NDArray[np.float64]

SLOPES = np.array([0.5, -0.3, 0.2])
SPREAD = 0.2
COMMON = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-2, 2)}


@dataclass(frozen=True)
class Task:
    """Coefficients (the intercept among them), records, quantile, and the excess to stay below."""

    d: int
    n: int
    tau: float
    target: float
    replicates: int


TASKS = (
    Task(2, 10**3, 0.5, 0.10, 400),
    Task(2, 10**3, 0.9, 0.50, 400),
    Task(2, 10**4, 0.9, 0.50, 200),
    Task(4, 10**4, 0.5, 0.30, 20),
)
WAYS: dict[str, dict[str, str]] = {
    "KNG": {},
    "KNG, sup norm": {"norm": "linf"},
    "exponential": {"mechanism": "exponential"},
}


def data(task: Task, replicate: int) -> tuple[Array, Array, Array]:
    """Return covariates, responses, and the true plane (intercept first)."""
    rng = np.random.default_rng([task.d, task.n, replicate])
    slopes = SLOPES[: task.d - 1]
    X = rng.uniform(-1, 1, (task.n, task.d - 1))
    y = 0.2 + X @ slopes + SPREAD * rng.normal(size=task.n)
    return X, y, np.r_[0.2 + SPREAD * norm.ppf(task.tau), slopes]


def distance(plane: Array, truth: Array) -> float:
    """Return the root mean square of a difference of planes; E x^2 = 1/3."""
    first, *rest = (plane - truth) ** 2
    return float(np.sqrt(first + sum(rest) / 3))


def errors(task: Task, replicates: int, ways: dict[str, dict[str, str]]) -> dict[str, float]:
    """Return the root mean square error of each way, and of the fit without privacy."""
    found: dict[str, list[float]] = {name: [] for name in ("not private", *ways)}
    for replicate in range(replicates):
        X, y, truth = data(task, replicate)
        plain = sm.QuantReg(y, sm.add_constant(X)).fit(q=task.tau, max_iter=10_000)
        found["not private"].append(distance(plain.params, truth))
        for name, options in ways.items():
            model = kng.QuantileRegressor(
                quantile=task.tau, random_state=replicate, **COMMON, **options
            ).fit(X, y)
            found[name].append(distance(np.r_[model.intercept_, model.coef_], truth))
    return {name: float(np.sqrt(np.mean(np.square(row)))) for name, row in found.items()}


def main() -> None:
    """Print the table."""
    print("| d | n | tau | allowed | not private | " + " | ".join(WAYS) + " |")
    print("| --- " * (5 + len(WAYS)) + "|")
    for task in TASKS:
        replicates = int(sys.argv[1]) if len(sys.argv) > 1 else task.replicates
        found = errors(task, replicates, WAYS)
        plain = found.pop("not private")
        cells = [f"{v:.4f} ({v / plain - 1:+.0%})" for v in found.values()]
        head = [str(task.d), f"{task.n:,}", str(task.tau), f"{task.target:+.0%}", f"{plain:.4f}"]
        print("| " + " | ".join(head + cells) + " |", flush=True)


if __name__ == "__main__":
    main()
