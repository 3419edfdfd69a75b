"""The law of every accepted cell: exponents at every lattice point, and drawn samples."""

from __future__ import annotations

from fractions import Fraction
from itertools import cycle

import pytest
from product.axes import BASES
from product.cells import Cell, Dataset
from product.chosen import BASED, FULL, ON_LATTICES

F = Fraction


def dataset_of(cell: Cell) -> Dataset:
    """Two records that differ, neither of them in the middle."""
    universe = cell.row.universe
    return universe[0], universe[-2], universe[-1]


def close(cell: Cell, mine: Fraction, theirs: Fraction) -> bool:
    """Tell whether exponents agree: scores and largest values are rounded to public steps."""
    spare = F(1, 10**5) if cell.row.dim == 1 or not cell.row.subgradients else F(1, 10**4)
    if cell.loss.startswith("linear expectile"):
        # Slopes are bounded with the larger weight on both sides, which no record attains.
        return mine / 2 <= theirs <= mine + spare
    return abs(mine - theirs) <= spare * (1 + abs(mine))


def wrong_points(cell: Cell, base: str | None = None) -> list[str]:
    """Return where the exponent is not the one of the law in plain arithmetic."""
    dataset = dataset_of(cell)
    plan = cell.plan(len(dataset), base=base)
    field = cell.read(plan, dataset)
    wanted = cell.exponents(dataset, base=base)
    found = {k: plan.exponent(k, field.score(k)) for k in wanted}
    assert plan.domain.points >= len(wanted)
    assert all(plan.domain.contains(k) for k in wanted)
    return [
        f"{k}: {float(found[k])} for {float(g)}"
        for k, g in wanted.items()
        if not close(cell, g, found[k])
    ]


@pytest.mark.parametrize("cell", ON_LATTICES, ids=str)
def test_exponents_are_those_of_the_law_at_every_point(cell):
    assert wrong_points(cell) == []


# In a cover bases take turns, so that each meets many parts; in full each meets every cell.
_TURNS = [
    (cell, list(BASES) if FULL else [base]) for cell, base in zip(BASED, cycle(BASES), strict=False)
]


@pytest.mark.parametrize(("cell", "bases"), _TURNS, ids=str)
def test_a_base_measure_weighs_every_point(cell, bases):
    """Nothing but boxes draws from it, and no part of the law forgets it."""
    for base in bases:
        assert cell.plan(base=base).certificate.sampler.name == "branch-and-bound"
        assert wrong_points(cell, base) == []
