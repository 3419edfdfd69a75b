"""How much a better norm wins: the table of docs/norms.md and its picture.

python docs/tables/norms.py [picture.png]

Errors are distances to the fit without privacy, in effects: the prediction at the middle of the
covariate minus the middle of the response, and coefficient times half a range. Each norm sees the
same records and other coins; the ratio of mean errors has the standard error of its logarithm.
"""

from __future__ import annotations

import sys

import numpy as np

import kng
from kng.losses import Linear, Pinball, Squared
from kng.norms import CoordinateSup, Hull, LInf

REPLICATES, N, EPSILON = 300, 1000, 1


def planes(tau: float):
    """Quantile regression with an intercept: y = 0.3 + 0.4 x and noise that is skewed."""
    loss = Linear(Pinball(tau))
    domain = kng.domains.Box(-1, 1)

    def records(rng):
        x = rng.uniform(0, 1, (N, 1))
        return x, np.clip(0.2 + 0.3 * x[:, 0] + 0.1 * rng.exponential(size=N), 0, 1)

    return loss, domain, records, {"bounds_X": (0, 1), "bounds_y": (0, 1)}


def slopes(d: int):
    """Least squares through 0 of columns between 0 and 1."""
    loss = Linear(Squared(), intercept=False)
    domain = kng.domains.Box(-1, 1)

    def records(rng):
        x = rng.uniform(0, 1, (N, d))
        return x, np.clip(x @ np.full(d, 0.8 / d) + 0.05 * rng.normal(size=N), 0, 1)

    return loss, domain, records, {"bounds_X": ([0] * d, [1] * d), "bounds_y": (0, 1)}


def errors(problem, norm, neighbours: str) -> np.ndarray:
    loss, domain, records, bounds = problem
    mechanism = kng.KNG(loss, norm=norm, domain=domain)
    found = []
    for seed in range(REPLICATES):
        x, y = records(np.random.default_rng(seed))
        release = mechanism.release(
            x, y, epsilon=EPSILON, neighbours=neighbours, random_state=seed, **bounds
        )
        best = _fit(loss, domain, x, y, bounds)
        found.append(np.linalg.norm(_effects(release.value - best, loss.intercept)))
    return np.array(found)


def _fit(loss: Linear, domain: kng.domains.Box, x, y, bounds) -> np.ndarray:
    """Return the fit without privacy, or a draw so sharp that it is the fit."""
    if not loss.intercept:
        return np.linalg.lstsq(x, y)[0]
    sharp = kng.KNG(loss, domain=domain)
    return sharp.release(x, y, epsilon=10**4, random_state=1, **bounds).value


def _effects(difference: np.ndarray, intercept: bool) -> np.ndarray:
    """Return what coefficients do in the middle, and half a range away from it."""
    if not intercept:
        return difference
    return np.array([difference[0] + difference[1:].sum() / 2, *difference[1:] / 2])


CASES = {
    "quantile plane, 0.9": (planes(0.9), "replace-one"),
    "quantile plane, 0.75": (planes(0.75), "replace-one"),
    "median plane": (planes(0.5), "replace-one"),
    "least squares, two columns": (slopes(2), "replace-one"),
    "least squares, two columns, n private": (slopes(2), "add-remove"),
    "least squares, three columns, n private": (slopes(3), "add-remove"),
}


def main() -> None:
    print(f"n = {N}, epsilon = {EPSILON}, {REPLICATES} replicates; mean distance, and its ratio\n")
    print("| | LInf | CoordinateSup | Hull | LInf / Hull | noise of LInf |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (problem, neighbours) in CASES.items():
        found = [errors(problem, norm, neighbours) for norm in (LInf(), CoordinateSup(), Hull())]
        ratio = found[0].mean() / found[2].mean()
        spread = np.sqrt(sum((e.std() / e.mean()) ** 2 / REPLICATES for e in (found[0], found[2])))
        loss, domain, _, bounds = problem
        plan = kng.KNG(loss, norm=LInf(), domain=domain).plan(
            epsilon=EPSILON, neighbours=neighbours, **bounds
        )
        fit = None if loss.intercept else [0.8 / plan.problem.loss.dim] * plan.problem.loss.dim
        noise = {row.norm: row.noise for row in kng.norms.compare(plan, fit).rows}
        cells = " | ".join(f"{e.mean():.4f}" for e in found)
        print(f"| {name} | {cells} | {ratio:.2f} ± {ratio * spread:.2f} | {noise['LInf()']:.2f} |")
    if len(sys.argv) > 1:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(1, 2, figsize=(13, 4.5), layout="constrained")
        asked = (
            (planes(0.9), slopes(2)),
            ("quantile plane, 0.9", "least squares, theta = (0.8, 0.1)"),
        )
        for ax, (loss, domain, _, bounds), title in zip(axes, *asked, strict=True):
            plan = kng.KNG(loss, norm=Hull(), domain=domain).plan(epsilon=1, **bounds)
            theta = None if loss.intercept else (0.8, 0.1)
            kng.norms.compare(plan, theta).plot(ax).set_title(title)
        figure.savefig(sys.argv[1], dpi=110)


if __name__ == "__main__":
    main()
