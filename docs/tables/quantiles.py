"""Print how accurate and how quick several quantiles are, drawn together and one by one.

    python docs/tables/quantiles.py [replicates]         nine deciles
    python docs/tables/quantiles.py many                 9, 33, 99 and 200 quantiles, with memory

Records are normal with standard deviation 5, between public bounds of -100 and 100, epsilon = 1.
The error of an answer is how many records its rank is off, on average over deciles and seeded
replicates. Times are CPU times of one release, the calls in turn, as ratios to one median: the
median over rounds. Of many quantiles the time is the least of three calls after the first, and the
memory what a process of its own took at most beyond what it had before them.
"""

from __future__ import annotations

import resource
import subprocess
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


def many(m: int, n: int, kind: str, epsilon: float) -> None:
    """Print error, time and memory of m quantiles, equally far apart."""
    rng = np.random.default_rng([m, n])
    x = {"normal": rng.normal(0, 5, n), "whole numbers": np.rint(rng.normal(0, 5, n))}[kind]
    q = [k / (m + 1) for k in range(1, m + 1)]
    asked = {**OPTIONS, "epsilon": epsilon}
    before, times, off = _peak(), [], []
    for seed in range(4):
        start = process_time()
        found = kng.quantile(x, q, random_state=seed, **asked)
        times.append(process_time() - start)
        off.append(_off(x, q, found.value))
    megabytes, apart = _peak() - before, []
    for seed in range(4):
        found = kng.quantile(x, q, sampler="order", random_state=seed, **asked)
        apart.append(_off(x, q, found.value))
    print(
        f"m = {m}, n = {n}, {kind}, epsilon = {epsilon:g}: {min(times[1:]):.3f} s, first call "
        f"{times[0]:.1f} s, {megabytes:.0f} MB; off by {np.mean(off):.1f} records, one by one "
        f"{np.mean(apart):.0f}",
        flush=True,
    )


def _off(x: Any, q: list[float], value: Any) -> float:
    """Return how many records the ranks of answers are off; ties count on either side."""
    ranks, wanted = np.sort(x), np.array(q) * len(x)
    low, high = (np.searchsorted(ranks, value, side=side) for side in ("left", "right"))
    return float(np.maximum(np.maximum(low - wanted, wanted - high), 0).mean())


def _peak() -> float:
    """Return the largest size of this process, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


MANY = (
    *((m, 10**4, "normal", 1) for m in (9, 33, 99, 200)),
    *((m, 10**4, "whole numbers", 1) for m in (99, 200)),
    *((m, 10**5, "normal", 0.1) for m in (99, 200)),
    *((m, 10**6, "normal", 1) for m in (99, 200)),
)


if __name__ == "__main__":
    if sys.argv[1:2] == ["many"] and len(sys.argv) > 2:
        many(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
    elif sys.argv[1:2] == ["many"]:
        for case in MANY:
            subprocess.run([sys.executable, __file__, "many", *map(str, case)], check=True)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
