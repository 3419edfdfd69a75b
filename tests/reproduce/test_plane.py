"""Two coefficients drawn from leaves: the law against quadrature, with its power shown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chi2

from kng.core.bits import SeededBits
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.chain import Chain
from kng.reproduce.constants import QUANTILE_TRUTH
from kng.reproduce.plane import BOUNDS, Leaves, gradient_score, loss_score
from kng.reproduce.simplex import quantile_regression
from kng.reproduce.witness import diamond, middles

FINE, COARSE = 600, 10


def records(n, seed):
    X, y = Sample(QUANTILE_TRUTH, n, (seed,)).records()
    return X, y / np.abs(y).max()


def cell(theta):
    """Return the coarse cell of the diamond that a point lies in."""
    s, t = theta[:, 0] + theta[:, 1], theta[:, 0] - theta[:, 1]
    index = np.clip(((np.stack([s, t]) + 1) / 2 * COARSE).astype(int), 0, COARSE - 1)
    return index[0] * COARSE + index[1]


def expected(score, X, y, rate):
    theta = diamond(middles(FINE))
    logs = -rate * np.array([score(X, y, t) for t in theta])
    weights = np.exp(logs - logs.max())
    return np.bincount(cell(theta), weights, COARSE**2) / weights.sum()


def p_value(drawn, shares):
    counts = np.bincount(cell(drawn), minlength=COARSE**2)
    large = shares * len(drawn) >= 8
    seen = np.append(counts[large], counts[~large].sum())
    wanted = np.append(shares[large], shares[~large].sum()) * len(drawn)
    keep = wanted > 0
    statistic = ((seen[keep] - wanted[keep]) ** 2 / wanted[keep]).sum()
    return chi2.sf(statistic, keep.sum() - 1)


@pytest.mark.parametrize(("score", "n", "rate"), [(gradient_score, 40, 0.5), (loss_score, 60, 0.5)])
def test_the_law(score, n, rate):
    X, y = records(n, 11)
    shares = expected(score, X, y, rate)
    drawn = Leaves.grown(score, X, y, rate, 1.0).draw(SeededBits(5), 8000)
    assert p_value(drawn, shares) > 1e-6
    wrong = Leaves.grown(score, X, y, 0.8 * rate, 1.0).draw(SeededBits(6), 8000)
    assert p_value(wrong, shares) < 1e-6  # a rate 20 % off is seen


@pytest.mark.parametrize("score", [gradient_score, loss_score])
def test_every_box_bounds_its_score_from_below(score):
    X, y = records(200, 3)
    generator = np.random.default_rng(1)
    middles = generator.uniform(-0.7, 0.7, (40, 2))
    halves = 10.0 ** generator.uniform(-4, -0.3, 40)
    low, centre = np.empty(40), np.empty(40)
    BOUNDS[score](X, y, middles, halves, low, centre)
    for b in range(40):
        assert centre[b] == pytest.approx(score(X, y, middles[b]))
        for _ in range(50):
            point = middles[b] + halves[b] * generator.uniform(-1, 1, 2)
            assert score(X, y, point) >= low[b] - 1e-9


def test_draws_stay_in_the_ball_and_near_the_estimate_at_large_n():
    X, y = records(20_000, 4)
    leaves = Leaves.grown(gradient_score, X, y, 0.5, 1.0)
    assert len(leaves.halves) < 3000
    drawn = leaves.draw(SeededBits(1), 200)
    assert np.abs(drawn).sum(axis=1).max() <= 1
    assert np.abs(drawn - quantile_regression(X, y, 0.5)).max() < 0.02


def test_a_long_chain_agrees_with_exact_draws():
    X, y = records(60, 8)
    shares = expected(gradient_score, X, y, 0.5)
    bits = SeededBits(2)
    ends = [Chain(2000, 1000).check(gradient_score, X, y, 0.5, 1.0, bits) for _ in range(3000)]
    assert p_value(np.array(ends), shares) > 1e-6


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.75])
@pytest.mark.parametrize("dim", [2, 4])
def test_the_simplex_walk_finds_the_minimum(tau, dim):
    truth = (0.0, *np.linspace(-1, 1, dim - 1))
    for seed in range(4):
        X, y = Sample(truth, 150, (seed, dim)).records()
        theta = quantile_regression(X, y, tau)
        residual = y - X @ theta
        found = np.where(residual > 0, tau * residual, (tau - 1) * residual).sum()
        n = len(y)
        costs = np.concatenate([np.zeros(2 * dim), np.full(n, tau), np.full(n, 1 - tau)])
        equal = np.hstack([X, -X, np.eye(n), -np.eye(n)])
        best = linprog(costs, A_eq=equal, b_eq=y).fun
        assert found == pytest.approx(best, abs=1e-9)
        assert (np.abs(residual) < 1e-9).sum() == dim
