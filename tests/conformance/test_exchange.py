"""The norm of counts keeps what is asked of every norm, and knows the moments of its ball."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from conformance.norm_checks import conforms

from kng.norms import Exchange


def test_the_norm_conforms():
    def square(vector: tuple[F, ...]) -> F:
        up, down = ([s * v for v in vector if s * v > 0] for s in (1, -1))
        return max(sum(up, F(0)), sum(down, F(0))) ** 2

    conforms(lambda _: Exchange(), square)


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_mean_squares_of_a_uniform_point(dim):
    points = np.random.default_rng(1).uniform(-1, 1, (400_000, dim))
    up, down = np.maximum(points, 0).sum(axis=1), np.maximum(-points, 0).sum(axis=1)
    inside = points[np.maximum(up, down) <= 1]
    assert Exchange().second_moments(dim) == pytest.approx((inside**2).mean(axis=0), rel=0.03)
