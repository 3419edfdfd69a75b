"""Print what privacy costs quantile regression with many columns, at epsilon = 1.

    pip install statsmodels
    python docs/tables/smoothed_quantiles.py [replicates]

Covariates are uniform in [-1, 1] with these public bounds, coefficients uniform in [-1, 1] too,
y = 0.5 + sum of coefficients * x + e with standard normal e, and bounds_y = (-10, 10). The error of
a fit is the root mean square, over uniform covariates, of its plane's distance to the true
conditional quantile; shown is its root mean square over seeded replicates, beside that of
statsmodels' fit on the same records. Times are processor seconds of one fit.
"""

from __future__ import annotations

import sys
import time
import warnings
from itertools import product

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.stats import norm

import kng

Array = NDArray[np.float64]

SIZES = ((8, 10**5), (12, 10**5), (8, 10**4))
TAUS = (0.5, 0.25, 0.9)


def data(d: int, n: int, tau: float, replicate: int) -> tuple[Array, Array, Array]:
    """Return covariates, responses, and the true plane (intercept first)."""
    rng = np.random.default_rng([d, n, replicate])
    X, slopes = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, d)
    return X, 0.5 + X @ slopes + rng.normal(size=n), np.r_[0.5 + norm.ppf(tau), slopes]


def distance(plane: Array, truth: Array) -> float:
    """Return the root mean square of a difference of planes; E x^2 = 1/3."""
    first, *rest = (plane - truth) ** 2
    return float(np.sqrt(first + sum(rest) / 3))


def main() -> None:
    """Print the table."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("| columns | n | τ | not private | private | bandwidth | time | time, not private |")
    print("| --- " * 8 + "|")
    for (d, n), tau in product(SIZES, TAUS):
        found = np.empty((replicates, 5))
        for k in range(replicates):
            X, y, truth = data(d, n, tau, k)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plain = sm.QuantReg(y, sm.add_constant(X)).fit(q=tau, max_iter=10_000)
            middle = time.process_time()
            model = kng.QuantileRegressor(
                quantile=tau, epsilon=1, bounds_X=(-1, 1), bounds_y=(-10, 10), random_state=k
            ).fit(X, y)
            end = time.process_time()
            private = np.r_[model.intercept_, model.coef_]
            found[k, :2] = distance(plain.params, truth), distance(private, truth)
            found[k, 2:] = model.smoothing_, end - middle, middle - start
        public, noisy = np.sqrt(np.mean(found[:, :2] ** 2, axis=0))
        width, ours, theirs = np.median(found[:, 2:], axis=0)
        print(
            f"| {d} | {n:,} | {tau} | {public:.4f} | {noisy:.4f} ({noisy / public - 1:+.0%}) | "
            f"{width:.2f} | {ours:.1f} s | {theirs:.1f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
