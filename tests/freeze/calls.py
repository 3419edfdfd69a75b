"""Public calls with fixed records and seeds, and the integers that each of them draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import kng

Draw = Callable[[Any], kng.Release]

BOUNDS = {"bounds_X": (-1, 1), "bounds_y": (-3, 3)}
RELATIONS: dict[str, dict[str, Any]] = {
    "replace-one": {},
    "add-remove": {"neighbours": "add-remove", "n_max": 1000},
}


def column(n: int = 200) -> np.ndarray:
    """Return numbers that hash the index: no generator whose stream could change."""
    return (np.arange(n) * 2654435761 % 2**20) / 2**20


def table(n: int, columns: int) -> np.ndarray:
    """Return covariates within (-1, 1)."""
    return 2 * column(n * columns).reshape(n, columns) - 1


def fitted(kind: type, columns: int, **options: Any) -> Draw:
    """Return a fit to a plane with small residuals."""

    def draw(seed: Any) -> kng.Release:
        X = table(120, columns)
        y = 0.25 + X @ np.linspace(1, -0.5, columns) + (column(120) - 0.5) / 4
        release: kng.Release = kind(random_state=seed, **{**BOUNDS, **options}).fit(X, y).release_
        return release

    return draw


def calls() -> Iterator[tuple[str, Draw]]:
    """Yield the name and the draw of each call."""
    for name, relation in RELATIONS.items():
        for way in ("auto", "kng", "exponential", "k-norm"):
            asked = {"bounds": (0, 1), "epsilon": 0.5, "mechanism": way, "missing": 0.5, **relation}
            yield f"mean {way} {name}", lambda s, o=asked: kng.mean(column(), random_state=s, **o)
        for way in ("auto", "exponential"):
            asked = {"bounds": (-1, 2), "epsilon": 0.5, "mechanism": way, **relation}
            for q in (0.5, 0.9, [0.1, 0.5, 0.9]):
                yield (
                    f"quantile {q} {way} {name}",
                    lambda s, q=q, o=asked: kng.quantile(column(), q, random_state=s, **o),
                )
        yield (
            f"mean of columns {name}",
            lambda s, o=relation: kng.mean(
                table(100, 3), bounds=([-1] * 3, [1] * 3), missing=0, epsilon=1, random_state=s, **o
            ),
        )
        yield (
            f"median of whole numbers {name}",
            lambda s, o=relation: kng.median(
                np.rint(20 * column()), bounds=(0, 30), granularity=1, epsilon=1,
                records_per_person=2, random_state=s, **o,
            ),
        )  # fmt: skip
        for d in (2, 3):
            yield (
                f"geometric median {d} {name}",
                lambda s, d=d, o=relation: kng.geometric_median(
                    table(80, d), bounds=([-2] * d, [2] * d), epsilon=1, random_state=s, **o
                ),
            )
        for d in (1, 2, 3):
            yield (
                f"quantile regression {d} {name}",
                fitted(kng.QuantileRegressor, d, epsilon=1, quantile=0.75, **relation),
            )
        yield (
            f"quantile regression of several {name}",
            fitted(kng.QuantileRegressor, 1, epsilon=2, quantile=[0.25, 0.5, 0.75], **relation),
        )
        yield (
            f"quantile regression exponential {name}",
            fitted(kng.QuantileRegressor, 1, epsilon=2, mechanism="exponential", **relation),
        )
        yield (
            f"quantile regression without intercept {name}",
            fitted(kng.QuantileRegressor, 2, epsilon=1, fit_intercept=False, **relation),
        )
        for d in (1, 4, 12):
            yield (
                f"least squares kng {d} {name}",
                fitted(kng.LinearRegression, d, epsilon=5, mechanism="kng", **relation),
            )
        for norm in ("linf", "l2", "l1"):
            yield (
                f"least squares kng {norm} {name}",
                fitted(kng.LinearRegression, 2, epsilon=5, mechanism="kng", norm=norm, **relation),
            )
        for way in ("kng", "exponential"):
            yield (
                f"least squares on a ball {way} {name}",
                fitted(kng.LinearRegression, 3, epsilon=5, mechanism=way, coef_bound=6, **relation),
            )
            yield (
                f"Huber {way} {name}",
                fitted(
                    kng.HuberRegressor, 1, epsilon=5, mechanism=way, threshold=0.5, coef_bound=3,
                    **relation,
                ),
            )  # fmt: skip
    for sampler in ("hit-and-run", "metropolis"):
        yield (
            f"least squares {sampler}",
            fitted(kng.LinearRegression, 2, epsilon=5, mechanism="kng", sampler=sampler),
        )
    yield (
        "quantile regression hit-and-run",
        fitted(kng.QuantileRegressor, 2, epsilon=2, sampler="hit-and-run"),
    )
    yield (
        "geometric median hit-and-run",
        lambda s: kng.geometric_median(
            table(80, 2),
            bounds=([-2] * 2, [2] * 2),
            epsilon=1,
            sampler="hit-and-run",
            random_state=s,
        ),
    )
