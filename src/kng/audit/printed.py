"""The paper's printed constants, as rows that must fail, and ours on the same pair of datasets.

Witnesses are those of `kng reproduce errata`. Losses here are of one pair each, in float64, at
epsilon = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kng.audit.rows import Row, witnessed
from kng.core.privacy import ReplaceOne
from kng.reproduce.erratum import Erratum
from kng.reproduce.objective_errata import objective_condition, objective_domain
from kng.reproduce.privacy_errata import (
    exponential_baseline,
    geometric_median,
    largest_response,
    linear_density,
    linear_density_index,
    mean_without_the_half,
    objective_boundary,
    quantile_regression_sensitivity,
    quantile_sensitivity,
)

_Named = tuple[str, str, Callable[[], Erratum]]
# What each is printed for; those of the first list break the promise.
VIOLATIONS: tuple[_Named, ...] = (
    ("kng", "quantile 0.9", quantile_sensitivity),
    ("kng", "quantile regression 0.9", quantile_regression_sensitivity),
    ("kng", "linear regression", linear_density_index),
    ("kng", "linear regression, R from data", largest_response),
    ("kng", "mean on an interval", mean_without_the_half),
    ("kng", "geometric median, l1", geometric_median),
    ("objective", "a loss with a kink", objective_condition),
    ("objective", "linear regression, B < 1", objective_domain),
)
PRIVATE: tuple[_Named, ...] = (
    ("kng", "linear regression", linear_density),
    ("exponential", "quantile regression", exponential_baseline),
    ("objective", "linear regression, on the edge", objective_boundary),
)


def printed_rows(known: tuple[_Named, ...], *, broken: bool) -> Iterator[Callable[[], list[Row]]]:
    """Yield computations, of two rows each: as printed, and as derived."""
    for mechanism, statistic, compute in known:
        yield partial(_both, mechanism, statistic, compute, broken)


def _both(
    mechanism: str, statistic: str, compute: Callable[[], Erratum], broken: bool
) -> list[Row]:
    found = compute()
    relation = ReplaceOne.name
    printed = (f"{mechanism}, as printed", statistic, relation)
    ours = (mechanism, statistic, relation)
    return [
        witnessed(printed, found.witness, found.loss_printed, "fails" if broken else "holds"),
        witnessed(ours, found.witness, found.loss_ours, "holds"),
    ]
