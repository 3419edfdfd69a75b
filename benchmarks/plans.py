"""Plans beside simulations from the declared shape: predicted and measured errors, and verdicts.

python -m benchmarks.plans            three (n, epsilon) for each statistic, and a grid of verdicts
python -m benchmarks.plans --quick    fewer replicates

A root mean square of R replicates is off by 1 / sqrt(2 R) of itself: 3.2 % for 500.
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
AT = ((500, 2.0), (3000, 1.0), (10000, 0.5))
SMALL = ((300, 4.0), (500, 2.0), (1000, 1.0))


@dataclass(frozen=True)
class Case:
    """How a plan is made, where it is compared, and on how many simulated data sets."""

    make: Callable[[int, float], Any]
    at: Sequence[tuple[int, float]] = AT
    replicates: int = 1000


CASES = {
    "mean": Case(lambda n, e: kng.mean.plan(n=n, epsilon=e, **LINE)),
    "count": Case(lambda n, e: kng.count.plan(n=n, epsilon=e, share=0.3), ((500, 0.1), *AT[1:])),
    "sum": Case(lambda n, e: kng.sum.plan(n=n, epsilon=e, **LINE)),
    "proportion": Case(lambda n, e: kng.proportion.plan(n=n, epsilon=e, share=0.3)),
    "histogram": Case(
        lambda n, e: kng.histogram.plan(n=n, epsilon=e, bins=3, shares=(0.2, 0.3, 0.5)),
        ((500, 0.1), *AT[1:]),
    ),
    "variance": Case(lambda n, e: kng.variance.plan(n=n, epsilon=e, **LINE)),
    "quantile 0.9": Case(lambda n, e: kng.quantile.plan(0.9, n=n, epsilon=e, **LINE)),
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
        500,
    ),
}
# Far from and near to the border between worth it and not.
GRID = [(n, e) for n in (100, 300, 1000, 3000, 10000) for e in (0.02, 0.1, 0.5, 2.0)]
GRIDDED = ("mean", "median", "quantile 0.9", "Huber", "linear", "count", "variance")
GRID_REPLICATES, CLOSE = 100, 0.15


def main(words: Sequence[str]) -> int:
    """Print the tables; return how many errors are off by more than 15 % and verdicts wrong."""
    part = 5 if "--quick" in words else 1
    off = wrong = seen = 0
    print("| statistic | n | epsilon | number | predicted | measured | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, case in CASES.items():
        for n, epsilon in case.at:
            plan = case.make(n, epsilon)
            run = plan.simulate(max(case.replicates // part, 10), seed=1)
            for each, measured in zip(plan.expected, run.total, strict=True):
                ratio = each.total / measured
                off += abs(ratio - 1) > CLOSE
                print(
                    f"| {name} | {n} | {epsilon:g} | {each.name} | {each.total:.4g} | "
                    f"{measured:.4g} | {ratio:.2f} |",
                    flush=True,
                )
    for name in GRIDDED:
        for n, epsilon in GRID:
            plan = CASES[name].make(n, epsilon)
            run = plan.simulate(max(GRID_REPLICATES // part, 10), seed=2)
            seen += 1
            if plan.feasible != run.feasible:
                wrong += 1
                predicted = max(each.total / each.sampling for each in plan.expected)
                times = max(t / s for t, s in zip(run.total, run.sampling, strict=True))
                print(
                    f"verdict of {name} at n = {n}, epsilon = {epsilon:g}: "
                    f"predicted {predicted:.2f}, measured {times:.2f}"
                )
    print(f"off by more than 15 %: {off}; verdicts right: {seen - wrong} of {seen}")
    return int(off > 0 or wrong > 0.05 * seen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
