"""The loss with a kink keeps the promises of a pointwise function."""

from __future__ import annotations

from fractions import Fraction

import pytest
from conformance.pointwise import conforms

import kng
from kng.core.errors import KngError
from kng.reproduce.kinked import Kinked


def test_it_conforms():
    def truth(eta, y):
        r = eta - y
        return r + (r > 0) - (r < 0), r * r / 2 + abs(r)

    conforms(Kinked(), truth)


def test_its_sensitivity_is_the_width_and_the_jump():
    half = Fraction(1, 2)
    kinked = kng.KNG(kng.losses.Location(Kinked()), domain=kng.domains.Box(-half, half))
    assert kinked.plan(bounds=(-half, half), epsilon=1).sensitivity([0.0]) == 3


def test_objective_perturbation_refuses_it():
    linear = kng.ObjectivePerturbation(kng.losses.Linear(Kinked()))
    with pytest.raises(KngError):
        linear.plan(bounds_X=(-1, 1), bounds_y=(-1, 1), epsilon=1)
