"""Chains of the figures against a plain chain with the paper's rates, step by step.

The plain one is written out here: a score, a rate, a ball and the same uniform numbers, which lead
both along the same path. So a chain that a figure gives a wrong rate, ball or reading of a step is
seen. That chains have the laws of exact draws where they can arrive is in the tables.
"""

from __future__ import annotations

import numpy as np
import pytest
from reproduce.predictions import SEED

from kng.reproduce import figure1, figure2, planes
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.constants import LINEAR_TRUTH, QUANTILE_TRUTH
from kng.reproduce.experiment import Task, method_bits
from kng.reproduce.figure1 import Figure1
from kng.reproduce.figure2 import Figure2

pytestmark = pytest.mark.usefixtures("kept")
LINEAR_N, MEDIAN_N = 300, 60
# method: rate, proposals, of which the reach is tuned
LINEAR = {
    "exponential-chain": (1 / 8, 10_000, 0),
    "kng-printed-chain": (1 / 16, 10_000, 0),
    "kng-derived-chain": (1 / 8, 10_000, 0),
    "kng-derived-chain-tuned": (1 / 8, 10_000, 5_000),
}
MEDIAN = {
    "exponential-printed-chain": (1 / 4, 1_000, 0),
    "exponential-derived-chain": (1 / 2, 1_000, 0),
    "kng-chain": (1 / 2, 1_000, 0),
    "kng-chain-sweeps": (1 / 2, 2_000, 0),
    "kng-chain-tuned": (1 / 2, 1_000, 500),
}


def plain(score, dim, facts, bits):
    """Return where the chain ends: one coordinate in turn, by up to 0.1 unless it is tuned."""
    rate, steps, tuned = facts
    moves, coins = bits.uniforms(steps), bits.uniforms(steps)
    theta, reach = np.zeros(dim), np.full(dim, 0.1)
    current = score(theta)
    for i in range(steps):
        trial, j = theta.copy(), i % dim
        trial[j] += reach[j] * (2 * moves[i] - 1)
        taken = False
        if np.abs(trial).sum() <= 1:
            proposed = score(trial)
            taken = np.log(coins[i]) < rate * (current - proposed)
        if taken:
            theta, current = trial, proposed
        if i < tuned:
            reach[j] *= 1.3 if taken else 1.3 ** (-44 / 56)
    return theta


def linear(replicate):
    """Return the distances to the truth of plain chains on one sample of figure 1."""
    key = (SEED, 1, replicate)
    sample = Sample(LINEAR_TRUTH, LINEAR_N, key).moments()
    A, b, R = sample.gram, sample.products / sample.largest, sample.largest

    def square(theta):
        return theta @ A @ theta - 2 * b @ theta

    def gradient(theta):
        return np.abs(A @ theta - b).max()

    return distances(LINEAR, square, gradient, R, LINEAR_TRUTH, (*key, LINEAR_N))


def median(replicate):
    """Return the same for figure 2."""
    key = (SEED, 2, replicate)
    X, response = Sample(QUANTILE_TRUTH, MEDIAN_N, key).records()
    R = np.abs(response).max()
    X, y = np.rint(X * 2**15) / 2**15, response / R  # 2**16 steps, as the library reads them

    def loss(theta):
        return np.abs(y - X @ theta).sum() / 2

    def gradient(theta):
        return np.abs(((y <= X @ theta) - 0.5) @ X).max()

    return distances(MEDIAN, loss, gradient, R, QUANTILE_TRUTH, (*key, MEDIAN_N))


def distances(methods, value, gradient, R, truth, key):
    found = {}
    for method, facts in methods.items():
        score = value if method.startswith("exponential") else gradient
        end = plain(score, len(truth), facts, method_bits(key, method))
        found[method] = float(np.linalg.norm(R * end - np.array(truth)))
    return found


def different(figure, expected, replicate=0):
    """Return the methods whose chain went elsewhere."""
    n = LINEAR_N if isinstance(figure, Figure1) else MEDIAN_N
    found = figure.measure(Task(n, replicate), SEED, tuple(expected)).errors
    return {m for m in expected if found[m] != pytest.approx(expected[m], rel=1e-6)}


def test_chains_of_figure_1_are_the_plain_ones():
    for replicate in range(2):
        assert different(Figure1(), linear(replicate), replicate) == set()


def test_chains_of_figure_2_are_the_plain_ones():
    for replicate in range(3):
        assert different(Figure2(), median(replicate), replicate) == set()


def test_a_wrong_constant_is_seen(monkeypatch):
    monkeypatch.setattr(figure1, "as_printed", lambda epsilon: epsilon)
    assert different(Figure1(), linear(0)) == {"kng-printed-chain"}
    monkeypatch.setattr(figure2, "exponential_as_printed", lambda epsilon, _: epsilon)
    assert "exponential-printed-chain" in different(Figure2(), median(0))


def test_another_ball_is_seen(monkeypatch):
    for part in (figure1, planes):
        ball = part.L1Ball
        monkeypatch.setattr(part, "L1Ball", lambda b, ball=ball, **dim: ball(b / 2, **dim))
    assert different(Figure1(), linear(0)) == set(LINEAR)
    assert different(Figure2(), median(0)) == set(MEDIAN)


def test_another_reading_of_a_step_is_seen(monkeypatch):
    monkeypatch.setattr(figure2, "CHAIN", figure2.CHAIN.sweeping(2))
    assert {"kng-chain", "kng-chain-sweeps"} <= different(Figure2(), median(0))


def test_where_the_law_is_narrow_single_proposals_lag():
    """n = 10^6: 10,000 proposals have not arrived, 10,000 sweeps and a tuned reach nearly have."""
    chains = ("kng-derived-chain", "kng-derived-chain-sweeps", "kng-derived-chain-tuned")
    found = Figure1().measure(Task(10**6, 0), SEED, ("kng-derived", *chains)).errors
    assert found["kng-derived-chain"] > 2 * found["kng-derived"]
    assert found["kng-derived-chain-sweeps"] < 2 * found["kng-derived"]
    assert found["kng-derived-chain-tuned"] < 2 * found["kng-derived"]
