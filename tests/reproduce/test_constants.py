"""The paper's constants, and that the library's plans are what Theorem 3.1 gives."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from kng.core.quadratic import AffineGradient
from kng.mechanisms import KNG, Exponential, ObjectivePerturbation
from kng.reproduce import constants, figure1, figure2
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.chain import REACH, Chain
from kng.reproduce.constants import EPSILON, LINEAR_TRUTH, B
from kng.samplers.chains.metropolis import Metropolis
from kng.samplers.real.space import Scale


@pytest.fixture(scope="module")
def paper():
    return figure1.Paper(Sample(LINEAR_TRUTH, 500, (1,)).moments())


def test_the_numbers_of_the_figures():
    assert figure1.printed_rate() == 1 / 16
    assert figure1.derived_rate() == 1 / 8
    assert figure2.rates() == (1 / 4, 1 / 2)
    assert figure2.kng_rate() == 1 / 2


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


def test_the_compiled_chain_walks_as_the_library_s(paper):
    """The same uniforms lead both chains along the same path."""
    field = paper.field
    plan = KNG().plan(paper.regression, EPSILON)
    steps = 3000
    slow = theta_of(Metropolis(steps=steps, reach=REACH).draw(plan, field, figure_bits()), plan)
    fast = Chain(steps).gradient(
        field.matrix, field.vector, figure1.derived_rate(), float(B), figure_bits()
    )
    np.testing.assert_allclose(fast, slow, rtol=0, atol=float(plan.grid.step[0]))
    rival = Exponential().plan(paper.regression, EPSILON)
    slow = theta_of(Metropolis(steps=steps, reach=REACH).draw(rival, field, figure_bits()), rival)
    rate = float(constants.exponential_linear(EPSILON, B))
    fast = Chain(steps).square(field.matrix, field.vector, rate, float(B), figure_bits())
    np.testing.assert_allclose(fast, slow, rtol=0, atol=float(plan.grid.step[0]))
    assert isinstance(field, AffineGradient)


def theta_of(point, plan):
    """Chains return the nearest lattice point."""
    return [float(v) for v in plan.grid.theta(point)]


def figure_bits():
    from kng.core.bits import SeededBits

    return SeededBits(7)
