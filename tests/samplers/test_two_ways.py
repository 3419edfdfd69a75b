"""Proposals made for one norm and one ball against the generic sampler, on the same law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

import kng

DRAWS = 150
RNG = np.random.default_rng(11)
X = RNG.uniform(-1, 1, (60, 1))
Y = 0.5 + 0.8 * X[:, 0] + RNG.normal(0, 0.3, 60)
# The estimate lies inside the ball, or the ball cuts it off.
BALLS = {"inside": 6, "cut off": 0.7}


def draws(way: str, sampler: str, coef_bound: float, epsilon: float = 2.0) -> np.ndarray:
    fits = [
        kng.LinearRegression(
            epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-2, 2), coef_bound=coef_bound,
            mechanism=way, sampler=sampler, random_state=seed,
        ).fit(X, Y)
        for seed in range(DRAWS)
    ]  # fmt: skip
    return np.array([[fit.intercept_, *fit.coef_] for fit in fits])


def least(left: np.ndarray, right: np.ndarray) -> float:
    """Return the least p of a two-sample test over the coordinates, their sum and difference."""
    turns = np.array([[1, 0], [0, 1], [1, 1], [1, -1]])
    return min(float(ks_2samp(left @ turn, right @ turn).pvalue) for turn in turns)


@pytest.mark.every(2)
@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize(("way", "own"), [("kng", "affine"), ("exponential", "gaussian")])
def test_both_ways_have_one_law(way: str, own: str, ball: str) -> None:
    own_draws = draws(way, own, BALLS[ball])
    assert least(own_draws, draws(way, "branch-and-bound", BALLS[ball])) > 1e-4


def test_another_rate_is_another_law() -> None:
    """A rate 20 % off is far from the same law, given as many draws."""
    right, wrong = draws("kng", "affine", 6), draws("kng", "branch-and-bound", 6, epsilon=2.4)
    spread = np.std(right, axis=0) / np.std(wrong, axis=0)
    assert (spread > 1.02).all()
