"""How the tests here fit: three estimators, all of their mechanisms, and some public numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import kng

# Every way to draw coefficients, by what a caller would write.
WAYS: dict[str, tuple[type, dict[str, Any]]] = {
    "linear": (kng.LinearRegression, {}),
    "linear kng": (kng.LinearRegression, {"mechanism": "kng"}),
    "linear ball kng": (kng.LinearRegression, {"coef_bound": 3, "mechanism": "kng"}),
    "linear exponential": (kng.LinearRegression, {"coef_bound": 3, "mechanism": "exponential"}),
    "linear objective": (kng.LinearRegression, {"coef_bound": 3, "mechanism": "objective"}),
    "huber": (kng.HuberRegressor, {"threshold": 0.5}),
    "huber auto": (kng.HuberRegressor, {"threshold": "auto"}),
    "huber ball": (kng.HuberRegressor, {"threshold": 0.5, "coef_bound": 3}),
    "quantile": (kng.QuantileRegressor, {}),
    "quantile exponential": (kng.QuantileRegressor, {"mechanism": "exponential"}),
}
EACH = ["linear", "huber", "quantile"]
# The exponential mechanism weighs the loss and has no norm; KNG on a ball has one.
NORMED = [
    (way, norm)
    for way in WAYS
    for norm in ("linf", "l2", "l1")
    if not way.startswith("quantile")  # norms of its own, and a test of its own
    and way != "linear exponential"
    and (way != "linear ball kng" or norm == "linf")
]
# One pair for all columns does not say how many there are, which a list of rows needs.
PAIRS = {n: ([-1] * n, [1] * n) for n in range(1, 13)}


def model(way: str, **options: Any) -> Any:
    """Return an estimator with bounds and an epsilon unless the test gives others.

    An option that is ``...`` is left out of the call altogether.
    """
    kind, fixed = WAYS[way]
    given = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-2, 2), **fixed, **options}
    return kind(**{name: value for name, value in given.items() if value is not ...})


def table(n: int = 40, columns: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return covariates inside (-1, 1) and a response that follows them."""
    draw = np.random.default_rng(seed)
    X = draw.uniform(-1, 1, (n, columns))
    return X, X @ np.linspace(0.8, -0.4, columns) + draw.normal(0, 0.1, n)


class WatchedNumber(float):
    """A number that writes into the journal when a reader asks what it is."""

    journal: list[str]

    def __float__(self) -> float:
        self.journal.append("records")
        return super().__float__()


def watched(array: np.ndarray, journal: list[str]) -> np.ndarray:
    """Return the array as objects that notice being read."""
    cells = np.empty(array.shape, dtype=object)
    for at, x in np.ndenumerate(array):
        cells[at] = WatchedNumber(x)
        cells[at].journal = journal
    return cells
