"""Every neighbouring pair of every tiny dataset: the exact privacy loss is at most epsilon.

Two universes of five record values, all datasets of up to four records:

    full   a lattice of 5 points, every point a possible record
    wide   a lattice of 41 points; long empty runs let one record move much mass, so losses come
           close to epsilon; two values lie outside the bounds and must be clipped on the way in

No statistical error: scores are exact and exp is enclosed at 256 bits.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from audit.cases import FLOORS, FULL, PROBLEMS, WIDE
from audit.oracle import RELATIONS, Setting, audit, datasets, sizes


@pytest.mark.every(3)
@pytest.mark.parametrize("records_per_person", [1, 2])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("universe", [FULL, WIDE], ids=["full", "wide"])
def test_every_neighbouring_pair_loses_at_most_epsilon(
    universe: tuple[tuple[int, ...], tuple[int, ...]],
    name: str,
    relation: str,
    epsilon: str,
    records_per_person: int,
) -> None:
    last, values = universe
    mechanism, loss = PROBLEMS[name]
    setting = Setting(loss, mechanism, relation, Fraction(epsilon), last, records_per_person)
    verdict = audit(setting, datasets(values, sizes(relation)))
    assert verdict.private, verdict
    assert verdict.spread <= setting.epsilon, verdict


@pytest.mark.parametrize(("name", "relation"), FLOORS)
def test_the_worst_pair_really_uses_its_epsilon(name: str, relation: str) -> None:
    last, values = WIDE
    mechanism, loss = PROBLEMS[name]
    setting = Setting(loss, mechanism, relation, Fraction(1), last)
    verdict = audit(setting, datasets(values, sizes(relation)))
    assert verdict.low >= Fraction(FLOORS[name, relation]) * setting.epsilon, verdict
