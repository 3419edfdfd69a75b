"""Mean errors on the paper's data, d = 12 and epsilon = 1, over fifty replicates.

Algorithm 1 of the paper: covariates uniform in [-1, 1], a truth from -1 to 1, errors of standard
deviation 1. Least squares has the paper's own bounds, R = max |Y| read from the data, which is not
private; Huber has none for y. docs/regression.md has the same numbers as a table.
"""

from __future__ import annotations

import numpy as np
import pytest

import kng

TRUTH = np.r_[0, -1 + 2 * np.arange(11) / 11]  # intercept first: the paper's column of ones
REPLICATES = 50
COMMON = {"epsilon": 1, "bounds_X": (-1, 1)}

MODELS = {
    "KNG on the paper's ball": lambda reach: kng.LinearRegression(
        **COMMON, bounds_y=(-reach, reach), coef_bound=reach, mechanism="kng"
    ),
    "default": lambda reach: kng.LinearRegression(**COMMON, bounds_y=(-reach, reach)),
    "Huber, half the errors' spread": lambda _: kng.HuberRegressor(**COMMON, threshold=0.5),
    "Huber, the errors' spread": lambda _: kng.HuberRegressor(**COMMON, threshold=1),
    "Huber, twice the errors' spread": lambda _: kng.HuberRegressor(**COMMON, threshold=2),
}
# What is promised; the paper's density as printed has 0.66, no privacy 0.057 and 0.018.
PROMISED = {
    ("KNG on the paper's ball", 10**4): 0.37,
    ("default", 10**4): 0.37,
    ("Huber, half the errors' spread", 10**4): 0.10,
    ("Huber, the errors' spread", 10**4): 0.10,
    ("Huber, twice the errors' spread", 10**4): 0.10,
    ("Huber, half the errors' spread", 10**5): 0.025,
    ("Huber, the errors' spread", 10**5): 0.025,
    ("Huber, twice the errors' spread", 10**5): 0.025,
}


def mean_error(name: str, n: int) -> float:
    errors = []
    for replicate in range(REPLICATES):
        rng = np.random.default_rng([n, replicate])
        X = rng.uniform(-1, 1, (n, 11))
        y = X @ TRUTH[1:] + rng.normal(size=n)
        model = MODELS[name](float(np.abs(y).max())).set_params(random_state=replicate)
        model.fit(X, y)
        errors.append(np.linalg.norm(np.r_[model.intercept_, model.coef_] - TRUTH))
    return float(np.mean(errors))


@pytest.mark.every(2)
@pytest.mark.parametrize(("name", "n"), PROMISED)
def test_the_mean_error_is_what_is_promised(name, n):
    assert mean_error(name, n) <= PROMISED[name, n]


def test_a_mechanism_with_half_the_budget_is_not_good_enough(monkeypatch):
    """The promise is not a bound that anything would meet."""
    monkeypatch.setitem(COMMON, "epsilon", 0.5)
    assert mean_error("KNG on the paper's ball", 10**4) > 0.5
