"""The figures have the errors that a short program predicts, and wrong constants are seen.

Each constant is put wrong on purpose, in the library or in the figure; the check that holds for the
right one must then fail. `predictions.py` says what is predicted, and how.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from reproduce.predictions import (
    Some,
    assert_predicted,
    linear,
    median_normal,
    median_small,
    run,
)

from kng.core.delta import Delta
from kng.mechanisms import ObjectivePerturbation
from kng.norms import LInf
from kng.reproduce import figure1
from kng.reproduce.figure1 import Figure1
from kng.reproduce.figure2 import Figure2

pytestmark = pytest.mark.usefixtures("kept")

LARGE = Figure1(sizes=(10**5,), replicates=40)
DRAWN = ("exponential", "kng-printed", "kng-derived")
RIVALS = ("exponential-printed", "exponential-derived")
NORMAL = Some(Figure2(sizes=(3000,), replicates=100), *RIVALS)
# At n = 100 the noise is as large as the estimate's own error, and the ball cuts the rival's law.
FEW = Figure2(sizes=(100,), replicates=120)


def wrong():
    return pytest.raises(AssertionError, match="times the prediction")


def test_figure_1():
    assert_predicted(run(Some(LARGE, *DRAWN, "objective-perturbation")), linear)


@pytest.mark.parametrize("factor", [Fraction(1, 2), 2])
@pytest.mark.parametrize("drawn", [("exponential",), DRAWN[1:]], ids=["value", "gradient"])
def test_a_wrong_delta_is_seen(monkeypatch, drawn, factor):
    right = Delta.over
    monkeypatch.setattr(Delta, "over", lambda *public: right(*public) * factor)
    with wrong():
        assert_predicted(run(Some(LARGE, *drawn)), linear)


def test_a_wrong_split_of_epsilon_is_seen(monkeypatch):
    uneven = ObjectivePerturbation(Fraction(9, 10))
    monkeypatch.setattr(figure1, "ObjectivePerturbation", lambda *_: uneven)
    with wrong():
        assert_predicted(run(Some(LARGE, "objective-perturbation")), linear)


def test_half_the_noise_in_the_objective_is_seen(monkeypatch):
    right = LInf.noise
    monkeypatch.setattr(LInf, "noise", lambda *given: [value / 2 for value in right(*given)])
    with wrong():
        assert_predicted(run(Some(LARGE, "objective-perturbation")), linear)


def test_figure_2():
    assert_predicted(run(NORMAL), median_normal)
    assert_predicted(run(Some(FEW, *RIVALS, "kng")), median_small)


def test_a_wrong_rate_of_the_rival_is_seen():
    double = replace(NORMAL.figure, epsilon=2 * NORMAL.figure.epsilon)
    with wrong():
        assert_predicted(run(Some(double, *RIVALS)), median_normal)
    with wrong():
        twice = replace(FEW, epsilon=2 * FEW.epsilon)
        assert_predicted(run(Some(twice, "exponential-derived")), median_small)


def test_a_wrong_rate_of_kng_is_seen():
    with wrong():
        twice = replace(FEW, epsilon=2 * FEW.epsilon)
        assert_predicted(run(Some(twice, "kng")), median_small)
