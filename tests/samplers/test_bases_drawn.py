"""What is drawn where a base measure weighs theta: the law that says so, and no other."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from samplers.laws import ALARM, p_value

from kng.bases import Density, Gaussian, HeavyTailed, Student, Uniform
from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.encoding import Encoding
from kng.core.lattice import Lattice
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.corridor import certified
from kng.data import open_source
from kng.domains import Box, L1Ball
from kng.losses import Distance, Location, Pinball, Squared
from kng.mechanisms import KNG, Exponential
from kng.norms import L2, LInf
from kng.samplers.exact.boxes import BoxEnvelope, covers_of

F = Fraction
DRAWS = 2500
# Shapes that no score has: off to one side, with a heavy tail, with a step up.
BASES = {
    "gaussian": Gaussian(2, centre=9),
    "student": Student(1, 2, centre=9),
    "heavy": HeavyTailed(2),
    "table": Density(edges=[-20, 2, 7, 40], weights=[1, 9, 30]),
}


def base_of(name: str, d: int) -> Any:
    if name != "table" or d == 1:
        return BASES[name]
    weights = [[1, 9, 30], [2, 2, 2], [40, 1, 8]]
    return Density(edges=[[-20, 2, 7, 40]] * 2, weights=weights)


LOSSES = {
    "median": (Location(Pinball(F(1, 2))), KNG(), LInf()),
    "mean": (Location(Squared()), KNG(), LInf()),
    "mean by value": (Location(Squared()), Exponential(), LInf()),
    "distance": (Distance(), KNG(), L2()),
    "distance by value": (Distance(), Exponential(), L2()),
}


def planned(loss: str, base: Any, d: int, domain: Any = None, epsilon: int = 2) -> DensityPlan:
    function, mechanism, norm = LOSSES[loss]
    records = Encoding(Bounds((F(0),) * d, (F(12),) * d), (F(1),) * d, (0,) * d)
    space = domain or Box(0, 12, d, base=base)
    unit = PrivacyUnit(ReplaceOne(6))
    over = function.over(records)
    points = space.on(over.grid)
    answers = over.grid.between(points.first, points.last)
    problem = Problem(over, norm, space, records, answers, unit)
    return certified(mechanism.plan(problem, F(epsilon)))


def field_of(plan: DensityPlan, d: int) -> Any:
    for load in plan.loaders:
        load()
    rows = np.array([[2, 8], [3, 3], [4, 4], [4, 1], [5, 6], [6, 2]], float)[:, :d]
    return plan.read(open_source(rows, plan.problem.records), [plan])[0]


def points(plan: DensityPlan) -> list[tuple[int, ...]]:
    sides = zip(plan.domain.first, plan.domain.last, strict=True)
    found = product(*(range(a, b + 1) for a, b in sides))
    return [k for k in found if plan.domain.contains(k)]


def law(plan: DensityPlan, field: Any, rate: float = 1, weigh: float = 1) -> dict[Any, float]:
    """Return the law by brute force, from scores and log densities: no exponent of the plan's."""
    every = points(plan)
    theta = np.array([[float(v) for v in plan.grid.theta(k)] for k in every])
    logs = weigh * plan.problem.domain.base.log_density(theta)
    scores = np.array([float(field.score(k)) for k in every])
    deltas = np.array([float(plan.delta_at(k)) for k in every])
    logs = logs - rate * float(plan.epsilon) / 2 * scores / deltas
    mass = np.exp(logs - logs.max())
    return dict(zip(every, mass / mass.sum(), strict=True))


def drawn(plan: DensityPlan, field: Any, seed: int, boxes: int = 12) -> list[tuple[int, ...]]:
    """Draw with few boxes, so that acceptance does most of the work."""
    covers, _ = covers_of(plan, field)
    covers[0].refine(boxes)
    envelope, bits = BoxEnvelope(plan, covers[0]), SeededBits(seed)
    found = [envelope.first_of(10**5, bits) for _ in range(DRAWS)]
    assert None not in found
    return found


CASES = [
    *((loss, "gaussian", 1) for loss in LOSSES),
    *(("median", name, 1) for name in BASES if name != "gaussian"),
    *(("mean", name, 2) for name in BASES),
    ("distance", "student", 2),
]


