"""Other libraries, timed in a process and an environment of their own, if there is one.

Set KNG_PEERS to the Python of an environment that has diffprivlib, opendp or both:

    python -m venv peers && peers/bin/pip install diffprivlib opendp "scikit-learn<1.7"
    KNG_PEERS=peers/bin/python make bench

They are never dependencies. What comes back are the rounds' times, measured in the same process as
the NumPy call they are compared with.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from benchmarks.timing import Ratio

_SCRIPT = """
import json, sys, warnings
import numpy as np
from benchmarks.timing import measure
warnings.simplefilter("ignore")
n, low, high = int(sys.argv[1]), 0.0, 200000.0
x = np.random.default_rng(0).lognormal(10, 1, n)
calls = {"numpy mean": x.mean, "numpy median": lambda: np.quantile(x, 0.5)}
try:
    from diffprivlib import tools
    calls["diffprivlib mean"] = lambda: tools.mean(x, epsilon=1, bounds=(low, high))
    calls["diffprivlib median"] = lambda: tools.median(x, epsilon=1, bounds=(low, high))
except ImportError:
    pass
try:
    import opendp.prelude as dp
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n)
    space = domain, dp.symmetric_distance()
    clamp = space >> dp.t.then_clamp((low, high))
    mean = clamp >> dp.t.then_mean() >> dp.m.then_laplace((high - low) / n)
    grid = np.linspace(low, high, 1025)
    scores = space >> dp.t.then_quantile_score_candidates(grid, alpha=0.5)
    pick = scores >> dp.m.then_noisy_max(dp.max_divergence(), 2.0, negate=True)
    calls["opendp mean"] = lambda: mean(x)
    calls["opendp median"] = lambda: grid[pick(x)]
except ImportError:
    pass
print(json.dumps(measure(calls)))
"""


def ratios(n: int) -> list[tuple[str, str, Ratio]]:
    """Return (library, statistic, ratio to NumPy) for the peers that are present."""
    python = os.environ.get("KNG_PEERS")
    if not python:
        return []
    root = str(Path(__file__).parent.parent)
    run = subprocess.run(
        [python, "-c", _SCRIPT, str(n)],
        capture_output=True,
        text=True,
        check=True,
        timeout=1800,
        env={**os.environ, "PYTHONPATH": root},
    )
    times = json.loads(run.stdout)
    return [
        (*name.split(), Ratio(found, times[f"numpy {name.split()[1]}"]))
        for name, found in times.items()
        if not name.startswith("numpy")
    ]
