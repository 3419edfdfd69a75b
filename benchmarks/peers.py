"""Other libraries, timed in a process and an environment of their own, if there is one.

Set KNG_PEERS to the Python of an environment that has diffprivlib, opendp or both:

    python -m venv peers && peers/bin/pip install diffprivlib opendp
    KNG_PEERS=peers/bin/python make bench

They are never dependencies. Each line that comes back is a ratio to NumPy, measured in the same
process as the NumPy call it is compared with.
"""

from __future__ import annotations

import os
import subprocess

_SCRIPT = """
import sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
n, low, high = int(sys.argv[1]), 0.0, 200000.0
x = np.random.default_rng(0).lognormal(10, 1, n)

def best(call, rounds):
    found = float("inf")
    for _ in range(rounds):
        start = time.perf_counter(); call(); found = min(found, time.perf_counter() - start)
    return found

rounds = 3 if n > 10**6 else 5
base = {"mean": best(x.mean, rounds), "median": best(lambda: np.quantile(x, 0.5), rounds)}
try:
    from diffprivlib import tools
    for name, call in (
        ("mean", lambda: tools.mean(x, epsilon=1, bounds=(low, high))),
        ("median", lambda: tools.median(x, epsilon=1, bounds=(low, high))),
    ):
        print("diffprivlib", name, best(call, rounds) / base[name])
except ImportError:
    pass
try:
    import opendp.prelude as dp
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n)
    space = domain, dp.symmetric_distance()
    clamp = space >> dp.t.then_clamp((low, high))
    mean = clamp >> dp.t.then_mean() >> dp.m.then_laplace((high - low) / n)
    print("opendp", "mean", best(lambda: mean(x), rounds) / base["mean"])
    grid = np.linspace(low, high, 1025)
    scores = space >> dp.t.then_quantile_score_candidates(grid, alpha=0.5)
    pick = scores >> dp.m.then_noisy_max(dp.max_divergence(), 2.0, negate=True)
    print("opendp", "median", best(lambda: grid[pick(x)], rounds) / base["median"])
except ImportError:
    pass
except Exception as error:
    print("opendp", "skipped:", type(error).__name__, file=sys.stderr)
"""


def ratios(n: int) -> list[tuple[str, str, float]]:
    """Return (library, statistic, ratio to NumPy) for the peers that are present."""
    python = os.environ.get("KNG_PEERS")
    if not python:
        return []
    run = subprocess.run(
        [python, "-c", _SCRIPT, str(n)], capture_output=True, text=True, check=False, timeout=900
    )
    rows = [line.split() for line in run.stdout.splitlines()]
    return [(library, statistic, float(ratio)) for library, statistic, ratio in rows]
