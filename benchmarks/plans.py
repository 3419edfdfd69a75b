"""Plans beside simulations from the declared shape: predicted and measured errors, and verdicts.

python -m benchmarks.plans            three (n, epsilon) for each statistic, and grids of verdicts
python -m benchmarks.plans --quick    fewer replicates
python -m benchmarks.plans mean Huber only these

A root mean square of R replicates is off by 1 / sqrt(2 R) of itself: 3.2 % for 500. Verdicts near
the border are measured on more data sets, because few of them could not tell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import kng

PLANE = {"bounds_X": ([-1, -1], [1, 1]), "bounds_y": (-5, 5)}
ONE = {"bounds_X": ([-1], [1]), "bounds_y": (-5, 5)}
SHAPE = {"residual": 1, "coef": (1, -0.5), "intercept": 0.5}
LINE = {"bounds": (0, 100), "spread": 15}
AT = ((300, 0.3), (1000, 0.3), (10000, 0.5))
SMALL = ((300, 4.0), (300, 1.0), (1000, 0.3))


@dataclass(frozen=True)
class Case:
    """How a plan is made, where it is compared, and on how many simulated data sets."""

    make: Callable[[int, float], Any]
    at: Sequence[tuple[int, float]] = AT
    replicates: int = 1000


CASES = {
    "mean": Case(lambda n, e: kng.mean.plan(n=n, epsilon=e, **LINE)),
    "count": Case(
        lambda n, e: kng.count.plan(n=n, epsilon=e, share=0.3),
        ((300, 0.1), (3000, 0.02), (3000, 1.0)),
    ),
    "sum": Case(lambda n, e: kng.sum.plan(n=n, epsilon=e, **LINE)),
    "proportion": Case(lambda n, e: kng.proportion.plan(n=n, epsilon=e, share=0.3)),
    "histogram": Case(
        lambda n, e: kng.histogram.plan(n=n, epsilon=e, bins=3, shares=(0.2, 0.3, 0.5)),
        ((300, 0.1), (3000, 0.02), (3000, 1.0)),
    ),
    "variance": Case(lambda n, e: kng.variance.plan(n=n, epsilon=e, **LINE)),
    "quantile 0.9": Case(
        lambda n, e: kng.quantile.plan(0.9, n=n, epsilon=e, **LINE), replicates=4000
    ),
    "median": Case(lambda n, e: kng.median.plan(n=n, epsilon=e, **LINE)),
    "linear": Case(
        lambda n, e: kng.LinearRegression(epsilon=e, **PLANE).plan(n=n, **SHAPE), replicates=500
    ),
    "Huber": Case(
        lambda n, e: kng.HuberRegressor(epsilon=e, threshold=1, bounds_X=PLANE["bounds_X"]).plan(
            n=n, **SHAPE
        ),
        replicates=500,
    ),
    "logistic": Case(
        lambda n, e: kng.LogisticRegression(
            epsilon=e, classes=(0, 1), bounds_X=PLANE["bounds_X"]
        ).plan(n=n, coef=(1, -0.5), intercept=0.2),
        SMALL,
        500,
    ),
    "quantile regression": Case(
        lambda n, e: kng.QuantileRegressor(epsilon=e, **ONE).plan(
            n=n, residual=1, coef=(1,), intercept=0.5
        ),
        SMALL,
        400,
    ),
    "expectile regression": Case(
        lambda n, e: kng.ExpectileRegressor(expectile=0.8, epsilon=e, **ONE).plan(
            n=n, residual=1, coef=(1,), intercept=0.5
        ),
        ((300, 8.0), (1000, 4.0), (1000, 2.0)),
        200,
    ),
    "Poisson regression": Case(
        lambda n, e: kng.PoissonRegressor(
            epsilon=e, bounds_X=PLANE["bounds_X"], bounds_y=(0, 10)
        ).plan(n=n, coef=(0.5, -0.3), intercept=1),
        ((500, 4.0), (1000, 2.0), (3000, 0.5)),
        500,
    ),
}
# Where verdicts are compared: far from and near to the border between worth it and not.
GRID = [(n, e) for n in (100, 300, 1000, 3000, 10000) for e in (0.02, 0.1, 0.5, 2.0)]
FEW = [(n, e) for n in (100, 200, 300, 1000) for e in (0.1, 0.3, 1.0, 2.0, 4.0)]
GRIDS = {
    "mean": GRID,
    "count": GRID,
    "quantile 0.9": GRID,
    "linear": GRID,
    "Huber": GRID,
    "logistic": GRID,
    "quantile regression": FEW,
}
GRID_REPLICATES, NEAR_REPLICATES, NEAR, CLOSE = 100, 400, (1.5, 2.7), 0.15


def main(words: Sequence[str]) -> int:
    """Print the tables; return how many errors are off by more than 15 % and verdicts wrong."""
    part = 5 if "--quick" in words else 1
    asked = [word for word in words if not word.startswith("--")] or list(CASES)
    off = wrong = seen = 0
    print("| statistic | n, epsilon: predicted / measured = ratio | | |")
    print("| --- | --- | --- | --- |")
    for name in asked:
        compared = [worst(name, n, epsilon, part) for n, epsilon in CASES[name].at]
        off += sum(abs(ratio - 1) > CLOSE for _, ratio in compared)
        print(f"| {name} | " + " | ".join(text for text, _ in compared) + " |", flush=True)
    for name in (name for name in asked if name in GRIDS):
        grid = GRIDS[name]
        right = sum(judged(name, n, epsilon, part) for n, epsilon in grid)
        print(f"verdicts of {name}: right in {right} of {len(grid)}", flush=True)
        seen, wrong = seen + len(grid), wrong + len(grid) - right
    print(f"off by more than 15 %: {off}; verdicts right: {seen - wrong} of {seen}")
    return int(off > 0 or wrong > 0.05 * seen)


def worst(name: str, n: int, epsilon: float, part: int) -> tuple[str, float]:
    """Compare the number whose prediction is farthest off."""
    plan = CASES[name].make(n, epsilon)
    run = plan.simulate(max(CASES[name].replicates // part, 10), seed=n)
    pairs = [(e.total, m) for e, m in zip(plan.expected, run.total, strict=True)]
    predicted, measured = max(pairs, key=lambda pair: abs(pair[0] / pair[1] - 1))
    ratio = predicted / measured
    return f"{n}, {epsilon:g}: {predicted:.3g} / {measured:.3g} = {ratio:.2f}", ratio


def judged(name: str, n: int, epsilon: float, part: int) -> bool:
    """Tell whether a verdict is that of simulated data sets, of which there are more near it."""
    plan = CASES[name].make(n, epsilon)
    predicted = max(each.total / each.sampling for each in plan.expected)
    near = NEAR[0] < predicted < NEAR[1]
    replicates = NEAR_REPLICATES if near else GRID_REPLICATES
    run = plan.simulate(max(replicates // part, 10), seed=n + 1)
    if plan.feasible == run.feasible:
        return True
    times = max(t / s for t, s in zip(run.total, run.sampling, strict=True))
    print(
        f"verdict of {name} at n = {n}, epsilon = {epsilon:g}: "
        f"predicted {predicted:.2f}, measured {times:.2f}"
    )
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
