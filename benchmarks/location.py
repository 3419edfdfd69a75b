"""Means and quantiles beside NumPy's own."""

from __future__ import annotations

import numpy as np

import kng
from benchmarks.peers import ratios
from benchmarks.timing import best_seconds, extra_bytes

BOUNDS = (0, 200_000)
SIZES = (10**3, 10**5, 10**7)
# What the project promises at ten million records.
PROMISED = {"median": 1.5, "mean": 4.0}


def main() -> None:
    print("private / NumPy, best of several interleaved rounds; extra memory / data\n")
    print(f"{'records':>10}  {'':<8}{'NumPy':>12}{'kng':>12}{'ratio':>9}{'memory':>9}")
    for n in SIZES:
        x = np.random.default_rng(0).lognormal(10, 1, n)
        private = {
            "median": lambda x=x: kng.median(x, bounds=BOUNDS, epsilon=1),
            "mean": lambda x=x: kng.mean(x, bounds=BOUNDS, epsilon=1),
        }
        plain = {"median": lambda x=x: np.quantile(x, 0.5), "mean": lambda x=x: x.mean()}
        calls = {f"kng {k}": c for k, c in private.items()} | plain
        times = best_seconds(calls, rounds=9 if n > 10**6 else 25)
        for name, call in private.items():
            ratio = times[f"kng {name}"] / times[name]
            memory = extra_bytes(call) / x.nbytes
            promise = f"   promised <= {PROMISED[name]}" if n == SIZES[-1] else ""
            print(
                f"{n:>10}  {name:<8}{1e3 * times[name]:>9.3f} ms"
                f"{1e3 * times[f'kng {name}']:>9.3f} ms{ratio:>9.2f}{memory:>9.3f}{promise}"
            )
        for library, statistic, ratio in ratios(n):
            print(f"{n:>10}  {statistic:<8}{'':>12}{library:>12}{ratio:>9.2f}")
