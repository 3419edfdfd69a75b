"""Theorem 3.2, measured: the limit is reached for linear regression and not for the median."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gamma, kstest

from kng.core.bits import SeededBits
from kng.reproduce.algorithm1 import SampleMoments
from kng.reproduce.experiment import Task
from kng.reproduce.theorem import (
    LEVELS,
    Theorem,
    floor,
    knorm,
    kolmogorov,
    limit_hessian,
    total_variation,
)


@pytest.fixture(scope="module")
def measured():
    experiment = Theorem(sizes=(10**4, 10**5), replicates=3, draws=1500)
    return {task: experiment.measure(task, 4) for task in experiment.tasks()}


def mean(measured, method, n):
    return np.mean([found.errors[method] for task, found in measured.items() if task.n == n])


def test_linear_regression_reaches_its_limit(measured):
    assert mean(measured, "distance-linear", 10**5) < 0.06
    assert mean(measured, "distance-linear", 10**5) < mean(measured, "distance-linear", 10**4) / 2
    radii = measured[Task(10**5, 0)].facts
    assert [radii[f"{q:.2f}"] for q in LEVELS] == pytest.approx(gamma.ppf(LEVELS, 12), rel=0.06)


def test_the_noise_falls_like_one_over_n_and_the_rival_s_like_its_root(measured):
    fall = {
        method: np.log10(mean(measured, method, 10**5) / mean(measured, method, 10**4))
        for method in ("noise-kng", "noise-exponential", "noise-quantile")
    }
    assert fall["noise-kng"] == pytest.approx(-1, abs=0.08)
    assert fall["noise-exponential"] == pytest.approx(-0.5, abs=0.04)
    assert fall["noise-quantile"] == pytest.approx(-1, abs=0.35)


def test_median_regression_keeps_its_distance_at_a_fixed_epsilon(measured):
    # 1,500 draws of the limit itself are 0.02 away, and 0.05 with probability 0.001
    assert mean(measured, "distance-quantile", 10**5) > 0.05
    assert mean(measured, "distance-quantile-vanishing", 10**5) < 0.04
    assert mean(measured, "distance-quantile-vanishing", 10**5) < mean(
        measured, "distance-quantile-vanishing", 10**4
    )


def test_total_variation_is_nothing_for_the_limit_itself():
    n, d = 10**6, 12
    moments = SampleMoments(n, n * limit_hessian(d), np.zeros(d), np.zeros(d), 1.0)
    here = lambda matrix: total_variation(  # noqa: E731
        SampleMoments(n, matrix, np.zeros(d), np.zeros(d), 1.0),
        np.zeros(d),
        1 / 8,
        SeededBits(1),
        4000,
    )
    assert here(moments.gram) == pytest.approx(0, abs=1e-9)
    # c ||(1 + t) H z||: Gamma(12) against Gamma(12) stretched by 1.2
    x = np.linspace(0, 60, 200_001)
    exact = np.trapezoid(np.maximum(0, gamma.pdf(x, 12) - gamma.pdf(x * 1.2, 12) * 1.2), x)
    assert here(1.2 * moments.gram) == pytest.approx(exact, abs=0.03)


def test_total_variation_is_one_where_the_ball_cuts_all_away():
    moments = SampleMoments(100, 100 * limit_hessian(12), np.zeros(12), np.zeros(12), 1.0)
    centre = np.full(12, 0.5)
    assert total_variation(moments, centre, 1 / 8, SeededBits(1), 1000) == 1


def test_the_floor_is_the_distance_of_the_limit_itself():
    found = [kolmogorov(-np.log(SeededBits(k).uniforms(500)), 1) for k in range(200)]
    error = np.std(found) / np.sqrt(200)
    # the mean for finite samples is less by 1/(6 draws), a hundredth of it here
    assert abs(np.mean(found) - floor(500)) < 5 * error + 0.01 * floor(500)


def test_noise_and_distance_agree_with_scipy():
    u = knorm(SeededBits(3), 4000, 5, 2.0)
    radius = 2 * np.abs(u).max(axis=1)
    assert kstest(radius, gamma(5).cdf).pvalue > 1e-6
    assert kolmogorov(radius, 5) == pytest.approx(kstest(radius, gamma(5).cdf).statistic)
