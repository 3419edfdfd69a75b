"""Private regressions beside NumPy's normal equations and scikit-learn's Huber."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from sklearn.linear_model import HuberRegressor as PlainHuber

import kng
from benchmarks.timing import HEAD, Ratio, extra_bytes, line, measure

ROWS, FEW, COLUMNS = 10**6, 10**4, 12
MEMORY = 0.5

_FIRST_CALL = """
import time
import numpy as np
import kng
X = np.random.default_rng(0).uniform(-1, 1, (1000, 12))
times = []
for _ in range(2):
    start = time.perf_counter()
    kng.LinearRegression(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(X, X[:, 0])
    times.append(time.perf_counter() - start)
print(times[0] - times[1])
"""


def normal_equations(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.solve(X.T @ X, X.T @ y)


def main() -> int:
    """Print the table and return how many bars are missed."""
    print(f"\nregressions, private / plain, medians of interleaved rounds\n\n{'':<34}{HEAD}")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (ROWS, COLUMNS))
    y = X @ np.linspace(-1, 1, COLUMNS) + rng.normal(size=ROWS)
    facts = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-8, 8)}
    least = kng.LinearRegression(**facts, fit_intercept=False, mechanism="kng")
    default = kng.LinearRegression(**facts)
    huber = kng.HuberRegressor(epsilon=1, threshold=1, bounds_X=(-1, 1))
    small = X[:FEW], y[:FEW]
    times = measure(
        {
            "private": lambda: least.fit(X, y),
            "default": lambda: default.fit(X, y),
            "plain": lambda: normal_equations(X, y),
        }
    ) | measure(
        {
            "private huber": lambda: huber.fit(*small),
            "plain huber": lambda: PlainHuber(max_iter=1000).fit(*small),
        }
    )
    missed = line(f"KNG, n = {ROWS}, d = {COLUMNS}", Ratio(times["private"], times["plain"]), 2)
    missed += line(f"default, n = {ROWS}, d = {COLUMNS}", Ratio(times["default"], times["plain"]))
    missed += line(
        f"Huber, n = {FEW}, d = {COLUMNS}", Ratio(times["private huber"], times["plain huber"]), 1.3
    )
    data = X.nbytes + y.nbytes
    for name, call in (("least squares", least.fit), ("huber", huber.fit)):
        memory = extra_bytes(lambda call=call: call(X, y)) / data
        print(f"{name:<14}extra memory / data {memory:>8.3f}   promised <= {MEMORY}")
    first = subprocess.run(
        [sys.executable, "-c", _FIRST_CALL], capture_output=True, text=True, check=True
    )
    print(f"first fit of a process, beyond its second: {float(first.stdout):.2f} s   promised <= 3")
    return missed
