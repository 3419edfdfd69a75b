"""Records of linear models, expanded over sheared boxes: what holds, what is kept, how few."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from samplers.laws import ALARM, p_value
from samplers.small_fields import Cut, SmallPlan
from samplers.test_expanded import holding, law_of

from kng.core.bits import SeededBits
from kng.core.boxes.covering import Leaning
from kng.core.boxes.expanded import expanded_covers
from kng.core.boxes.halving import CERTAIN, ENVELOPE, REAL
from kng.losses.fields.linear_field import LinearField
from kng.losses.pointwise.expectile import Expectile
from kng.losses.pointwise.function import Interval
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.logistic import Logistic
from kng.losses.pointwise.pinball import Pinball
from kng.losses.reading import measured_in
from kng.norms import L1, L2, Polytope
from kng.samplers.exact.boxes import BoxEnvelope

FUNCTIONS = {
    "huber": Huber(Fraction(1, 10)),
    "logistic": Logistic(),
    "expectile": Expectile(Fraction(4, 5)),
    "pinball": Pinball(Fraction(1, 4)),
}
HEXAGON = Polytope([[1, 0, 0], [0.5, 0.8, 0], [-0.5, 0.8, 0], [0.2, 0.3, 1]])
NORMS = {"l1": L1(), "l2": L2(), "hexagon": HEXAGON}
UNIT = 2**36  # whole numbers of y; theta is in steps of 2**-20


def records(kind: str, d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return covariates between -1 and 1 with an intercept, and responses, in whole numbers."""
    rng = np.random.default_rng(3)
    z = np.ones((n, d))
    if kind == "heaped":
        z[:, 1:] = rng.integers(0, 4, (n, d - 1)) / 4 - 0.9
    else:
        z[:, 1:] = np.clip(
            0.8 * rng.uniform(-1, 1, (n, 1)) + 0.1 * rng.normal(size=(n, d - 1)), -1, 1
        )
    y = z @ np.full(d, 0.2) + 0.2 * rng.standard_t(3, size=n)
    y = np.clip(np.rint(8 * y) / 8 if kind == "heaped" else y, -1, 1)
    return np.rint(z * 2**16), np.rint(y * UNIT)


def field_of(name: str, kind: str, d: int, n: int, length) -> LinearField:
    rows, response = records(kind, d, n)
    if name == "logistic":
        response = (response > 0) * float(UNIT)
    reach, one = Interval(Fraction(-8), Fraction(8)), Interval(Fraction(-1), Fraction(1))
    function = FUNCTIONS[name]
    stepped = function.stepped(Fraction(1, UNIT), reach, one)
    largest = function.psi(reach, one).largest / stepped.psi_step
    return LinearField(rows, response, stepped, length, int(largest) + 1)


def leaning_boxes(rng, d: int, many: int):
    """Return sheared boxes of all sizes with their hulls, and a lattice point of each."""
    turn = np.triu(rng.integers(-2 * 2**16, 2 * 2**16, (d, d)), 1)
    shear = np.eye(d) + turn / 2**16
    rounded = turn.any(axis=1) / 2
    sides = 1 << rng.integers(0, 18, (many, d))
    corner = rng.integers(-(2**17), 2**17, (many, d))
    u = corner + rng.integers(0, sides)
    points = (u + ((u @ turn.T) >> 16)).astype(float)
    end = corner + sides - 1
    ends = np.stack([corner, end])[:, :, None, :] * turn
    low = (corner + (ends.min(axis=0).sum(axis=2) >> 16)).astype(float)
    high = (end + (ends.max(axis=0).sum(axis=2) >> 16)).astype(float)
    middle = (corner + end) / 2 @ shear.T - rounded
    centre = np.rint(2 * middle) / 2
    lean = Leaning(centre, (end - corner) / 2, rounded + np.abs(middle - centre) + 1e-9, shear)
    return (low + high) / 2, (high - low) / 2, lean, points


def misses(field: LinearField, boxes) -> np.ndarray:
    """Return by how much scores at points leave the expansions over their boxes."""
    centre, half, lean, points = boxes
    found = field.expand_leaning(centre, half, lean)
    least = found.value + np.einsum("mkd,md->mk", found.slope, points - centre) - found.out
    exact = [np.atleast_1d(field.score(tuple(int(v) for v in p))) for p in points]
    away = np.array([[float(v) for v in row] for row in exact]) - least
    # float64 rounds the comparison itself by 2**-50 of what is added.
    room = 2.0**-46 * (np.abs(found.value) + np.abs(found.slope) @ np.ones(points.shape[1]) * 2**20)
    return np.maximum(-away, away - 2 * found.out) - room


