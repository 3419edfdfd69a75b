"""Objective perturbation of the logistic loss is drawn from its own density, d = 1 and 2.

    inside       C exp( -rate ||gradient|| ) det(Hessian)
    on a ball    what falls into the normal cone of each edge and vertex, atoms included

with the true gradient of the loss, which the auditor computes record by record. False-alarm rate
1e-6 a test, seeds fixed, and every test must reject rates that are 20 % off.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from regression.formulas import Derivatives, length
from regression.quadrature import verdict
from regression.setting import NORMS, REPLACE, Array, relation_of
from regression.test_laws_objective import judge

from kng.bases import Uniform
from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.data import open_regression
from kng.domains import L1Ball, Whole
from kng.losses import Linear, Logistic
from kng.mechanisms import ObjectivePerturbation
from kng.samplers.exact.objective import Perturbed


def derivatives_of(Z: Array, y: Array, ridge: float) -> Derivatives:
    """Return gradient and Hessian of the logistic loss, record by record."""
    d = Z.shape[1]
    pairs = [(i, j) for i in range(d) for j in range(i, d)]

    def derivatives(theta: Array) -> tuple[Array, tuple[Array, ...]]:
        gradient = ridge * theta
        upper = [np.full(len(theta), ridge * (i == j)) for i, j in pairs]
        for z, label in zip(Z, y, strict=True):
            p = 1 / (1 + np.exp(-(theta @ z)))
            gradient = gradient + np.outer(p - label, z)
            upper = [u + p * (1 - p) * z[i] * z[j] for u, (i, j) in zip(upper, pairs, strict=True)]
        return gradient, tuple(upper)

    return derivatives


LOGISTIC = {
    # name: dimension, records, radius, norm, epsilon, share, relation, draws
    "d1": (1, 10, None, "linf", 6, None, REPLACE, 2500),
    "d2": (2, 12, None, "l2", 6, Fraction(3, 4), REPLACE, 2000),
    "d2-ball": (2, 12, Fraction(2), "linf", 6, Fraction(3, 4), REPLACE, 2000),
}


@pytest.mark.parametrize("name", LOGISTIC)
def test_objective_perturbation_of_the_logistic_loss(name: str) -> None:
    d, n, radius, norm, epsilon, share, relation, size = LOGISTIC[name]
    rng = np.random.default_rng(8)
    X = np.rint(rng.uniform(-1, 1, (n, d)) * 16) / 16  # points of the records' lattice
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-X @ np.linspace(3, -2, d)))).astype(float)
    loss = Linear(Logistic(), intercept=False)
    ends = Fraction(-1), Fraction(1)
    design = loss.encode(Bounds((ends[0],) * d, (ends[1],) * d), (Fraction(0), Fraction(1)))
    domain = Whole(d, base=Uniform()) if radius is None else L1Ball(radius, dim=d)
    unit = PrivacyUnit(relation_of(relation, n), 1)
    asked = Problem(loss.over(design), NORMS[norm], domain, design.records, design.lattice, unit)
    plan = ObjectivePerturbation(share).plan(asked, Fraction(epsilon))
    q, corner = float(plan.share), length(np.ones((1, d)), norm)[0]
    # One record changes 2 sigma(T), T the largest |z'theta|: the radius, on a ball.
    most = 1.0 if radius is None else 1 / (1 + np.exp(-float(radius)))
    rate = q * epsilon / (corner * most * (2 if relation == REPLACE else 1))
    ridge = d / 4 / np.expm1((1 - q) * epsilon)
    field = loss.over(design).read(open_regression(X, y, design.records), [plan])[0]
    bits = SeededBits(41)
    draws = np.array(
        [plan.lattice.units(Perturbed().draw(plan, field, bits)) for _ in range(size)], dtype=float
    )
    reach = float(radius or 0) or 1.5 * float(np.abs(draws).sum(axis=1).max())
    found = judge(
        draws,
        derivatives_of(X, y, ridge),
        rate,
        norm,
        reach=reach,
        ball=radius is not None,
        crowded=radius is not None,
    )
    verdict(found)
