"""The paper's constants, and that the library's plans are what Theorem 3.1 gives."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from kng.mechanisms import KNG, Exponential, ObjectivePerturbation
from kng.reproduce import constants, figure1, figure2
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.constants import EPSILON, LINEAR_TRUTH, B
from kng.reproduce.planes import Planes
from kng.samplers.real.space import Scale


@pytest.fixture(scope="module")
def paper():
    return figure1.Paper(Sample(LINEAR_TRUTH, 500, (1,)).moments())


def test_the_numbers_of_the_figures():
    assert figure1.derived_rate() == 1 / 8
    assert figure1.as_printed(Fraction(3)) == Fraction(3, 2)
    for tau in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        assert figure2.exponential_as_printed(Fraction(3), tau) == Fraction(3, 2)
    assert figure2.kng_as_printed(Fraction(1), Fraction(1, 2)) == 1
    assert figure2.kng_as_printed(Fraction(1), Fraction(9, 10)) == 9  # what it costs


@pytest.mark.parametrize("tau", [Fraction(1, 2), Fraction(9, 10)])
def test_quantile_planes_have_the_derived_rates(tau):
    X, y = Sample((0.0, -1.0), 50, (1,)).records()
    planes = Planes(X, y / np.abs(y).max(), tau)
    plan = planes.kng_plan(EPSILON)
    rate = plan.exponent(plan.domain.first, Fraction(1))
    assert rate == constants.kng_quantile_derived(EPSILON, tau, Fraction(1))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 3)])
def test_the_library_derives_the_same_rates(paper, epsilon):
    problem = paper.regression
    kng = KNG().plan(problem, epsilon)
    assert float(kng.rate) / Scale.of(kng).bound == pytest.approx(
        float(constants.kng_linear_derived(epsilon, B))
    )
    assert kng.ridge == 0
    printed = KNG().plan(problem, epsilon / 2)
    assert float(printed.rate) / Scale.of(printed).bound == pytest.approx(
        float(constants.kng_linear_printed(epsilon, B))
    )
    # ours is half the squared loss, and so half of its sensitivity
    rival = Exponential().plan(problem, epsilon)
    assert float(rival.rate) / Scale.of(rival).bound / 2 == pytest.approx(
        float(constants.exponential_linear(epsilon, B))
    )
    objective = ObjectivePerturbation(Fraction(1, 2)).plan(problem, epsilon)
    assert objective.rate / 2 == pytest.approx(float(constants.objective_noise(epsilon, B)))
    gamma = 2 * 12 / (exp(float(epsilon) / 2) - 1)
    assert objective.ridge * 2 == pytest.approx(gamma)


def test_printed_and_derived_quantile_constants():
    tau = Fraction(9, 10)
    assert constants.kng_quantile_printed(EPSILON, tau, Fraction(1)) == Fraction(5, 2)
    assert constants.kng_quantile_derived(EPSILON, tau, Fraction(1)) == Fraction(5, 18)
    assert constants.quantile_printed(EPSILON, tau) == 5 * constants.quantile_derived(EPSILON)
    half = Fraction(1, 2)
    for pair in (
        (constants.kng_quantile_printed, constants.kng_quantile_derived),
        (constants.exponential_quantile_printed, constants.exponential_quantile_derived),
    ):
        printed, derived = (rate(EPSILON, half, Fraction(1)) for rate in pair)
        assert derived / printed in (1, 2)
