"""Measure what last year's release is worth as a base measure; the table of docs/bases.md.

    python docs/tables/base_release.py

Records are seeded. Releases are not, because a simulation cannot be a base: figures move a little
from run to run. Epsilon is 1/2 for each of two years; the first has 2,000 records, the second 200.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import kng

Array = NDArray[np.float64]

LATER, BEFORE, REPLICATES = 200, 2000, 60
# How far theta has moved since: not, by half the usual scale, by five of them.
MOVES = (0.0, 0.25, 2.5)
PLANE = {"epsilon": 0.5, "bounds_X": (-1, 1), "bounds_y": (-5, 5)}
PLACE = {"epsilon": 0.5, "bounds": ([0, 0], [10, 10])}
LINE = {"epsilon": 0.5, "bounds": (0, 10)}


def planes(rng: np.random.Generator, n: int, move: float) -> tuple[Array, Array]:
    """Return covariates, and responses around a plane."""
    X = rng.uniform(-1, 1, (n, 2))
    return X, 1 + move + X @ [1.5, -1.0] + rng.normal(0, 0.5, n)


def regression(rng: np.random.Generator, move: float) -> list[Array]:
    """Return errors of quantile regression, in coefficients."""
    last = kng.QuantileRegressor(**PLANE).fit(*planes(rng, BEFORE, 0.0)).release_
    records = planes(rng, LATER, move)
    found = [kng.QuantileRegressor(base=base, **PLANE).fit(*records) for base in (None, last)]
    return [np.asarray(model.release_.value) - [1 + move, 1.5, -1.0] for model in found]


def places(rng: np.random.Generator, n: int, move: float) -> Array:
    """Return points around a middle."""
    return rng.normal([6 + move, 4], 1, (n, 2))


def median(rng: np.random.Generator, move: float) -> list[Array]:
    """Return errors of a geometric median."""
    last = kng.geometric_median(places(rng, BEFORE, 0.0), **PLACE)
    records = places(rng, LATER, move)
    found = [kng.geometric_median(records, base=base, **PLACE) for base in (None, last)]
    return [np.asarray(release.value) - [6 + move, 4] for release in found]


def mean(rng: np.random.Generator, move: float) -> list[Array]:
    """Return errors of a mean by KNG."""
    last = kng.mean(places(rng, BEFORE, 0.0)[:, 0], **LINE)
    records = places(rng, LATER, move)[:, 0]
    found = [kng.mean(records, mechanism="kng", base=base, **LINE) for base in (None, last)]
    return [np.array([release.value - 6 - move]) for release in found]


def row(errors: Callable[[np.random.Generator, float], list[Array]], move: float) -> str:
    """Return root mean square errors without and with the earlier release."""
    found = [errors(np.random.default_rng(seed), move) for seed in range(REPLICATES)]
    sizes = [np.sqrt(np.mean([(e[i] ** 2).sum() for e in found])) for i in (0, 1)]
    return f"{move:g} | {sizes[0]:.3f} | {sizes[1]:.3f}"


def main() -> None:
    """Print the table."""
    print("| estimate | θ has moved by | without | with last year's release |")
    print("| --- | --- | --- | --- |")
    for name, errors in (
        ("mean by KNG", mean),
        ("quantile regression", regression),
        ("geometric median", median),
    ):
        for move in MOVES:
            print(f"| {name} | {row(errors, move)} |", flush=True)


if __name__ == "__main__":
    main()
