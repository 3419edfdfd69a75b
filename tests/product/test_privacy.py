"""The privacy loss of every accepted cell: all neighbours of tiny universes, all lattice points."""

from __future__ import annotations

import pytest
from product.chosen import ON_LATTICES
from product.losses import MARGIN, worst_of


@pytest.mark.parametrize("cell", ON_LATTICES, ids=str)
def test_the_loss_is_at_most_epsilon_and_delta_is_no_larger_than_it_must_be(cell):
    for n in (1, 2):
        worst = worst_of(cell, n)
        assert worst.loss <= 1 + MARGIN
        assert worst.move <= 1 + MARGIN
