"""Plans beside simulations from the declared shape: predicted and measured errors, and verdicts.

python -m benchmarks.plans            three (n, epsilon) for each statistic, and a grid of verdicts
python -m benchmarks.plans --quick    fewer replicates
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import kng

PLANE = {"bounds_X": ([-1, -1], [1, 1]), "bounds_y": (-5, 5)}
SHAPE = {"residual": 1, "coef": (1, -0.5), "intercept": 0.5}
ODDS = {"coef": (1, -0.5), "intercept": 0.2}
LINE = {"bounds": (0, 100), "spread": 15}
Make = Callable[[int, float], Any]

PLANS: dict[str, tuple[Make, int]] = {
    "mean": (lambda n, e: kng.mean.plan(n=n, epsilon=e, **LINE), 400),
    "quantile 0.9": (lambda n, e: kng.quantile.plan(0.9, n=n, epsilon=e, **LINE), 400),
    "median": (lambda n, e: kng.median.plan(n=n, epsilon=e, **LINE), 400),
    "linear": (lambda n, e: kng.LinearRegression(epsilon=e, **PLANE).plan(n=n, **SHAPE), 300),
    "Huber": (
        lambda n, e: kng.HuberRegressor(epsilon=e, threshold=1, bounds_X=PLANE["bounds_X"]).plan(
            n=n, **SHAPE
        ),
        300,
    ),
    "logistic": (
        lambda n, e: kng.LogisticRegression(
            epsilon=e, classes=(0, 1), bounds_X=PLANE["bounds_X"]
        ).plan(n=n, **ODDS),
        150,
    ),
    "quantile regression": (
        lambda n, e: kng.QuantileRegressor(epsilon=e, **PLANE).plan(n=n, **SHAPE),
        60,
    ),
}
AT = [(500, 2.0), (3000, 1.0), (10000, 0.5)]
# Far from and near to the border between worth it and not.
GRID = [(n, e) for n in (100, 300, 1000, 3000, 10000) for e in (0.02, 0.1, 0.5, 2.0)]
GRIDDED = ("mean", "median", "quantile 0.9", "Huber", "linear")


def main(words: Sequence[str]) -> int:
    """Print the tables; return how many errors are off by more than 15 % and verdicts wrong."""
    part = 5 if "--quick" in words else 1
    off = wrong = seen = 0
    print("| statistic | n | epsilon | number | predicted | measured | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (make, replicates) in PLANS.items():
        for n, epsilon in AT:
            plan = make(n, epsilon)
            run = plan.simulate(max(replicates // part, 10), seed=1)
            for each, measured in zip(plan.expected, run.total, strict=True):
                ratio = each.total / measured
                off += abs(ratio - 1) > 0.15
                print(
                    f"| {name} | {n} | {epsilon:g} | {each.name} | {each.total:.4g} | "
                    f"{measured:.4g} | {ratio:.2f} |",
                    flush=True,
                )
    for name in GRIDDED:
        make, replicates = PLANS[name]
        for n, epsilon in GRID:
            plan = make(n, epsilon)
            run = plan.simulate(max(replicates // (2 * part), 10), seed=2)
            seen += 1
            if plan.feasible != run.feasible:
                wrong += 1
                times = max(t / s for t, s in zip(run.total, run.sampling, strict=True))
                print(f"verdict of {name} at n = {n}, epsilon = {epsilon:g}: measured {times:.2f}")
    print(f"off by more than 15 %: {off}; verdicts right: {seen - wrong} of {seen}")
    return off + wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
