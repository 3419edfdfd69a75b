"""Objective perturbation of the smoothed check loss is drawn from its own density.

    C exp( -rate || 1/2 Huber's gradient + (1/2 - tau) sum z + gamma theta || ) det(Hessian + gamma)

False-alarm rate 1e-6 a test, seeds fixed, and every test must reject rates that are 20 % off.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from regression.formulas import derivatives_of
from regression.quadrature import verdict
from regression.setting import ADD, NORMS, REPLACE, Array, problem
from regression.test_laws_objective import drawn, judge, outliers

from kng.bases import Uniform
from kng.data import open_regression
from kng.domains import Whole
from kng.losses import SmoothedPinball
from kng.mechanisms import ObjectivePerturbation

TAU = Fraction(3, 10)


@pytest.mark.parametrize(("d", "n", "relation"), [(1, 10, REPLACE), (2, 12, ADD)])
def test_draws_from_records_have_the_law(d: int, n: int, relation: str) -> None:
    X, y = outliers(n, d)
    regression = problem(
        d,
        n=n,
        norm=NORMS["linf"],
        relation=relation,
        pointwise=SmoothedPinball(TAU, 1),
        domain=Whole(d, base=Uniform()),
        unit=8,
    )
    plan = ObjectivePerturbation(Fraction(3, 4)).plan(regression, Fraction(6))
    [field] = plan.read(open_regression(X, y, regression.records), [plan])
    # psi lies in [-tau, 1 - tau], its slope is 1/2 at most, and |z_j| <= 1
    rate = 0.75 * 6 / (1.4 if relation == REPLACE else 0.7)
    ridge = d / 2 / np.expm1(1.5)
    assert float(plan.rate) == pytest.approx(rate)
    assert float(plan.ridge) == pytest.approx(ridge, rel=1e-5)
    huber, push = derivatives_of(X, y, 2 * ridge, 1.0), float(Fraction(1, 2) - TAU) * X.sum(axis=0)

    def derivatives(theta: Array) -> tuple[Array, tuple[Array, ...]]:
        gradient, upper = huber(theta)
        return gradient / 2 + push, tuple(part / 2 for part in upper)

    draws = drawn(plan, field, 35, 2000)
    reach = 1.5 * float(np.abs(draws).sum(axis=1).max())
    verdict(judge(draws, derivatives, rate, "linf", reach=reach, ball=False))
