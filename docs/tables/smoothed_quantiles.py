"""Print what privacy costs quantile regression with many columns, at epsilon = 1.

    pip install statsmodels
    python docs/tables/smoothed_quantiles.py [replicates]

Covariates are uniform in [-1, 1] with these public bounds, coefficients uniform in [-1, 1] too,
y = 0.5 + sum of coefficients * x + e with standard normal e, and bounds_y = (-10, 10). Where the
signal is strong coefficients are ten times as large, which explains 99 % of y, and bounds_y are
(-100, 100), or (-10000, 10000) where they are "wide". The error of
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

SIZES = ((8, 10**5), (12, 10**5), (8, 10**4), (12, 10**4))
TAUS = (0.5, 0.25, 0.9)
# Size of the coefficients, and bounds of y.
SIGNALS = {"ordinary": (1, 10), "strong": (10, 100), "strong, wide": (10, 10_000)}


def data(d: int, n: int, tau: float, size: float, replicate: int) -> tuple[Array, Array, Array]:
    """Return covariates, responses, and the true plane (intercept first)."""
    rng = np.random.default_rng([d, n, replicate])
    X, slopes = rng.uniform(-1, 1, (n, d)), size * rng.uniform(-1, 1, d)
    return X, 0.5 + X @ slopes + rng.normal(size=n), np.r_[0.5 + norm.ppf(tau), slopes]


def distance(plane: Array, truth: Array) -> float:
    """Return the root mean square of a difference of planes; E x^2 = 1/3."""
    first, *rest = (plane - truth) ** 2
    return float(np.sqrt(first + sum(rest) / 3))


def main() -> None:
    """Print the table."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("| columns | n | τ | signal | not private | private | bandwidth | time |")
    print("| --- " * 8 + "|")
    for (d, n), tau in product(SIZES, TAUS):
        public = np.array([plain(d, n, tau, k) for k in range(replicates)])
        for name, (size, bound) in SIGNALS.items():
            found = np.empty((replicates, 3))
            for k in range(replicates):
                X, y, truth = data(d, n, tau, size, k)
                start = time.process_time()
                model = kng.QuantileRegressor(
                    quantile=tau, epsilon=1, bounds_X=(-1, 1), bounds_y=(-bound, bound),
                    random_state=k,
                ).fit(X, y)  # fmt: skip
                end = time.process_time()
                plane = np.r_[model.intercept_, model.coef_]
                found[k] = distance(plane, truth), model.smoothing_, end - start
            usual, ours = (np.sqrt(np.mean(v**2)) for v in (public, found[:, 0]))
            width, seconds = np.median(found[:, 1:], axis=0)
            print(
                f"| {d} | {n:,} | {tau} | {name} | {usual:.4f} | {ours:.4f} "
                f"({ours / usual - 1:+.0%}) | {width:.2f} | {seconds:.1f} s |",
                flush=True,
            )


def plain(d: int, n: int, tau: float, replicate: int) -> float:
    """Return the error of statsmodels' fit: the same for any size of the coefficients."""
    X, y, truth = data(d, n, tau, 1, replicate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return distance(
            sm.QuantReg(y, sm.add_constant(X)).fit(q=tau, max_iter=10_000).params, truth
        )


if __name__ == "__main__":
    main()
