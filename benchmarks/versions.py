"""This version beside an earlier one, in processes of their own, if there is a checkout of it.

Set KNG_BEFORE to the sources of the earlier version:

    git worktree add ../before e301d72
    KNG_BEFORE=../before/src make bench
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.timing import HEAD, Call, Ratio, line, measure

_SETTING = """
import numpy as np, kng
x = np.random.default_rng(0).lognormal(10, 1, 1000)
def median(): kng.median(x, bounds=(0, 200_000), epsilon=1)
"""
_PLANE = """
import numpy as np, kng
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (10**6, 11))
y = X @ np.linspace(-1, 1, 11) + rng.normal(size=10**6)
for seed in range(5): kng.HuberRegressor(epsilon=1, threshold=1, bounds_X=(-1, 1)).fit(X, y)
"""
# What a process does, and the bar on its CPU time relative to the earlier version's.
DONE = {
    "import kng": ("import kng", 1.05),
    "a process with one median": (f"{_SETTING}median()", 1.05),
    "a process with 300 medians": (f"{_SETTING}for _ in range(300): median()", 0.5),
    "five Huber fits, n = 10^6, d = 12": (_PLANE, 1.1),
}


def main() -> int:
    """Print the table and return how many bars are missed."""
    before = os.environ.get("KNG_BEFORE")
    if not before:
        return 0
    print(f"\nthis version / the one before, CPU time of whole processes\n\n{'':<34}{HEAD}")
    missed = 0
    for name, (code, bar) in DONE.items():
        now = str(Path(__file__).parent.parent / "src")
        times = measure({"now": _running(code, now), "before": _running(code, before)})
        missed += line(name, Ratio(times["now"], times["before"]), bar)
    return missed


def _running(code: str, sources: str) -> Call:
    environment = {**os.environ, "PYTHONPATH": sources}
    return lambda: subprocess.run([sys.executable, "-c", code], check=True, env=environment)
