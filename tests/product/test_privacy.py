"""The privacy loss of every accepted cell: all neighbours of tiny universes, all lattice points."""

from __future__ import annotations

import pytest
from product.chosen import BASED, ON_LATTICES
from product.losses import MARGIN, worst_of, worst_with_bases

# What one record does to the exponent at least, in parts of epsilon / 2, on the widest box and in
# every norm: 1 where two records attain Delta. Two records are too few for some norms, and values
# of two records stay away from the largest one.
ATTAINED = 0.99
FLOORS = {
    "location pinball d2": 0.74,
    "distance d2": 0.85,
    "linear pinball d2": 0.66,
    "linear pinball +1": 0.66,
    "linear expectile d2": 0.81,
    "location smoothed d2": 0.74,
    "linear smoothed d2": 0.66,
    "linear smoothed +1": 0.66,
}
VALUES = 0.66
# The loss itself, in parts of epsilon, needs records enough to move the normaliser as well.
LOSS = 0.19


@pytest.mark.parametrize("cell", BASED, ids=str)
def test_no_base_measure_costs_more_than_epsilon(cell):
    found = [worst_with_bases(cell, n) for n in (1, 2)]
    assert max(w.loss for w in found) <= 1 + MARGIN
    assert max(w.move for w in found) <= 1 + MARGIN


@pytest.mark.parametrize("cell", ON_LATTICES, ids=str)
def test_the_loss_is_at_most_epsilon_and_delta_is_no_larger_than_it_must_be(cell):
    found = [worst_of(cell, n) for n in (1, 2)]
    loss, move = max(w.loss for w in found), max(w.move for w in found)
    assert loss <= 1 + MARGIN
    assert move <= 1 + MARGIN
    if cell.domain == "box beyond":
        assert loss >= LOSS
        floor = VALUES if cell.mechanism == "exponential" else FLOORS.get(cell.loss, ATTAINED)
        assert move >= floor
