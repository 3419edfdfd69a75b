"""KNG for Huber's loss on tiny universes: every neighbouring pair, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from audit.oracle import ADD, RELATIONS, REPLACE, Verdict, audit, datasets, sizes
from audit.planes import HuberPlane

# Covariates and a response, some far outside.
RECORDS = ((-1, 0), (1, 0), (-1, 10**9), (1, -(10**9)), (0, 1))
PLANE = {"mechanism": "kng", "threshold": Fraction(1, 2), "end": 1, "reach": 4}


def verdict_of(
    relation: str, epsilon: int = 1, people: int = 1, factor: Fraction = Fraction(1)
) -> Verdict:
    setting = HuberPlane(
        relation, epsilon=Fraction(epsilon), records_per_person=people, factor=factor, **PLANE
    )
    return audit(setting, datasets(RECORDS, sizes(relation, 3)))


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
