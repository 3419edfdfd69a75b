"""Chains against exact draws: alike where a chain can arrive, and not where the law is too narrow.

A chain's error on a sample is compared with the mean error of exact draws on the same sample; the
library's tests say that exact draws have their laws. Both run through the figures, so a chain that
a figure gives a wrong rate or ball is seen.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from reproduce.predictions import LIMIT, SEED, Some, run

from kng.reproduce import figure1, figure2, planes
from kng.reproduce.experiment import Task
from kng.reproduce.figure1 import Figure1
from kng.reproduce.figure2 import Figure2

pytestmark = pytest.mark.usefixtures("kept")

# At the smaller n the ball decides, at the larger the rates.
LINEAR = Figure1(sizes=(10**2, 10**4), replicates=40)
MEDIAN = Figure2(sizes=(10, 300), replicates=24)
LINEAR_CHAINS = (
    "exponential-chain",
    "kng-printed-chain",
    "kng-derived-chain",
    "kng-derived-chain-sweeps",
    "kng-derived-chain-tuned",
)
MEDIAN_CHAINS = (
    "exponential-printed-chain",
    "exponential-derived-chain",
    "kng-chain",
    "kng-chain-sweeps",
    "kng-chain-tuned",
)


def exact(chain):
    """Return the method that a chain stands for."""
    return chain.partition("-chain")[0]


def assert_arrived(found, drawn):
    """Chains are as far from the truth as exact draws, on average."""
    for n in sorted({task.n for task in found}):
        tasks = [task for task in found if task.n == n]
        for chain in found[tasks[0]].errors:
            ends = np.array([found[task].errors[chain] for task in tasks])
            draws = np.array([drawn[task].errors[exact(chain)] for task in tasks])
            excess = ends - draws
            off = excess.mean() / (excess.std(ddof=1) / sqrt(len(tasks)))
            ratio = ends.mean() / draws.mean()
            assert abs(off) < LIMIT, f"{chain} is {ratio:.2f} times exact draws at n = {n}"


@pytest.fixture(scope="module")
def linear_draws():
    return run(Some(LINEAR, *map(exact, LINEAR_CHAINS)))


@pytest.fixture(scope="module")
def median_draws():
    return run(Some(MEDIAN, *map(exact, MEDIAN_CHAINS)))


def test_chains_of_figure_1_arrive_at_moderate_n(linear_draws):
    assert_arrived(run(Some(LINEAR, *LINEAR_CHAINS)), linear_draws)


def test_chains_of_figure_2_arrive_at_moderate_n(median_draws):
    assert_arrived(run(Some(MEDIAN, *MEDIAN_CHAINS)), median_draws)


def wrong():
    return pytest.raises(AssertionError, match="times exact draws")


def test_a_chain_with_the_other_constant_is_seen(monkeypatch, linear_draws):
    with monkeypatch.context() as patch, wrong():
        patch.setattr(figure1, "as_printed", lambda epsilon: epsilon)
        assert_arrived(run(Some(LINEAR, "kng-printed-chain")), linear_draws)
    with wrong():
        half = replace(LINEAR, epsilon=LINEAR.epsilon / 2)
        assert_arrived(run(Some(half, "kng-derived-chain")), linear_draws)


def test_a_chain_on_another_ball_is_seen(monkeypatch, linear_draws, median_draws):
    for part in (figure1, planes):
        ball = part.L1Ball
        monkeypatch.setattr(part, "L1Ball", lambda b, ball=ball, **dim: ball(2 * b, **dim))
    for method in ("exponential-chain", "kng-printed-chain", "kng-derived-chain"):
        with wrong():
            assert_arrived(run(Some(LINEAR, method)), linear_draws)
    for method in ("exponential-printed-chain", "kng-chain"):
        with wrong():
            assert_arrived(run(Some(MEDIAN, method)), median_draws)


def test_a_chain_of_figure_2_with_another_rate_is_seen(monkeypatch, median_draws):
    monkeypatch.setattr(figure2, "exponential_as_printed", lambda epsilon, _: epsilon)
    with wrong():
        assert_arrived(run(Some(MEDIAN, "exponential-printed-chain")), median_draws)


def test_where_the_law_is_narrow_single_proposals_lag():
    """n = 10^6: 10,000 proposals have not arrived, 10,000 sweeps and a tuned reach nearly have."""
    methods = ("kng-derived", *(m for m in LINEAR_CHAINS if m.startswith("kng-derived")))
    found = Figure1().measure(Task(10**6, 0), SEED, methods).errors
    assert found["kng-derived-chain"] > 2 * found["kng-derived"]
    assert found["kng-derived-chain-sweeps"] < 2 * found["kng-derived"]
    assert found["kng-derived-chain-tuned"] < 2 * found["kng-derived"]
