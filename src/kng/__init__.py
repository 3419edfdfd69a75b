"""Private statistics by the K-norm gradient mechanism, drawn exactly.

    import kng
    kng.median(ages, bounds=(0, 120), epsilon=1)

Names load when they are first used, so that ``import kng`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kng.core.version import __version__

if TYPE_CHECKING:
    from kng import bases, columns, domains, losses, norms
    from kng.core.errors import KngError
    from kng.core.release import Release
    from kng.data import Table
    from kng.estimators import geometric_median, mean, median, quantile
    from kng.estimators.assembled import KNG, Exponential, KNorm, ObjectivePerturbation
    from kng.estimators.count import count
    from kng.estimators.expectile import ExpectileRegressor
    from kng.estimators.habits import check
    from kng.estimators.histogram import histogram
    from kng.estimators.huber import HuberRegressor
    from kng.estimators.linear import LinearRegression
    from kng.estimators.logistic import LogisticRegression
    from kng.estimators.poisson import PoissonRegressor
    from kng.estimators.proportion import proportion
    from kng.estimators.quantile_regression import QuantileRegressor
    from kng.estimators.total import sum
    from kng.estimators.variance import variance
    from kng.ledger import Ledger

_HOMES = {
    "Exponential": "kng.estimators.assembled",
    "ExpectileRegressor": "kng.estimators.expectile",
    "HuberRegressor": "kng.estimators.huber",
    "KNG": "kng.estimators.assembled",
    "KNorm": "kng.estimators.assembled",
    "KngError": "kng.core.errors",
    "Ledger": "kng.ledger",
    "LinearRegression": "kng.estimators.linear",
    "LogisticRegression": "kng.estimators.logistic",
    "ObjectivePerturbation": "kng.estimators.assembled",
    "PoissonRegressor": "kng.estimators.poisson",
    "QuantileRegressor": "kng.estimators.quantile_regression",
    "Release": "kng.core.release",
    "Table": "kng.data",
    "count": "kng.estimators.count",
    "check": "kng.estimators.habits",
    "geometric_median": "kng.estimators",
    "histogram": "kng.estimators.histogram",
    "mean": "kng.estimators",
    "median": "kng.estimators",
    "proportion": "kng.estimators.proportion",
    "quantile": "kng.estimators",
    "sum": "kng.estimators.total",
    "variance": "kng.estimators.variance",
}

# Packages of parts, and of what columns hold.
_PACKAGES = ("bases", "columns", "domains", "losses", "norms")

__all__ = [
    "KNG",
    "ExpectileRegressor",
    "Exponential",
    "HuberRegressor",
    "KNorm",
    "KngError",
    "Ledger",
    "LinearRegression",
    "LogisticRegression",
    "ObjectivePerturbation",
    "PoissonRegressor",
    "QuantileRegressor",
    "Release",
    "Table",
    "__version__",
    "bases",
    "check",
    "columns",
    "count",
    "domains",
    "geometric_median",
    "histogram",
    "losses",
    "mean",
    "median",
    "norms",
    "proportion",
    "quantile",
    "sum",
    "variance",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"kng.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'kng' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # found without asking the next time
    return value


def __dir__() -> list[str]:
    return __all__