@pytest.mark.parametrize("kind", ["spread", "heaped"])
@pytest.mark.parametrize("weighs", ["gradient", "value"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_expansions_over_leaning_boxes_hold_at_their_points(name, weighs, kind):
    length = (lambda _, v: v) if weighs == "gradient" else None
    for d in (2, 3):
        field, rng = field_of(name, kind, d, 60, length), np.random.default_rng(d)
        for _ in range(5):
            assert misses(field, leaning_boxes(rng, d, 150)).max() <= 0


@pytest.mark.parametrize("fault", ["half", "slack", "centre"])
def test_a_fault_in_where_points_lie_is_noticed(fault):
    field, rng = field_of("pinball", "spread", 3, 60, lambda _, v: v), np.random.default_rng(1)
    worst = -np.inf
    for _ in range(20):
        centre, half, lean, points = leaning_boxes(rng, 3, 150)
        if fault == "slack":  # felt by single points, if by any
            lean = lean._replace(half=0 * lean.half, slack=0 * lean.slack)
        elif fault == "half":
            lean = lean._replace(half=lean.half * 0.5)
        else:
            lean = lean._replace(centre=lean.centre + 2 * lean.sides())
        worst = max(worst, misses(field, (centre, half, lean, points)).max())
    assert worst > 0


@pytest.mark.parametrize("weighs", ["gradient", "value"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_heaps_count_as_often_as_their_records(name, weighs):
    field = field_of(name, "heaped", 3, 4000, (lambda _, v: v) if weighs == "gradient" else None)
    assert 2 * len(field._heaps[0]) <= 4000
    plain = replace(field)
    object.__setattr__(plain, "_heaps", (field.rows, field.response, np.ones(4000)))
    centre, half, lean, _ = leaning_boxes(np.random.default_rng(5), 3, 40)
    one, other = (each.expand_leaning(centre, half, lean) for each in (field, plain))
    for part in ("value", "slope", "out"):
        a, b = getattr(one, part), getattr(other, part)
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * np.abs(b).max())


class Counted:
    """A field that counts the boxes that it expands."""

    def __init__(self, field: LinearField) -> None:
        self._field, self.rows = field, 0
        self.score, self.start, self.expand = field.score, field.start, field.expand

    def expand_leaning(self, centre, half, lean):
        self.rows += len(centre)
        return self._field.expand_leaning(centre, half, lean)


@pytest.mark.parametrize("kind", ["spread", "heaped"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["huber", "logistic", "expectile"])
def test_three_coefficients_take_few_boxes_and_fewer_expansions(name, norm, kind):
    """Upright boxes took tens of thousands of each, and all records every time."""
    many = 20000 if kind == "heaped" else 4000
    field = Counted(field_of(name, kind, 3, many, measured_in(NORMS[norm])))
    plan = SmallPlan(Cut((-(2**21),) * 3, (2**21,) * 3), NORMS[norm], Fraction(1, 4))
    (cover,), late = expanded_covers(plan.domain, field, plan.exponent_bounds)
    assert not late
    assert cover.boxes.turn.any()
    cover.refine(2**12)
    assert cover.running[CERTAIN] > 0.02 * cover.running[ENVELOPE]
    assert field.rows < 1.2 * cover.boxes.made
    live, rng = cover.boxes.live(), np.random.default_rng(4)
    boxes = rng.choice(live, 60, replace=False)
    t = cover.boxes.offsets(boxes, rng.integers(0, 2**64, (3, 60), np.uint64))
    least = cover.scores(boxes, t).least
    for box, offset, low in zip(boxes, t, least, strict=True):
        point = cover.boxes.point(offset)
        if plan.domain.contains(point):
            gamma = plan.exponent(point, field.score(point))
            assert cover.boxes.lower(box) <= low <= gamma <= cover.boxes.real[box, REAL]


def test_the_law_over_leaning_boxes_is_the_stated_one():
    """Coefficients in few steps and a steep score, so that some points have all of the mass."""
    rows, response = records("heaped", 2, 300)
    reach, one = Interval(Fraction(-8), Fraction(8)), Interval(Fraction(-1), Fraction(1))
    stepped = Huber(Fraction(1, 10)).stepped(Fraction(1, 2**27), reach, one)
    field = LinearField(rows, np.rint(response / 2**9), stepped, measured_in(L2()), 2**24 + 1)
    plan = SmallPlan(Cut((-(2**13),) * 2, (2**13,) * 2), L2(), Fraction(3, 2))
    (cover,), _ = expanded_covers(plan.domain, field, plan.exponent_bounds)
    assert cover.boxes.turn.any()
    cover.refine(200)
    pilot = cover.boxes.pilot
    sides = range(-120, 121)
    window = [(pilot[0] + i, pilot[1] + j) for i in sides for j in sides]
    assert (holding(cover, window[::7]).sum(axis=1) == 1).all()
    gammas = {}
    for i in sides:  # in float64; some of them exactly
        line = window[(i + 120) * len(sides) : (i + 121) * len(sides)]
        psi = stepped.psi(np.array(line, float) @ rows.T, field.response)
        lengths = np.linalg.norm(psi @ rows, axis=1) * float(stepped.psi_step) / 2**16
        gammas.update(zip(line, (float(plan.rate) * lengths).tolist(), strict=True))
    for k in window[::5000]:
        assert gammas[k] == pytest.approx(float(plan.exponent(k, field.score(k))), rel=1e-12)
    envelope, bits, found = BoxEnvelope(plan, cover), SeededBits(5), []
    while len(found) < 3000:
        point = envelope.first_of(8, bits)
        if point is not None:
            found.append(point)
    found = [k for k in found if k in gammas]
    assert len(found) > 0.98 * 3000
    # Along the score the points are ranked, so that cells have draws enough.
    law, wrong = law_of(gammas), law_of(gammas, 1.2)
    order = sorted(gammas, key=gammas.get)
    cell, total = {}, 0.0
    for k in order:
        cell[k], total = int(30 * total), total + law[k]
    assert p_value([cell[k] for k in found], _binned(cell, law)) > ALARM
    assert p_value([cell[k] for k in found], _binned(cell, wrong)) < ALARM


def _binned(cell, law):
    binned: dict[int, float] = {}
    for k, i in cell.items():
        binned[i] = binned.get(i, 0.0) + law[k]
    return binned
