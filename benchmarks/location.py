"""Means and quantiles beside NumPy's own, and the time it takes to import the package."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import kng
from benchmarks.peers import ratios
from benchmarks.timing import HEAD, Call, Ratio, extra_bytes, line, measure

BOUNDS = (0, 200_000)
SIZES = (10**3, 10**5, 10**7)
DECILES = [k / 10 for k in range(1, 10)]
# Bars on ratios to NumPy; the mean's is for processors with AVX-512, elsewhere it is 4.
BARS = {("median", 10**3): 40, ("median", 10**7): 0.75, ("mean", 10**7): 2}
DECILES_BAR = 10


def main() -> int:
    """Print the table and return how many bars are missed."""
    print(f"private / NumPy, medians of interleaved rounds of CPU time\n\n{'':<34}{HEAD}")
    missed = 0
    for n in SIZES:
        x = np.random.default_rng(0).lognormal(10, 1, n)
        calls = {
            "median": lambda x=x: kng.median(x, bounds=BOUNDS, epsilon=1),
            "mean": lambda x=x: kng.mean(x, bounds=BOUNDS, epsilon=1),
            "numpy median": lambda x=x: np.quantile(x, 0.5),
            "numpy mean": x.mean,
            "deciles": lambda x=x: kng.quantile(x, DECILES, bounds=BOUNDS, epsilon=1),
        }
        times = measure(calls)
        for name in ("median", "mean"):
            ratio = Ratio(times[name], times[f"numpy {name}"])
            missed += line(f"{name}, n = {n}", ratio, BARS.get((name, n)))
        nine = Ratio(times["deciles"], times["median"])
        missed += line(f"nine deciles / median, n = {n}", nine, DECILES_BAR if n == 10**3 else None)
        for name in ("median", "mean"):
            print(f"  extra memory / data, {name}: {extra_bytes(calls[name]) / x.nbytes:.3f}")
        for library, statistic, ratio in ratios(n):
            line(f"  {library} {statistic} / NumPy, n = {n}", ratio)
    _other_containers()
    imported = measure({code: _running(code) for code in ("import kng", "pass")})
    line("import kng / an idle Python", Ratio(imported["import kng"], imported["pass"]))
    return missed


def _other_containers() -> None:
    """Print means of float32 and of a list."""
    narrow = np.random.default_rng(0).lognormal(10, 1, 10**7).astype(np.float32)
    cells = narrow[: 10**6].astype(float).tolist()
    times = measure(
        {
            "float32": lambda: kng.mean(narrow, bounds=BOUNDS, epsilon=1),
            "numpy float32": narrow.mean,
            "list": lambda: kng.mean(cells, bounds=BOUNDS, epsilon=1),
            "numpy list": lambda: np.asarray(cells).mean(),
        }
    )
    line("mean of float32, n = 10000000", Ratio(times["float32"], times["numpy float32"]))
    line("mean of a list, n = 1000000", Ratio(times["list"], times["numpy list"]))


def _running(code: str) -> Call:
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)
