"""One release of each kind, on simulated records."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import kng
from kng.core.release import Release


@cache
def kinds() -> dict[str, Release]:
    """Return releases by what they are."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 200).astype(float)
    people = pd.DataFrame(
        {
            "age": age,
            "cost": 100 + 5 * age + rng.normal(0, 40, 200),
            "sex": rng.choice(["F", "M"], 200),
        }
    )
    seeded: dict[str, Any] = {"epsilon": 1, "random_state": 1}
    both = {"age": (0, 120), "cost": (0, 1000)}
    one, by = {"cost": (0, 1000)}, {"sex": ["F", "M"]}
    plane = {**seeded, "bounds_X": {"age": (18, 90)}}
    X, cost = people[["age"]], people["cost"]
    line = {**plane, "bounds_y": (0, 1000)}
    return {
        "mean": kng.mean(people, bounds=one, **seeded),
        "unseeded": kng.mean(people, bounds=one, epsilon="1/3"),
        "means": kng.mean(people, bounds=both, **seeded),
        "mean by": kng.mean(people, bounds=one, by=by, **seeded),
        "means by": kng.mean(people, bounds=both, by=by, **seeded),
        "median": kng.median(people, bounds=one, granularity=1, **seeded),
        "median of a private number": kng.median(
            people, bounds=one, neighbours="add-remove", **seeded
        ),
        "quantiles": kng.quantile(people, [0.1, 0.9], bounds=one, **seeded),
        "count": kng.count(people, where="age >= 40", **seeded),
        "histogram": kng.histogram(people["age"], edges=[0, 40, 60, 100], **seeded),
        "proportion": kng.proportion(people["age"] > 40, **seeded),
        "sum": kng.sum(people["cost"], bounds=(0, 1000), **seeded),
        "variance": kng.variance(people["cost"], bounds=(0, 1000), **seeded),
        "geometric median": kng.geometric_median(
            people[["age", "cost"]], bounds={"age": (0, 120), "cost": (0, 1000)}, **seeded
        ),
        "linear": kng.LinearRegression(**line).fit(X, cost).release_,
        "huber": kng.HuberRegressor(threshold=50, **line).fit(X, cost).release_,
        "quantiles of y": kng.QuantileRegressor(quantile=[0.1, 0.9], **line).fit(X, cost).release_,
        "logistic": kng.LogisticRegression(classes=(0, 1), **plane)
        .fit(X, (cost > 350).astype(int))
        .release_,
    }
