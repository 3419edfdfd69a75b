"""Private quantile planes are about as far from the truth as those that keep no secret.

The design of docs/tables/accuracy_quantile.py, which has more replicates and larger tables.
"""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import norm

import kng


def errors(d: int, n: int, tau: float, replicates: int) -> tuple[float, float]:
    """Return root mean square distances to the true plane: private, and not."""
    slopes, found = np.array([0.5, -0.3, 0.2])[: d - 1], []
    truth = np.r_[0.2 + 0.2 * norm.ppf(tau), slopes]
    weights = np.r_[1, np.full(d - 1, 1 / 3)]  # E x^2 of a uniform covariate
    for seed in range(replicates):
        rng = np.random.default_rng([d, n, seed])
        X = rng.uniform(-1, 1, (n, d - 1))
        y = 0.2 + X @ slopes + 0.2 * rng.normal(size=n)
        model = kng.QuantileRegressor(
            quantile=tau, epsilon=1, bounds_X=(-1, 1), bounds_y=(-2, 2), random_state=seed
        ).fit(X, y)
        plain = sm.QuantReg(y, sm.add_constant(X)).fit(q=tau, max_iter=10_000).params
        planes = np.array([np.r_[model.intercept_, model.coef_], plain])
        found.append(weights @ ((planes - truth) ** 2).T)
    private, public = np.sqrt(np.mean(found, axis=0))
    return float(private), float(public)


@pytest.mark.parametrize(
    ("d", "n", "tau", "replicates", "excess"),
    [(2, 1000, 0.5, 60, 0.10), (2, 1000, 0.9, 60, 0.50), (4, 10_000, 0.5, 3, 0.30)],
)
def test_privacy_adds_little_to_the_error(d, n, tau, replicates, excess):
    private, public = errors(d, n, tau, replicates)
    assert private < (1 + excess) * public, private / public
