"""The geometric median on tiny universes: every neighbouring pair, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from audit.oracle import ADD, RELATIONS, REPLACE, Rescaled, Setting, audit, datasets, sizes

from kng.losses import Distance
from kng.mechanisms import KNG, Exponential
from kng.norms import L2

# The lattice's last point and the values of a record; some lie outside and must be clipped.
LINE = (12,), ((-3,), (1,), (6,), (7,), (20,))
PLANE = (5, 4), ((-1, -1), (0, 4), (2, 2), (3, 2), (9, 0))
SPACE = (2, 2, 2), ((0, 0, 0), (2, 2, 2), (1, 0, 2))
UNIVERSES = {"line": LINE, "plane": PLANE, "space": SPACE}
MECHANISMS = {"kng": KNG(), "exponential": Exponential()}

# Share of epsilon = 1 that the worst pair must use; measured, rounded down.
# On a line a record at theta has the score 0; elsewhere the whole ball of subgradients counts.
FLOORS = {
    ("line", REPLACE): "0.67",
    ("line", ADD): "0.89",
    ("plane", REPLACE): "0.55",
    ("plane", ADD): "0.89",
}


def verdict_of(
    universe: str,
    relation: str,
    mechanism,
    epsilon: str = "1",
    people: int = 1,
    factor: Fraction = Fraction(1),
):
    last, values = UNIVERSES[universe]
    scaled = Rescaled(mechanism, factor)
    setting = Setting(Distance(), scaled, relation, Fraction(epsilon), last, people, L2())
    return audit(setting, datasets(values, sizes(relation, 3)))


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("universe", UNIVERSES)
def test_every_neighbouring_pair_loses_at_most_epsilon(
    universe, mechanism, relation, epsilon, people
):
    verdict = verdict_of(universe, relation, MECHANISMS[mechanism], epsilon, people)
    assert verdict.private, verdict
    assert verdict.spread <= Fraction(epsilon), verdict


@pytest.mark.parametrize(("universe", "relation"), FLOORS)
def test_the_worst_pair_really_uses_its_epsilon(universe, relation):
    verdict = verdict_of(universe, relation, KNG())
    assert verdict.low >= Fraction(FLOORS[universe, relation]), verdict.tightness


@pytest.mark.parametrize(("universe", "relation"), FLOORS)
def test_a_smaller_sensitivity_is_caught(universe, relation):
    assert verdict_of(universe, relation, KNG(), factor=Fraction(1, 2)).broken
