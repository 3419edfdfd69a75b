"""The exponential mechanism is drawn from its density, d = 1 and 2.

    exp( -rate / Delta * sum of losses )   on the l1 ball, Delta = (1 + B)^2 / 2

False-alarm rate 1e-6 a test, seeds fixed, and every test must reject rates that are 20 % off.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from regression.quadrature import cells, diamond, into_square, p_value, verdict
from regression.setting import Array, accepted, field_of, problem, with_ones

from kng.core.bits import SeededBits
from kng.mechanisms import Exponential
from kng.samplers.real.gaussian import coefficients


def line(n: int, d: int, size: float = 0.6) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, d))
    return X, np.clip(X @ np.linspace(size, -size / 2, d) + 0.2 * rng.normal(size=n), -1, 1)


EXPONENTIAL = {
    # name: dimension, records, size of the truth, radius, epsilon, intercept
    "d1-inside": (1, 60, 0.5, Fraction(2), 4, False),
    "d1-outside": (1, 40, 0.9, Fraction(1, 2), 4, False),
    "d2-inside": (2, 100, 0.5, Fraction(3, 2), 8, False),
    "d2-outside": (2, 16, 0.9, Fraction(1, 2), 8, False),
    "d2-far-outside": (2, 100, 0.9, Fraction(1, 4), 8, False),
    "d2-flat": (2, 3, 0.5, Fraction(1), 16, False),
    "d2-intercept": (2, 100, 0.5, Fraction(3, 2), 8, True),
    "d2-collinear": (2, 60, 0.5, Fraction(1), 8, False),
}


@pytest.mark.parametrize("name", EXPONENTIAL)
def test_exponential_mechanism(name: str) -> None:
    d, n, size, radius, epsilon, intercept = EXPONENTIAL[name]
    X, y = line(n, d - intercept, size)
    if name == "d2-collinear":
        X[:, 1] = X[:, 0]
    Z = with_ones(X, intercept)
    plan = Exponential().plan(
        problem(d, n=n, radius=radius, intercept=intercept), Fraction(epsilon)
    )
    field = field_of(Z, y)

    def log_density(square: Array) -> tuple[Array, Array]:
        theta = float(radius) * diamond(square)
        losses = sum((y[i] - theta @ Z[i]) ** 2 / 2 for i in range(n))
        return np.zeros(len(square)), epsilon / (1 + float(radius)) ** 2 * losses

    law = cells(log_density, d)
    draws = accepted(plan, field, 60_000, seed=21)
    counts = law.counts(into_square(draws, float(radius)))
    verdict({factor: p_value(counts, mass) for factor, mass in law.mass.items()})


def test_exponential_draw_keeps_the_law() -> None:
    X, y = line(60, 1, 0.9)
    plan = Exponential().plan(problem(1, n=60, radius=Fraction(1, 2)), Fraction(4))
    bits = SeededBits(22)
    drawn = np.array([coefficients(plan, field_of(X, y), bits) for _ in range(2500)])

    def log_density(square: Array) -> tuple[Array, Array]:
        theta = square / 2
        losses = sum((y[i] - theta[:, 0] * X[i, 0]) ** 2 / 2 for i in range(60))
        return np.zeros(len(square)), 4 / 1.5**2 * losses

    law = cells(log_density, 1, parts=(3, 3))
    counts = law.counts(into_square(drawn, 0.5))
    verdict({factor: p_value(counts, mass) for factor, mass in law.mass.items()})
