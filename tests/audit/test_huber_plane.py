"""KNG for Huber's loss on tiny universes: every neighbouring pair, exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from audit.oracle import ADD, RELATIONS, REPLACE, Setting, audit, datasets, sizes
from kng.core.sensitivity import Constant
from samplers.test_huber_draws import plan_of

from kng.core.privacy import PrivacyUnit
from kng.losses import HuberPlane
from kng.mechanisms import KNG

# Covariates and a response, some far outside; the threshold is 1/2.
RECORDS = ((-1, 0), (1, 0), (-1, 10**9), (1, -(10**9)), (0, 1))


def verdict_of(relation: str, epsilon: int = 1, people: int = 1, factor: Fraction = Fraction(1)):
    setting = Setting(HuberPlane, KNG(), relation, Fraction(epsilon), (0, 0), people)

    def plan(n: int):
        plan = plan_of(2, 4, epsilon=epsilon, adding=relation == ADD, records=n)
        unit = PrivacyUnit(plan.problem.unit.neighbours, people)
        delta = Constant(factor * plan.sensitivity.at((0, 0)))
        return replace(plan, problem=replace(plan.problem, unit=unit), sensitivity=delta)

    return audit(setting, datasets(RECORDS, sizes(relation, 3)), plan_of=plan)


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("epsilon", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_neighbouring_pair_loses_at_most_epsilon(relation, epsilon, people):
    verdict = verdict_of(relation, epsilon, people)
    assert verdict.private, verdict
    assert verdict.spread <= epsilon, verdict


@pytest.mark.parametrize(("relation", "floor"), [(REPLACE, "0.55"), (ADD, "0.55")])
def test_the_worst_pair_really_uses_its_epsilon(relation, floor):
    assert verdict_of(relation).low >= Fraction(floor), verdict_of(relation).tightness
    assert verdict_of(relation, factor=Fraction(1, 2)).broken
