"""Numbers that were found by hand, asked of whole problems."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from product.axes import LOSSES

from kng.core.bounds import Bounds
from kng.core.delta import delta
from kng.core.design import Design, from_zero
from kng.core.encoding import Encoding
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.regions import Region
from kng.domains import Box, L1Ball
from kng.losses import Linear, Location, Pinball, Squared
from kng.losses.kernels.held import Held
from kng.losses.linear_encoding import encoded, linear_lattice
from kng.mechanisms import KNG
from kng.norms import InterceptSup, LInf

F = Fraction
ONE = F(1)


def mean_plan(presence, n: int):
    """The mean of records between -1 and 1, anywhere in [-8, 8]."""
    records = Encoding(Bounds((-ONE,), (ONE,)), (ONE,), (0,))
    unit = PrivacyUnit(ReplaceOne(n), presence=presence)
    loss = Location(Squared()).over(records)
    problem = Problem(loss, LInf(), Box(-8, 8, dim=1), records, records.lattice, unit)
    return KNG().plan(problem, ONE)


def largest_loss(plan, n: int) -> float:
    """Return the largest loss where records of a dataset may be absent."""
    logs = {}
    points = [(k,) for k in range(-7, 10)]
    for m in range(n + 1):
        for dataset in combinations_with_replacement((0, 1, 2), m):
            rows = np.array(dataset, dtype=float).reshape(-1, 1)
            (field,) = plan.problem.loss.read(Held(rows), [plan])
            gamma = np.array([float(plan.exponent(k, field.score(k))) for k in points])
            logs[dataset] = -gamma - np.logaddexp.reduce(-gamma)
    pairs = [(rest, tuple(sorted((*rest, x)))) for rest in logs if len(rest) < n for x in (0, 1, 2)]
    return max(float(np.abs(logs[a] - logs[b]).max()) for a, b in pairs)


@pytest.mark.parametrize("theta", [0, 1, 3, 8])
def test_an_absent_record_counts_in_the_mean_beyond_the_bounds(theta):
    """max(2, 1 + |theta|): a record at the far bound, or none."""
    plan = mean_plan("optional", 5)
    assert plan.delta.over(Region.at((F(theta),))) == max(2, 1 + theta)
    assert mean_plan("always", 5).delta.over(Region.at((F(theta),))) == 2


def test_without_absences_in_delta_the_loss_is_more_than_twice_epsilon():
    n = 12
    assert largest_loss(mean_plan("optional", n), n) <= 1 + 1e-9
    assert largest_loss(mean_plan("always", n), n) > 2


@pytest.mark.parametrize("theta", [(0, 0), (F(1, 2), 0), (2, -1), (-3, F(1, 2))])
def test_an_absent_record_counts_in_the_intercept_of_least_squares(theta):
    """max(2 T_0, 1 + ||theta||_1) with T_0 = 1 + |theta_1|."""
    loss = LOSSES["linear squared +1"].loss
    body = loss.body(Region.at(tuple(map(F, theta))))
    first = LInf(weights=(1, F(1, 10**6)))  # looks at the intercept alone
    length = sum(abs(F(t)) for t in theta)
    intercept = 2 * (1 + abs(F(theta[1])))
    for presence, expected in (("always", intercept), ("optional", max(intercept, 1 + length))):
        assert delta(first, body, PrivacyUnit(ReplaceOne(5), presence=presence)) == expected


def test_a_constant_delta_is_that_of_the_worst_theta_not_of_all_thetas_together():
    """One-sided least squares with one coefficient in [-1, 1]: 2, where the union has 3."""
    records = encoded(Bounds((F(0),), (ONE,)), from_zero(F(0), ONE, 2**16), from_zero)
    design = Design(records, False)
    answers = linear_lattice(Squared(), design, ONE)
    loss = Linear(Squared(), intercept=False).over(design, answers)
    unit = PrivacyUnit(ReplaceOne(5))
    problem = Problem(loss, LInf(), L1Ball(1, dim=1), records, answers, unit)
    assert KNG().plan(problem, ONE).steady == 2


def test_a_linear_body_is_a_product_set():
    """tau = 0.9 in its optimal norm: 1, where a segment times a box has 1.444."""
    row = LOSSES["linear pinball +1"]
    loss = Linear(Pinball("0.9")).over(row.loss.design, row.answers, F(0))
    body = loss.body(Region.between((-ONE, -ONE), (ONE, ONE)))
    norm = InterceptSup(F(5, 9))
    assert delta(norm, body, PrivacyUnit(ReplaceOne(5))) == 1
    assert delta(norm, body, PrivacyUnit(AddRemove())) == F(9, 10)
    assert norm.value((ONE, F(18, 10))) == F(13, 9)
