"""Private quantile regression beside statsmodels' QuantReg, which protects nobody."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
from statsmodels.regression.quantile_regression import QuantReg

import kng
from benchmarks.timing import HEAD, Ratio, line, measure

# (records, coefficients, bar)
SIZES = [(10**5, 2, 1.0), (10**6, 2, 2.0), (10**4, 3, 10.0), (10**4, 4, None)]
PROMISED_MEMORY = 3.0

_FIRST_CALL = """
import time
import numpy as np
import kng
X = np.random.default_rng(0).uniform(-1, 1, (1000, 1))
times = []
for _ in range(2):
    start = time.perf_counter()
    kng.QuantileRegressor(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(X, X[:, 0])
    times.append(time.perf_counter() - start)
print(times[0] - times[1])
"""

# Compiled code allocates where Python cannot see it, so the system is asked for the peak (Linux),
# which begins anew here: a process is born with the peak of its parent.
_MEMORY = """
import re
import kng
from benchmarks.quantile_regression import records
model = kng.QuantileRegressor(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1))
model.fit(*records(1000, {d}))
X, y = records(10**6, {d})
def peak():
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(r"VmHWM:\\s+([0-9]+)", status.read())[1])
with open("/proc/self/clear_refs", "w") as peaks:
    peaks.write("5")
before = peak()
model.fit(X, y)
print((peak() - before) / (X.nbytes + y.nbytes))
"""


def records(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d - 1))
    return X, 0.1 + X @ np.linspace(0.2, 0.3, d - 1) + 0.1 * rng.normal(size=n)


def main() -> int:
    """Print the table and return how many bars are missed."""
    warnings.simplefilter("ignore")  # statsmodels warns about iterations
    model = kng.QuantileRegressor(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1))
    print(f"\nquantile regression, private / statsmodels, tau 0.5, epsilon 1\n\n{'':<34}{HEAD}")
    missed = 0
    for n, d, bar in SIZES:
        X, y = records(n, d)
        design = np.column_stack([np.ones(n), X])
        times = measure(
            {
                "private": lambda X=X, y=y: model.fit(X, y),
                "plain": lambda design=design, y=y: QuantReg(y, design).fit(q=0.5),
            }
        )
        missed += line(f"n = {n}, d = {d}", Ratio(times["private"], times["plain"]), bar)
    for d in (2, 3):
        print(
            f"peak of the process / data at n = 10^6, d = {d}: {printed(_MEMORY.format(d=d)):.2f}"
            f"   promised <= {PROMISED_MEMORY:g}"
        )
    first = printed(_FIRST_CALL)
    print(f"first fit of a process, beyond its second: {first:.2f} s   promised <= 3")
    return missed


def printed(code: str) -> float:
    """Return the number that a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
