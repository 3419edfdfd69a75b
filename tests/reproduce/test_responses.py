"""The law of a response, and of the largest of n, without simulation."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from kng.reproduce.algorithm1 import Sample
from kng.reproduce.constants import LINEAR_TRUTH, QUANTILE_TRUTH
from kng.reproduce.responses import beyond, median_largest, some_beyond


def test_without_covariates_it_is_the_normal_law():
    for t in (0.3, 1.0, 4.0):
        assert beyond(t, (0.0,)) == pytest.approx(erfc(t / sqrt(2)), rel=1e-9)


def test_one_covariate_by_quadrature():
    for t in (0.5, 2.0, 4.0):
        exact = quad(lambda x, t=t: (norm.sf(t - x) + norm.cdf(-t - x)) / 2, -1, 1)[0]
        assert beyond(t, QUANTILE_TRUTH) == pytest.approx(exact, rel=1e-9)


def test_twelve_coefficients_by_simulation():
    _, y = Sample(LINEAR_TRUTH, 400_000, (2,)).records()
    for t in (1.0, 3.0, 61 / 11):
        p = beyond(t, LINEAR_TRUTH)
        assert abs((np.abs(y) > t).mean() - p) < 5 * sqrt(p * (1 - p) / len(y))


def test_the_largest_of_n():
    largest = [Sample(LINEAR_TRUTH, 1000, (3, k)).moments().largest for k in range(400)]
    p = some_beyond(5.0, LINEAR_TRUTH, 1000)
    assert abs((np.array(largest) > 5.0).mean() - p) < 5 * sqrt(p * (1 - p) / 400)
    for n in (10**2, 10**7):
        assert some_beyond(median_largest(LINEAR_TRUTH, n), LINEAR_TRUTH, n) == pytest.approx(0.5)
