"""Branch and bound on expansions draws the stated law: small lattices, every box, every tape."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from audit.oracle import PRECISION, ball
from flint import arb, ctx
from samplers.laws import ALARM, p_value
from samplers.tapes import enumerate_tapes

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.protocols import Point
from kng.data import open_source
from kng.domains import Box
from kng.losses import GeometricMedian
from kng.mechanisms import KNG, Exponential
from kng.norms import L2, LInf
from kng.release import certified
from kng.samplers.branch_and_bound import BoxEnvelope, BranchAndBound, envelope_of
from kng.samplers.expansions import expand, width


def plan_of(
    last: Point,
    *,
    epsilon: int = 1,
    mechanism: KNG | Exponential | None = None,
    adding: bool = False,
    records: int = 30,
    sampler: str = "auto",
) -> DensityPlan:
    """Return a plan for points of 0 .. last, in steps of one."""
    d = len(last)
    bounds = Bounds((Fraction(0),) * d, tuple(Fraction(k) for k in last))
    encoding = Encoding(bounds, (Fraction(1),) * d, (0,) * d)
    unit = PrivacyUnit(AddRemove() if adding else ReplaceOne(records))
    lattice = encoding.lattice
    problem = Problem(GeometricMedian(), L2(), Box.of(lattice), encoding, lattice, unit)
    plan = certified((mechanism or KNG()).plan(problem, Fraction(epsilon)), sampler)
    assert isinstance(plan, DensityPlan)
    return plan


def field_of(plan: DensityPlan, x):
    loss, source = plan.problem.loss, open_source(x, plan.problem.records)
    return (loss.read_value if plan.score == "value" else loss.read_gradient)(source, [plan])[0]


def cloud(last: Point, n: int, seed: int = 0):
    """Return points around the middle, a sixth of them equal."""
    rng = np.random.default_rng(seed)
    x = np.array(last) * (0.45 + 0.2 * rng.normal(size=(n, len(last))) * [1.0, *([0.4] * (len(last) - 1))])
    x[: n // 6] = np.array(last) // 3
    return x


def exponents(plan: DensityPlan, field) -> dict[Point, Fraction]:
    ranges = [range(a, b + 1) for a, b in zip(plan.domain.first, plan.domain.last, strict=True)]
    return {k: plan.exponent(k, field.score(k)) for k in product(*ranges)}


def law_of(gammas: dict[Point, Fraction], rate: float = 1.0) -> dict[Point, float]:
    least = min(gammas.values())
    weights = {k: math.exp(-rate * float(g - least)) for k, g in gammas.items()}
    total = sum(weights.values())
    return {k: w / total for k, w in weights.items()}


def draws(envelope: BoxEnvelope, size: int) -> list[Point]:
    bits = SeededBits(5)
    found: list[Point] = []
    while len(found) < size:
        point = envelope.first_of(24, bits)
        if point is not None:
            found.append(point)
    return found


CASES = {
    "plane": {"last": (16, 16), "epsilon": 2},
    "add-remove": {"last": (16, 12), "epsilon": 1, "adding": True},
    "d = 3": {"last": (8, 8, 6), "epsilon": 2},
    "line": {"last": (40,), "epsilon": 1},
    "exponential": {"last": (16, 16), "epsilon": 6, "mechanism": Exponential()},
}


@pytest.mark.parametrize("case", CASES)
def test_the_law_is_the_stated_one(case):
    plan = plan_of(**CASES[case])
    field = field_of(plan, cloud(plan.domain.last, 30))
    gammas = exponents(plan, field)
    found = draws(envelope_of(plan, field), 5000)
    assert p_value(found, law_of(gammas)) > ALARM
    assert p_value(found, law_of(gammas, 1.2)) < ALARM


def boxes_of(envelope: BoxEnvelope):
    """Yield the points of every box with its bounds."""
    boxes = envelope._cover._boxes
    d = len(boxes.pilot)
    for box in boxes.live():
        corner, sides = boxes.whole[box, :d], boxes.whole[box, d : 2 * d]
        u = np.array(
            list(product(*(range(a, a + 2**e) for a, e in zip(corner, sides, strict=True))))
        )
        points = [boxes.point(t) for t in boxes.sheared(u)]
        yield points, boxes.lower(np.array([box]))[0], boxes.upper(np.array([box]))[0]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("n", "seed"), [(40, 1), (40, 2), (3, 3), (1, 4), (400, 5)])
@pytest.mark.parametrize("target", [None, 0.9])
def test_boxes_cover_the_domain_once_and_their_bounds_hold(case, n, seed, target):
    plan = plan_of(**CASES[case], records=n)
    field = field_of(plan, cloud(plan.domain.last, n, seed))
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
