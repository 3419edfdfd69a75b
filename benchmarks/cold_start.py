"""CPU time of the first quantile regression on a machine, beside that of an earlier revision.

    python -m benchmarks.cold_start [REVISION]

Every round starts processes with an empty cache of compiled code, then once more with the cache
that they left; and processes that only import the package. Not among the tables of `make bench`:
five rounds take about five minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import HEAD, Ratio, line, spent

ROUNDS = 5
# The last revision of 0.1.
FORMER = "e301d72"
ROOT = Path(__file__).parents[1]

FIT = """
import numpy as np, kng
rng = np.random.default_rng(1)
X = rng.uniform(-1, 1, (1000, 2))
y = X @ [1, -0.5] + rng.normal(size=1000) / 10
kng.QuantileRegressor(epsilon=1, bounds_X=(-1, 1), bounds_y=(-3, 3)).fit(X, y)
"""
BARS = {"first fit": 0.5, "first fit, compiled": 1.1, "import kng": 1.1}


def seconds(program: str, source: Path, cache: Path) -> float:
    """Return the CPU time of a process and of those that it starts."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", program]
    return spent(lambda: subprocess.run(command, env=environment, cwd="/", check=True))


def sources(folder: Path, revision: str) -> dict[str, Path]:
    """Write both packages into a folder; neither has a cache of its own."""
    found = {}
    for name, tree in (("theirs", revision), ("ours", "HEAD")):
        found[name] = folder / name / "src"
        found[name].parent.mkdir()
        archive = subprocess.run(
            ["git", "archive", tree, "src"], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", found[name].parent], input=archive.stdout, check=True)
    return found


def main(revision: str = FORMER) -> int:
    """Print the table and return how many bars are missed."""
    times = {row: {"theirs": [], "ours": []} for row in BARS}
    with tempfile.TemporaryDirectory() as name:
        both = sources(Path(name), revision)
        for source in both.values():  # bytecode, which an installation has
            seconds("import kng, kng.corridor", source, Path(name))
        for turn in range(ROUNDS):
            for who in list(both)[:: -1 if turn % 2 else 1]:
                with tempfile.TemporaryDirectory() as cache:
                    place = both[who], Path(cache)
                    times["first fit"][who].append(seconds(FIT, *place))
                    times["first fit, compiled"][who].append(seconds(FIT, *place))
                    times["import kng"][who].append(seconds("import kng", *place))
    print(f"\nA new process, beside {revision}; {ROUNDS} rounds\n{'':<34}{HEAD}")
    return sum(
        line(row, Ratio(each["ours"], each["theirs"]), BARS[row]) for row, each in times.items()
    )


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 1))
