"""How much farther noise moves a minimiser than its curvature at the truth says.

With the mean score s(theta) of the declared shape, theta solves

    n s(theta) + gamma (theta - c) + u + sqrt(n) w = 0,      w with variance S

for draws of the noise u and of sampling w. A score that levels off gives way to large noise: the
error is larger than that of the line with the slope H. Where noise is small both are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kng.estimators.planning.declared import Array, normal_quantile
from kng.estimators.planning.scores import Score

# Draws, steps towards the solution, how far predictions move where a line is good
# enough (squared), and how small a last step is.
_DRAWS, _STEPS, _LITTLE, _NEAR = 64, 50, 0.03, 0.01


@dataclass(frozen=True, slots=True)
class Moves:
    """What moves a minimiser: noise from a box at a rate, sampling with a root of n S, a ridge."""

    sides: Array
    rate: float
    root: Array
    ridge: float
    centre: Array


def stretched(score: Score, rows: Array, truth: Array, n: int, by: Moves) -> Array:
    """Return by how much each coefficient's error is larger than that of a line."""
    sides, rate, root, ridge, centre = by.sides, by.rate, by.root, by.ridge, by.centre
    dim, at = len(truth), rows @ truth
    curved = (rows * score.slope(at)[:, None]).T @ rows / len(rows)
    moves = _radii(dim)[:, None] * _box(dim) * sides / rate + _normal(dim) @ root.T
    steep = n * curved + ridge * np.eye(dim)
    pull = ridge * (truth - centre)
    straight = -np.linalg.solve(steep, (moves + pull).T).T
    moved = float(np.mean((straight @ rows.T) ** 2))
    if moved < _LITTLE:
        return np.ones(dim)
    # The slope is nowhere much larger than its largest value, which makes steps safe.
    peak = _largest(score, at, float(np.sqrt(moved)))
    safe = np.linalg.inv(n * peak * rows.T @ rows / len(rows) + ridge * np.eye(dim))
    theta = straight.copy()
    base = score.mean(at, at)
    for _ in range(_STEPS):
        mean = score.mean(at, at + theta @ rows.T) - base
        step = (n * mean @ rows / len(rows) + ridge * theta + moves + pull) @ safe
        theta = theta - step
        if np.abs(step).max() < _NEAR * np.sqrt(moved):
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.sqrt(np.mean(theta**2, axis=0) / np.mean(straight**2, axis=0))
    return np.asarray(np.nan_to_num(found, nan=1.0, posinf=1.0))


def _largest(score: Score, at: Array, far: float) -> float:
    """Return the largest slope of the mean score within reach."""
    places = np.linspace(-3 * far, 3 * far, 61)
    means = score.mean(np.repeat(at[:, None], len(places), axis=1), at[:, None] + places)
    return float(np.max(np.diff(means, axis=1) / np.diff(places)))


@lru_cache(maxsize=16)
def _shares(dim: int) -> Array:
    from kng.estimators.planning.draws import spread_evenly

    half = spread_evenly(_DRAWS // 2, 2 * dim + 1)
    mirrored = np.column_stack([half[:, :1], 1 - half[:, 1:]])
    return np.concatenate([half, mirrored])


def _radii(dim: int) -> Array:
    """Return equally likely radii of noise at rate 1: those of a Gamma(d + 1)."""
    from scipy.special import gammaincinv

    return np.asarray(gammaincinv(dim + 1, _shares(dim)[:, 0]))


def _box(dim: int) -> Array:
    return np.asarray(2 * _shares(dim)[:, 1 : dim + 1] - 1)


def _normal(dim: int) -> Array:
    return np.asarray(normal_quantile(_shares(dim)[:, dim + 1 :]))