@pytest.mark.every(2)
@pytest.mark.parametrize(("loss", "name", "d"), CASES)
def test_the_law_is_the_score_times_the_base(loss, name, d):
    plan = planned(loss, base_of(name, d), d)
    assert plan.certificate.sampler.name == "branch-and-bound"
    assert plan.certificate.guarantee.value == "exact"
    field = field_of(plan, d)
    found = drawn(plan, field, seed=10 * len(loss) + d)
    assert p_value(found, law(plan, field)) > ALARM
    # Nothing else would pass: the base forgotten, or counted twice.
    assert p_value(found, law(plan, field, weigh=0)) < ALARM
    assert p_value(found, law(plan, field, weigh=2)) < ALARM


@pytest.mark.parametrize("name", BASES)
def test_a_rate_that_is_a_fifth_off_is_noticed(name):
    plan = planned("mean", base_of(name, 2), 2, epsilon=8)
    field = field_of(plan, 2)
    found = drawn(plan, field, seed=5)
    assert p_value(found, law(plan, field)) > ALARM
    for rate in (0.8, 1.2):
        assert p_value(found, law(plan, field, rate=rate)) < ALARM


def test_a_ball_and_a_whole_draw_are_weighed_too():
    ball = L1Ball(9, 2, base=Gaussian(1, centre=[4, -3]))
    plan = planned("distance", None, 2, ball)
    field = field_of(plan, 2)
    bits = SeededBits(8)
    found = [plan.certificate.sampler.draw(plan, field, bits) for _ in range(400)]
    assert p_value(found, law(plan, field)) > ALARM
    assert p_value(found, law(plan, field, weigh=0)) < ALARM


def test_a_base_forgotten_in_acceptance_is_caught(monkeypatch):
    plan = planned("median", BASES["gaussian"], 1)
    field = field_of(plan, 1)
    right = law(plan, field)

    def forgetful(self, point, score):
        return self.epsilon * score / (2 * self.delta_at(point))

    monkeypatch.setattr(DensityPlan, "exponent", forgetful)
    # Boxes know of the base, so that an exponent without it lies below their bounds.
    with pytest.raises(AssertionError, match="below its box's bound"):
        drawn(plan, field, seed=3, boxes=64)
    # With bounds that forget it as well the law is another one.
    monkeypatch.setattr("kng.core.exponents.base_bounds", lambda *_: (0.0, 0.0))
    assert p_value(drawn(plan, field, seed=3), right) < ALARM


def test_a_uniform_base_costs_nothing_and_changes_no_draw():
    plain, stated = planned("mean", Uniform(), 1), planned("mean", BASES["gaussian"], 1)
    assert plain.offers == {"score", "line"}
    assert plain.certificate.sampler.name == "order"
    assert stated.offers == {"score", "enclosed"}
    assert plain.base_bounds is None
    flat = Density(edges=[-20, 40], weights=[7])
    field = field_of(plain, 1)
    weighed = planned("mean", flat, 1)
    found = drawn(weighed, field_of(weighed, 1), seed=4)
    exponents = [plain.exponent(k, field.score(k)) for k in points(plain)]
    mass = [math.exp(-float(v)) for v in exponents]
    same = {k: m / sum(mass) for k, m in zip(points(plain), mass, strict=True)}
    assert p_value(found, same) > ALARM


def test_nobody_covers_what_a_base_weighs():
    plan = planned("distance", BASES["gaussian"], 2)
    assert "covered" not in plan.offers
    assert "covered" in planned("distance", Uniform(), 2).offers


def test_a_base_narrower_than_a_step_is_drawn_and_a_needle_is_refused():
    narrow = planned("mean", Gaussian("1/50", centre=7), 1)
    field = field_of(narrow, 1)
    assert set(drawn(narrow, field, seed=1)[:50]) == {(7,)}
    with pytest.raises(Exception, match=r"falls by a factor of more than exp\(2\*\*40\)"):
        planned("mean", Gaussian(F(1, 10**8)), 1)


def test_answers_come_from_the_lattice_of_the_domain():
    answers = planned("mean", Gaussian(3, centre=20), 1, Box(-5, 30, 1, base=Gaussian(3, 20)))
    assert answers.problem.answers == Lattice((F(-5),), (F(1),), (35,))
