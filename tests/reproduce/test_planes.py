"""Quantile planes over the library's parts: laws against quadrature, with their power shown."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chi2

from kng.core.bits import SeededBits
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.constants import QUANTILE_TRUTH
from kng.reproduce.planes import Planes, drawn
from kng.reproduce.simplex import quantile_regression
from kng.reproduce.witness import diamond, middles
from kng.samplers.chains.metropolis import Metropolis

FINE, COARSE = 400, 10
HALF, ONE = Fraction(1, 2), Fraction(1)


def planes(n, seed, tau=HALF):
    X, y = Sample(QUANTILE_TRUTH, n, (seed,)).records()
    return Planes(X, y / np.abs(y).max(), tau)


def cell(theta):
    """Return the coarse cell of the diamond that a point lies in."""
    s, t = theta[:, 0] + theta[:, 1], theta[:, 0] - theta[:, 1]
    index = np.clip(((np.stack([s, t]) + 1) / 2 * COARSE).astype(int), 0, COARSE - 1)
    return index[0] * COARSE + index[1]


def gradient(given, theta):
    below = given.y <= theta @ given.X.T
    return np.abs((below - float(given.tau)) @ given.X).max(axis=1)


def loss(given, theta):
    residual, tau = given.y - theta @ given.X.T, float(given.tau)
    return np.maximum(tau * residual, (tau - 1) * residual).sum(axis=1)


def expected(score, given, rate):
    theta = diamond(middles(FINE))
    logs = -rate * score(given, theta)
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


@pytest.mark.parametrize("tau", [HALF, Fraction(4, 5)])
def test_many_draws_have_the_law(tau):
    """exp(-eps / (4 max(tau, 1 - tau)) ||gradient||), over the ball."""
    given = planes(40, 11, tau)
    shares = expected(gradient, given, 1 / (4 * float(max(tau, 1 - tau))))
    plan = given.kng_plan(ONE)
    found = drawn(plan, given.field(plan), SeededBits(5), 3000)
    assert p_value(found, shares) > 1e-6
    slow = given.kng_plan(Fraction(7, 10))
    assert p_value(drawn(slow, given.field(slow), SeededBits(6), 3000), shares) < 1e-6


@pytest.mark.parametrize("kind", ["kng", "exponential"])
def test_releases_have_the_law(kind):
    given = planes(25, 12)
    score = {"kng": gradient, "exponential": loss}[kind]
    shares = expected(score, given, 1 / 2)
    released = getattr(given, kind)
    found = np.array([released(ONE, SeededBits(k)) for k in range(500)])
    assert p_value(found, shares) > 1e-6
    wrong = np.array([released(3 * ONE, SeededBits(k)) for k in range(500)])
    assert p_value(wrong, shares) < 1e-6


def test_draws_stay_in_the_ball_and_near_the_estimate_at_large_n():
    given = planes(20_000, 4)
    plan = given.kng_plan(ONE)
    found = drawn(plan, given.field(plan), SeededBits(1), 200)
    assert np.abs(found).sum(axis=1).max() <= 1
    assert np.abs(found - quantile_regression(given.X, given.y, 0.5)).max() < 0.02


def test_a_long_chain_agrees_with_exact_draws():
    given, bits = planes(60, 8), SeededBits(2)
    shares = expected(gradient, given, 0.5)
    chain = Metropolis(400, tuning=200)
    ends = [given.kng_chain(chain, ONE, bits) for _ in range(70)]
    assert p_value(np.array(ends), shares) > 1e-6
    short = [given.kng_chain(Metropolis(8), ONE, bits) for _ in range(70)]
    assert p_value(np.array(short), shares) < 1e-6


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
