"""Records that stay where they are: cells, passes, and the same law as with all records at hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from samplers.laws import ALARM, p_value
from samplers.small_fields import Cut, SmallPlan
from samplers.test_expanded import check, law_of
from samplers.test_leaning import UNIT, leaning_boxes, misses, records

from kng.core.bits import SeededBits
from kng.core.boxes.expanded import expanded_covers
from kng.losses.accelerators import load_cells
from kng.losses.fields.cell_field import CellField
from kng.losses.fields.linear_field import LinearField
from kng.losses.kernels.residual_cells import Cells, ResidualCells
from kng.losses.pointwise.function import Interval
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.losses.reading import measured_in
from kng.norms import L2
from kng.samplers.exact.boxes import BoxEnvelope

FUNCTIONS = {
    "huber": Huber(Fraction(1, 10)),
    "smoothed": SmoothedPinball(Fraction(1, 4), Fraction(1, 16)),
    "narrow": SmoothedPinball(Fraction(2, 3), Fraction(1, 2**30)),
}


@pytest.fixture(autouse=True, scope="module")
def _loaded():
    load_cells()


@dataclass(frozen=True)
class AsTheyAre:
    """Whole numbers x and y already, with an intercept or without one."""

    design: SimpleNamespace

    def select(self, batch):
        return np.ascontiguousarray(batch)


@dataclass
class Batches:
    """Records that come in batches; every pass is counted."""

    batches: list[np.ndarray]
    passes: int = 0

    def reduce(self, kernel):
        self.passes += 1
        state = kernel.zero()
        for batch in self.batches:
            state = kernel.merge(state, kernel.partial(batch))
        return state


def both(function, rows, response, length, corners, unit: int = UNIT):
    """Return fields of the same records: passes, and all records at hand."""
    reach, one = Interval(Fraction(-8), Fraction(8)), Interval(Fraction(-1), Fraction(1))
    stepped = function.stepped(Fraction(1, unit), reach, one)
    largest = int(function.psi(reach, one).largest / stepped.psi_step) + 1
    table = np.column_stack([rows, response])
    intercept = bool((rows[:, 0] == 2**16).all())
    design = SimpleNamespace(dim=rows.shape[1], intercept=intercept)
    source = Batches(np.array_split(table, 7))
    passed = CellField(source, AsTheyAre(design), stepped, length, largest, corners)
    return passed, LinearField(rows, response, stepped, length, largest)


@pytest.mark.parametrize("kind", ["spread", "heaped"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_scores_are_those_of_all_records_and_expansions_hold(name, kind):
    for d in (1, 2, 3):
        rows, response = records(kind, d, 80)
        corners = (-(2**20),) * d, (2**20,) * d
        passed, home = both(FUNCTIONS[name], rows, response, lambda _, v: v, corners)
        rng = np.random.default_rng(d)
        for point in rng.integers(-(2**20), 2**20, (5, d)).tolist():
            assert passed.score(tuple(point)) == home.score(tuple(point))
        if d > 1:
            for _ in range(4):
                boxes = leaning_boxes(rng, d, 100)
                passed.foresee([tuple(int(v) for v in p) for p in boxes[-1]])
                assert misses(passed, boxes).max() <= 0


def test_without_an_intercept():
    rows, response = records("spread", 3, 80)
    corners = (-(2**20),) * 2, (2**20,) * 2
    passed, home = both(FUNCTIONS["huber"], rows[:, 1:], response, lambda _, v: v, corners)
    boxes = leaning_boxes(np.random.default_rng(5), 2, 100)
    assert misses(passed, boxes).max() <= 0
    assert passed.score((1000, -2000)) == home.score((1000, -2000))


@pytest.mark.parametrize("fault", ["low", "cross", "grain"])
def test_a_fault_in_what_is_known_of_cells_is_noticed(fault):
    rows, response = records("spread", 3, 80)
    corners = (-(2**20),) * 3, (2**20,) * 3
    passed, _ = both(FUNCTIONS["huber"], rows, response, lambda _, v: v, corners)
    tree = passed._tree
    d, groups = 3, tree.groups.copy()
    if fault == "low":  # covariates and residuals are thought to lie in their cell's upper end
        groups[:, 1 + 3 * d + d * d : 2 + 4 * d + d * d] = groups[:, 2 + 4 * d + d * d :]
    if fault == "cross":
        groups[:, 1 + d : 1 + 2 * d] *= 1 + 2.0**-20
    ramp = replace(tree.ramp, grain=0.0) if fault == "grain" else tree.ramp
    passed._known["tree"] = replace(tree, groups=groups, ramp=ramp)
    rng = np.random.default_rng(2)
    assert max(misses(passed, leaning_boxes(rng, 3, 150)).max() for _ in range(3)) > 0


@pytest.mark.parametrize("d", [1, 2, 3])
def test_neither_order_nor_batches_change_the_sums(d):
    rows, response = records("spread", d, 700)
    table = np.column_stack([rows, response])
    kernel = ResidualCells(
        AsTheyAre(SimpleNamespace(dim=d, intercept=True)), (3, -(2**17), 2**18)[:d], UNIT / 10 + 0.5
    )
    whole = Batches([table]).reduce(kernel)
    rng = np.random.default_rng(1)
    for parts in (2, 9):
        shuffled = np.array_split(rng.permutation(table), parts)
        split = [Batches([part]).reduce(kernel) for part in shuffled]
        merged = kernel.zero()
        for state in split:
            merged = kernel.merge(merged, state)
        assert np.array_equal(merged.table, whole.table)
        assert np.array_equal(Batches(shuffled).reduce(kernel).table, whole.table)
    cells = Cells.of(kernel, whole)
    e = rows @ np.array(kernel.pilot) - response
    assert cells.count.sum() == 700
    assert np.array_equal(cells.first.sum(axis=0), rows.sum(axis=0))
    assert cells.cross.sum(axis=0) == pytest.approx(e @ rows, rel=1e-12)
    assert cells.second.sum(axis=0) == pytest.approx(rows.T @ rows, rel=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_on_a_small_lattice_the_law_is_that_of_all_records(name):
    """Every point lies in one box and between its bounds, so that attempts have the law."""
    rows, response = records("heaped", 2, 60)
    corners, unit = ((-9, -9), (9, 9)), 2**20
    small = np.rint(response / UNIT * unit)
    passed, home = both(FUNCTIONS[name], rows, small, measured_in(L2()), corners, unit)
    plan = SmallPlan(Cut(*corners), L2(), Fraction(1, 2))
    gammas = {k: plan.exponent(k, home.score(k)) for k in product(range(-9, 10), repeat=2)}
    covers, late = expanded_covers(plan.domain, passed, plan.exponent_bounds)
    for cover in [*covers, *(make() for make in late)]:
        for boxes in (1, 20, 400):
            cover.refine(boxes)
            check(gammas, cover)
        envelope, bits, found = BoxEnvelope(plan, cover), SeededBits(5), []
        while len(found) < 400:
            point = envelope.first_of(8, bits)
            if point is not None:
                found.append(point)
        assert p_value(found, law_of(gammas)) > ALARM
        assert p_value(found, law_of(gammas, 2.0)) < ALARM


@pytest.mark.parametrize("heaps", ["equal", "plane", "two", "none"])
def test_any_records_end_in_few_passes(heaps):
    """Where no plane decides the records, or all are alike, nothing fails and nothing is long."""
    rows, response = records("spread", 2, 4000)
    if heaps == "equal":
        rows, response = np.repeat(rows[:1], 4000, axis=0), np.repeat(response[:1], 4000)
    if heaps == "plane":
        response = rows @ np.array([2.0**17, -(2.0**18)])
    if heaps == "two":
        at = np.arange(4000) % 2
        rows, response = rows[at], response[at]
    if heaps == "none":
        rows, response = rows[:0], response[:0]
    corners = (-(2**22),) * 2, (2**22,) * 2
    passed, _ = both(FUNCTIONS["smoothed"], rows, response, measured_in(L2()), corners)
    plan = SmallPlan(Cut(*corners), L2(), Fraction(1, 2))
    covers, _ = expanded_covers(plan.domain, passed, plan.exponent_bounds)
    for cover in covers:
        cover.refine(2**10)
        assert BoxEnvelope(plan, cover).first_of(2**12, SeededBits(1)) is not None
    assert passed.source.passes <= 20
