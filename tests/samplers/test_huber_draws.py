"""KNG for Huber's loss: laws on small lattices, bounds of every box, scores in whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from samplers.laws import ALARM, p_value
from samplers.test_curved import boxes_of, draws, exponents, law_of

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.data import open_regression
from kng.domains import Box
from kng.estimators.regression import encoded
from kng.losses import HuberPlane
from kng.mechanisms import KNG
from kng.norms import LInf
from kng.release import certified
from kng.samplers.branch_and_bound import BranchAndBound, envelope_of
from kng.samplers.expansions import expand, width


def plan_of(
    dim: int, reach: int, *, epsilon: int = 1, adding: bool = False, records: int = 30
) -> DensityPlan:
    """Return a plan on the lattice of steps 4 / reach within +-4 thresholds of 1/2."""
    covariates = Bounds((Fraction(-1),) * (dim - 1), (Fraction(1),) * (dim - 1))
    scale = Fraction(1, 2)
    encoding = encoded(covariates, (-(2**19) * Fraction(1), 2**19 * Fraction(1), scale / 2**20))
    step = Fraction(4, reach)
    answers = Lattice((-step * reach,) * dim, (step,) * dim, (2 * reach,) * dim)
    unit = PrivacyUnit(AddRemove() if adding else ReplaceOne(records))
    problem = Problem(
        HuberPlane(Design(encoding, True, scale)),
        LInf(),
        Box((-reach,) * dim, (reach,) * dim),
        encoding,
        answers,
        unit,
    )
    plan = certified(KNG().plan(problem, Fraction(epsilon)))
    assert isinstance(plan, DensityPlan)
    return plan


def field_of(plan: DensityPlan, n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, plan.domain.dim - 1))
    y = 0.3 + 0.8 * X.sum(axis=1) + 0.5 * rng.normal(size=n)
    X[: n // 6], y[: n // 6] = 0.5, 9.0
    return plan.problem.loss.read_gradient(open_regression(X, y, plan.problem.records), [plan])[0]


CASES = {
    "d = 2": {"dim": 2, "reach": 8, "epsilon": 2},
    "add-remove": {"dim": 2, "reach": 8, "epsilon": 1, "adding": True},
    "d = 3": {"dim": 3, "reach": 4, "epsilon": 1},
}


@pytest.mark.parametrize("case", CASES)
def test_the_law_is_the_stated_one(case):
    plan = plan_of(**CASES[case])
    field = field_of(plan, 30)
    gammas = exponents(plan, field)
    found = draws(envelope_of(plan, field), 3000)
    assert p_value(found, law_of(gammas)) > ALARM
    assert p_value(found, law_of(gammas, 1.2)) < ALARM


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("n", "seed"), [(40, 1), (40, 2), (3, 3), (1, 4), (400, 5)])
@pytest.mark.parametrize("target", [None, 0.9])
def test_boxes_cover_the_domain_once_and_their_bounds_hold(case, n, seed, target):
    plan = plan_of(**CASES[case], records=n)
    field = field_of(plan, n, seed)
    gammas = exponents(plan, field)
    envelope = envelope_of(plan, field)
    if target is not None:
        envelope._cover.refine(target)
    seen = []
    for points, lower, upper in boxes_of(envelope):
        inside = [k for k in points if k in gammas]
        seen += inside
        assert all(lower <= gammas[k] for k in inside)
        if math.isfinite(upper):
            assert len(inside) == len(points)
            assert all(gammas[k] <= upper for k in inside)
    assert sorted(seen) == sorted(gammas)


def test_scores_are_what_rational_arithmetic_gives():
    plan = plan_of(2, 2**20)
    field, rng = field_of(plan, 50), np.random.default_rng(1)
    for theta in rng.integers(-(2**20), 2**20, (20, 2)).tolist():
        total = [Fraction(0)] * 2
        for x, y in zip(field.rows, field.response, strict=True):
            x = [int(v) for v in x]
            r = (sum(a * b for a, b in zip(x, theta, strict=True)) - int(y)) / Fraction(field.bend)
            psi = Fraction(math.trunc(min(max(r, -1), 1) * 2**24), 2**24)
            total = [a + psi * Fraction(b, 2**16) for a, b in zip(total, x, strict=True)]
        assert field.score(tuple(theta)) == max(abs(v) for v in total)


@pytest.mark.parametrize("radius", [10.0, 1e5, 1e7])
def test_expansions_hold_within_their_radius(radius):
    plan = plan_of(3, 2**20)
    field, rng = field_of(plan, 60), np.random.default_rng(3)
    d, out, centre = 3, np.zeros(width(3)), np.array([2.0**17, 2.0**18, 2.0**17])
    expand(1, field.rows, field.response, field.bend, centre, radius, out)
    outs, g = out[d + 4 : 2 * d + 4], out[2 * d + 4 : 3 * d + 4]
    hessian, worst = out[4 * d + 4 :].reshape(d, d), 0.0
    for _ in range(500):
        step = rng.normal(size=d)
        step *= radius * rng.random() / np.linalg.norm(step)
        residual = (field.rows @ (centre + step) - field.response) / field.bend
        there = np.clip(residual, -1, 1) @ field.rows
        worst = max(worst, float((np.abs(there - g - hessian @ step) / outs).max()))
    assert worst <= 1
    assert radius < 1e6 or worst > 0.1


@pytest.mark.parametrize("n", [0, 1, 500])
def test_degenerate_data_do_not_stall(n):
    plan = plan_of(3, 2**24, adding=True)
    source = open_regression(np.full((n, 2), 0.3), np.full(n, 0.2), plan.problem.records)
    field = plan.problem.loss.read_gradient(source, [plan])[0]
    assert plan.domain.contains(BranchAndBound().draw(plan, field, SeededBits(1)))
