"""Every public call in this version and an earlier one, in processes that stay and take turns.

Set KNG_BEFORE to the sources of the earlier version (`benchmarks.versions`), then

    python -m benchmarks.public_calls

A round times each call in both, one after the other, warm; a bar is missed where the lower quartile
of the rounds' ratios is above 1.1.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.timing import HEAD, ROUNDS, Ratio, line

BAR = 1.1
# Runs in both versions; a line names a call and how often it is to run, and is answered in seconds.
WORKER = """
import sys, time
import numpy as np, kng
rng = np.random.default_rng(0)
x = rng.uniform(0, 100, 1000)
P = rng.uniform(-1, 1, (300, 2))
X = rng.uniform(-1, 1, (400, 2))
y = X @ [1, -0.5] + rng.normal(0, 0.3, 400)
V = rng.uniform(-1, 1, (1000, 4))
LINE = dict(bounds=(0, 100), epsilon=1, random_state=7)
PLANE = dict(epsilon=1, bounds_X=(-1, 1), bounds_y=(-3, 3), random_state=7)
ADD = dict(neighbours="add-remove", n_max=10**4)
def fit(kind, **options):
    return lambda: getattr(kng, kind)(**PLANE, **options).fit(X, y)
CALLS = {
    "median": lambda: kng.median(x, **LINE),
    "median, add-remove": lambda: kng.median(x, **LINE, **ADD),
    "median, exponential": lambda: kng.median(x, mechanism="exponential", **LINE),
    "three quantiles": lambda: kng.quantile(x, [0.1, 0.5, 0.9], **LINE),
    "mean": lambda: kng.mean(x, **LINE),
    "mean, add-remove": lambda: kng.mean(x, **LINE, **ADD),
    "mean, kng": lambda: kng.mean(x, mechanism="kng", **LINE),
    "mean of four columns": lambda: kng.mean(
        V, bounds=([-1] * 4, [1] * 4), epsilon=1, random_state=7
    ),
    "geometric median": lambda: kng.geometric_median(
        P, bounds=([-1, -1], [1, 1]), epsilon=1, random_state=7
    ),
    "geometric median, exponential": lambda: kng.geometric_median(
        P, bounds=([-1, -1], [1, 1]), epsilon=1, mechanism="exponential", random_state=7
    ),
    "LinearRegression": fit("LinearRegression"),
    "LinearRegression, coef_bound": fit("LinearRegression", coef_bound=6),
    "LinearRegression, kng": fit("LinearRegression", mechanism="kng"),
    "LinearRegression, kng, ball": fit("LinearRegression", mechanism="kng", coef_bound=6),
    "LinearRegression, exponential": fit(
        "LinearRegression", mechanism="exponential", coef_bound=6
    ),
    "LinearRegression, objective": fit("LinearRegression", mechanism="objective", coef_bound=6),
    "HuberRegressor": fit("HuberRegressor", threshold=0.5),
    "HuberRegressor, auto": fit("HuberRegressor", threshold="auto"),
    "HuberRegressor, kng": fit("HuberRegressor", threshold=0.5, mechanism="kng"),
    "HuberRegressor, exponential": fit(
        "HuberRegressor", threshold=0.5, mechanism="exponential"
    ),
    "QuantileRegressor": fit("QuantileRegressor"),
    "QuantileRegressor, two": fit("QuantileRegressor", quantile=[0.25, 0.75]),
    "QuantileRegressor, exponential": fit("QuantileRegressor", mechanism="exponential"),
}
print(*CALLS, sep="|", flush=True)
for asked in sys.stdin:
    name, times = asked.rstrip("\\n").rsplit("|", 1)
    call = CALLS[name]
    start = time.process_time()
    for _ in range(int(times)):
        call()
    print((time.process_time() - start) / int(times), flush=True)
"""
# Seconds that a turn should take at least, to stand out against the clock.
_TURN = 0.05


class Worker:
    """A process of one version."""

    def __init__(self, sources: str) -> None:
        environment = {**os.environ, "PYTHONPATH": sources, "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment, text=True,
        )  # fmt: skip
        self.calls = self._answer().rstrip("\n").split("|")

    def seconds(self, name: str, times: int) -> float:
        """Return the CPU seconds of one call, averaged over so many in a row."""
        assert self._process.stdin is not None
        print(f"{name}|{times}", file=self._process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def stop(self) -> None:
        """End the process."""
        self._process.communicate()


def main() -> int:
    """Print the table and return how many bars are missed."""
    before = os.environ.get("KNG_BEFORE")
    if not before:
        return 0
    print(f"\nthis version / the one before, CPU time of warm calls\n\n{'':<34}{HEAD}")
    now, then = Worker(str(Path(__file__).parent.parent / "src")), Worker(before)
    missed = 0
    for name in now.calls:
        warm = max(now.seconds(name, 2), then.seconds(name, 2))
        times = max(1, int(_TURN / warm))
        found: dict[Worker, list[float]] = {now: [], then: []}
        for turn in range(ROUNDS):
            for worker in [now, then][:: -1 if turn % 2 else 1]:
                found[worker].append(worker.seconds(name, times))
        missed += line(name, Ratio(found[now], found[then]), BAR)
    now.stop()
    then.stop()
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
