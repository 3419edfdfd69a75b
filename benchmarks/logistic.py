"""Logistic regression beside statsmodels and scikit-learn: CPU time, in turn.

    python -m benchmarks.logistic

One covariate and an intercept beside statsmodels' Logit, 12 covariates beside scikit-learn's lbfgs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression

import kng
from benchmarks.timing import HEAD, Ratio, line, measure

RECORDS = 100_000
# (name, columns, mechanism, peer, largest ratio that was promised)
ROWS = [
    ("1 covariate, KNG", 1, "kng", "statsmodels", 3.0),
    ("1 covariate, default", 1, "auto", "statsmodels", 3.0),
    ("12 covariates, default", 12, "auto", "scikit-learn", 3.0),
]


def fits(columns: int, mechanism: str, peer: str) -> dict[str, Any]:
    """Return our fit and that of a peer, on the same records."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (RECORDS, columns))
    y = (0.3 + X @ np.linspace(1, -1, columns) > rng.logistic(size=RECORDS)).astype(int)
    ours = kng.LogisticRegression(
        epsilon=1, classes=(0, 1), bounds_X=(-1, 1), mechanism=mechanism, random_state=1
    )
    theirs = {
        "statsmodels": lambda: sm.Logit(y, sm.add_constant(X)).fit(disp=0),
        "scikit-learn": lambda: LogisticRegression(C=1e6).fit(X, y),
    }
    return {"ours": lambda: ours.fit(X, y), "theirs": theirs[peer]}


def main() -> int:
    """Print the table and return how many bars are missed."""
    print(f"\nlogistic regression, {RECORDS:,} records, epsilon 1\n\n{'':<34}{HEAD}")
    missed = 0
    for name, columns, mechanism, peer, bar in ROWS:
        found = measure(fits(columns, mechanism, peer))
        missed += line(f"{name} / {peer}", Ratio(found["ours"], found["theirs"]), bar)
    return missed


if __name__ == "__main__":
    main()
