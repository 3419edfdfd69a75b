"""Print how accurate and how quick nine deciles are, drawn together and one by one.

    python docs/tables/quantiles.py [replicates]

Records are normal with standard deviation 5, between public bounds of -100 and 100, epsilon = 1.
The error of an answer is how many records its rank is off, on average over deciles and seeded
replicates. Times are CPU times of one release, the calls in turn, as ratios to one median: the
median over rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

import kng

DECILES = [k / 10 for k in range(1, 10)]
OPTIONS: dict[str, Any] = {"bounds": (-100, 100), "epsilon": 1}
ROUNDS = 11


def rank_error(n: int, replicates: int, sampler: str) -> float:
    """Return by how many records answers are off."""
    found = []
    for seed in range(replicates):
        x = np.random.default_rng([n, seed]).normal(0, 5, n)
        value = kng.quantile(x, DECILES, sampler=sampler, random_state=seed, **OPTIONS).value
        found.append(np.abs(np.searchsorted(np.sort(x), value) - np.array(DECILES) * n))
    return float(np.mean(found))


def ratios(records: Any, **options: Any) -> tuple[float, float]:
    """Return the CPU time of one median in milliseconds, and that of nine deciles in medians."""
    asked = {**OPTIONS, **options}
    calls: list[Callable[[], Any]] = [
        lambda: kng.median(records, **asked),
        lambda: kng.quantile(records, DECILES, **asked),
    ]
    times = []
    for _ in range(ROUNDS + 1):
        row = []
        for call in calls:
            start = process_time()
            for _ in range(3):
                call()
            row.append((process_time() - start) / 3)
        times.append(row)
    kept = np.array(times[1:])  # the first round fills caches
    return float(np.median(kept[:, 0]) * 1e3), float(np.median(kept[:, 1] / kept[:, 0]))


def main(replicates: int) -> None:
    """Print both tables."""
    for n in (10**3, 10**4):
        both = [rank_error(n, replicates, sampler) for sampler in ("auto", "order")]
        print(f"n = {n}: together {both[0]:.1f} records, one by one {both[1]:.1f}", flush=True)
    rng = np.random.default_rng(1)
    for n in (10**3, 10**4, 10**5, 10**6):
        x = rng.normal(0, 5, n)
        hard: dict[str, tuple[Any, dict[str, Any]]] = {
            "normal": (x, {}),
            "whole numbers": (np.rint(x), {"granularity": 1}),
            "all equal": (np.full(n, 7.0), {}),
        }
        for name, (records, options) in hard.items():
            one, nine = ratios(records, **options)
            print(f"n = {n}, {name}: median {one:.2f} ms, deciles {nine:.1f} times", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
