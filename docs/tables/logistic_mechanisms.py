"""Print how far logistic fits by KNG and by objective perturbation are from the truth.

    python docs/tables/logistic_mechanisms.py [replicates] [--covariates 1 2]

Covariates are uniform in [-1, 1] with these public bounds. Effects are the intercept, 0.3 of the
size, and slopes of the size with alternating signs, in log-odds. The error of a fit is the
Euclidean distance of its effects to the true ones. Shown are medians over seeded replicates: by
objective perturbation / by KNG (without privacy, cut off at 16 log-odds).
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from typing import Any

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray

import kng

Array = NDArray[np.float64]

RECORDS, EPSILONS, SIZES = (200, 2_000, 20_000), (0.2, 1.0, 5.0), (0.0, 0.5, 2.0, 5.0)
BOX = 16.0


def effects_of(covariates: int, size: float) -> Array:
    """Return the intercept, and slopes with alternating signs."""
    signs = (-1.0) ** np.arange(covariates)
    return np.r_[0.3 * size, size * signs]


def data(truth: Array, n: int, replicate: int) -> tuple[Array, Array]:
    """Return covariates and labels."""
    rng = np.random.default_rng([n, len(truth), replicate])
    X = rng.uniform(-1, 1, (n, len(truth) - 1))
    return X, (truth[0] + X @ truth[1:] > rng.logistic(size=n)).astype(int)


def plain(X: Array, y: Array) -> Array:
    """Return the effects of a fit without privacy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = sm.Logit(y, sm.add_constant(X)).fit(disp=0, maxiter=100).params
        except Exception:  # separable classes have no fit
            return np.full(X.shape[1] + 1, BOX)
    return np.clip(found, -BOX, BOX)


def private(X: Array, y: Array, epsilon: float, mechanism: str, seed: int) -> Array:
    """Return the effects of one release."""
    asked: dict[str, Any] = {"epsilon": epsilon, "mechanism": mechanism, "random_state": seed}
    model = kng.LogisticRegression(classes=(0, 1), bounds_X=(-1, 1), **asked).fit(X, y)
    return np.asarray(model.release_.value)


def main() -> None:
    """Print the table."""
    words = argparse.ArgumentParser()
    words.add_argument("replicates", type=int, nargs="?", default=100)
    words.add_argument("--covariates", type=int, nargs="+", default=[1, 2])
    asked = words.parse_args()
    print("| coefficients | n | epsilon |" + "".join(f" size {size:g} |" for size in SIZES))
    print("| --- " * (3 + len(SIZES)) + "|")
    for p, n, epsilon in product(asked.covariates, RECORDS, EPSILONS):
        cells = [compared(effects_of(p, size), n, epsilon, asked.replicates) for size in SIZES]
        print(f"| {p + 1} | {n:,} | {epsilon:g} | {' | '.join(cells)} |", flush=True)


def compared(truth: Array, n: int, epsilon: float, replicates: int) -> str:
    """Return the median errors of both mechanisms, and without privacy."""
    found = np.empty((replicates, 3))
    for k in range(replicates):
        X, y = data(truth, n, k)
        ways = [private(X, y, epsilon, mechanism, k) for mechanism in ("objective", "kng")]
        found[k] = [np.sqrt(((fit - truth) ** 2).sum()) for fit in (*ways, plain(X, y))]
    objective, gradient, own = np.median(found, axis=0)
    return f"{objective:.3f} / {gradient:.3f} ({own:.3f})"


if __name__ == "__main__":
    main()
