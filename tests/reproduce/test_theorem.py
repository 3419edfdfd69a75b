"""Theorem 3.2, measured: the limit is reached for linear regression and not for the median."""

from __future__ import annotations

from fractions import Fraction
from math import pi, sqrt

import numpy as np
import pytest
from scipy.stats import gamma, kstest

from kng.core.bits import SeededBits, simulator
from kng.reproduce.algorithm1 import Sample, SampleMoments
from kng.reproduce.claimed_limit import even_records, kink_distance
from kng.reproduce.constants import LINEAR_TRUTH, QUANTILE_TRUTH
from kng.reproduce.minimisers import geometric_median, kinked_minimiser
from kng.reproduce.theorem import (
    LEVELS,
    Theorem,
    floor,
    knorm,
    kolmogorov,
    limit_hessian,
    total_variation,
)

SIZES = (10**4, 10**5)
SMALL = Theorem(draws=1500)


def by_size(measure):
    """Return means over three samples of each size, by method."""
    found = {n: [measure(n, k) for k in range(3)] for n in SIZES}
    return {
        (method, n): np.mean([each[method] for each in found[n]])
        for n in SIZES
        for method in found[n][0]
    }


@pytest.fixture(scope="module")
def linear():
    def measure(n, k):
        return SMALL.linear(Sample(LINEAR_TRUTH, n, (4, k)).moments(), SeededBits(k))[0]

    return by_size(measure)


@pytest.fixture(scope="module")
def quantile():
    def measure(n, k):
        return SMALL.quantile(Sample(QUANTILE_TRUTH, n, (4, k)), SeededBits(k))

    return by_size(measure)


def fall(found, method):
    return np.log10(found[method, SIZES[1]] / found[method, SIZES[0]])


def test_linear_regression_reaches_its_limit(linear):
    assert linear["distance-linear", 10**5] < 0.06
    assert linear["distance-linear", 10**5] < linear["distance-linear", 10**4] / 2
    _, radii = SMALL.linear(Sample(LINEAR_TRUTH, 10**5, (4, 0)).moments(), SeededBits(0))
    assert [radii[f"{q:.2f}"] for q in LEVELS] == pytest.approx(gamma.ppf(LEVELS, 12), rel=0.06)


def test_the_noise_falls_like_one_over_n_and_the_rival_s_like_its_root(linear, quantile):
    assert fall(linear, "noise-kng") == pytest.approx(-1, abs=0.08)
    assert fall(linear, "noise-exponential") == pytest.approx(-0.5, abs=0.04)
    assert fall(quantile, "noise-quantile") == pytest.approx(-1, abs=0.35)


def test_median_regression_keeps_its_distance_at_a_fixed_epsilon(quantile):
    # 1,500 draws of the limit itself are 0.02 away, and 0.05 with probability 0.001
    assert quantile["distance-quantile", 10**5] > 0.05
    assert quantile["distance-quantile-vanishing", 10**5] < 0.04
    assert (
        quantile["distance-quantile-vanishing", 10**5]
        < quantile["distance-quantile-vanishing", 10**4]
    )


def test_n_times_the_noise_of_the_geometric_median_is_flat():
    """The limit law, were there one: c ||H z|| is Gamma(2), H = sqrt(pi / 8) I, c = 1/4."""
    limit = 2 / (sqrt(pi / 8) / 4)
    few = Theorem(draws=16 * 400)
    for n in (300, 3000):
        points = simulator(4, n).standard_normal((n, 2))
        noise = few.geometric(np.clip(points, -4, 4), SeededBits(n))
        # 400 draws of a length with a coefficient of variation of 0.71; samples differ by more
        assert n * noise == pytest.approx(limit, rel=0.25)


def test_a_kink_keeps_its_distance_to_the_claimed_limit():
    """z + 2 round(z) against z for even records, by quadrature; and nearly that for uniform."""
    z = np.arange(-120, 120, 0.01) + 0.005
    law, limit = np.exp(-np.abs(z + 2 * np.round(z)) / 6), np.exp(-np.abs(z) / 6)
    far = np.abs(law / law.sum() - limit / limit.sum()).sum() / 2
    assert far == pytest.approx(0.388, abs=5e-4)
    for n in (1000, 4000):
        assert kink_distance(even_records(n), Fraction(1)) == pytest.approx(far, abs=2e-3)
    uniform = simulator(5).uniform(-0.5, 0.5, 2000)
    assert 0.25 < kink_distance(uniform, Fraction(1)) < 0.5
    # at so small an n the ball of radius 1/2 cuts the claimed limit as well
    assert kink_distance(even_records(20), Fraction(1)) > 0.3


def test_minimisers_are_minimal():
    points = simulator(6).standard_normal((500, 2))
    theta = geometric_median(points)
    apart = theta - points
    pull = (apart / np.linalg.norm(apart, axis=1)[:, None]).sum(axis=0)
    assert np.abs(pull).max() < 1e-9
    for n in (2, 7, 400):
        x = simulator(7, n).uniform(-0.5, 0.5, n)
        found = kinked_minimiser(x)
        grid = np.concatenate([np.linspace(-0.5, 0.5, 2001), x, [found]])[:, None]
        values = ((grid - x) ** 2 / 2 + np.abs(grid - x)).sum(axis=1)
        assert values[-1] <= values.min() + 1e-12


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
