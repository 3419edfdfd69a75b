"""Any field that can be expanded is drawn from exactly: every box, every point, and the law."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from samplers.laws import ALARM, p_value
from samplers.small_fields import Cut, Facets, SmallPlan, affine, kinked, norms, stepped

from kng.core.bits import SeededBits
from kng.core.boxes.expanded import ExpandedCover, expanded_covers
from kng.core.boxes.halving import CERTAIN, ENOUGH, ENVELOPE, REAL
from kng.core.boxes.sheared import SHIFT
from kng.core.parts import Expansion
from kng.losses.fields.linear_field import LinearField
from kng.losses.pointwise.function import Interval
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.pinball import Pinball
from kng.losses.reading import measured_in
from kng.norms import L1, L2, LInf
from kng.samplers.exact.boxes import BoxEnvelope, accepted_of

TURN = np.array([[3, 1, 0], [-2, 4, 1], [1, 1, 2]])
THIN = np.array([[30, 29, 0], [29, 30, 1], [1, 1, 2]])
MOVED = (3, 5, -2)
RECORDS = np.random.default_rng(0).integers(-5, 6, (20, 3))

FIELDS = {
    "affine": lambda norm, d: affine(norm, TURN[:d, :d], MOVED[:d]),
    "correlated": lambda norm, d: affine(norm, THIN[:d, :d], MOVED[:d]),
    "kinked": lambda norm, d: kinked(norm, TURN[:d, :d], MOVED[:d]),
    "stepped": lambda norm, d: stepped(norm, RECORDS[:, :d]),
    "flat": lambda norm, d: affine(norm, 0 * TURN[:d, :d], (4,) * d),
    "steep": lambda norm, d: affine(norm, 10**6 * TURN[:d, :d], MOVED[:d]),
    "empty": lambda norm, d: affine(norm, 0 * TURN[:d, :d], (0,) * d),
    "equal": lambda norm, d: stepped(norm, np.full((20, d), 2)),
}
REACH = {1: 30, 2: 8, 3: 4}


def domains(d: int) -> dict[str, Cut]:
    r = REACH[d]
    return {
        "box": Cut((-r,) * d, (r,) * d),
        "cut": Cut((-r,) * d, (r + 2,) * d, (1, -2, 1)[:d], 3),
    }


def exponents(plan: SmallPlan, field) -> dict[tuple[int, ...], Fraction]:
    return {k: plan.exponent(k, field.score(k)) for k in plan.domain.all()}


def law_of(gammas, rate: float = 1.0) -> dict[tuple[int, ...], float]:
    least = min(gammas.values())
    weights = {k: math.exp(-rate * float(g - least)) for k, g in gammas.items()}
    total = sum(weights.values())
    return {k: w / total for k, w in weights.items()}


def sheared_coordinates(cover: ExpandedCover, points: np.ndarray) -> np.ndarray:
    """Return u of lattice points, from the last coordinate to the first."""
    u = points - np.array(cover.boxes.pilot)
    for j in reversed(range(u.shape[1])):
        u[:, j] -= (u[:, j + 1 :] @ cover.boxes.turn[j, j + 1 :]) >> SHIFT
    return u


def holding(cover: ExpandedCover, points: list[tuple[int, ...]]) -> np.ndarray:
    """Tell which live box holds which point."""
    d, live = len(cover.boxes.pilot), cover.boxes.live()
    u = sheared_coordinates(cover, np.array(points))[:, None, :]
    corner, sides = cover.boxes.whole[live, :d], 1 << cover.boxes.whole[live, d : 2 * d]
    return ((u >= corner) & (u < corner + sides)).all(axis=2)


def check(gammas: dict[tuple[int, ...], Fraction], cover: ExpandedCover) -> None:
    """Each point lies in one box, between its bounds, and what is certain of a box is there.

    An attempt returns a point with probability 2**P exp(-gamma) / sum of W if these hold.
    """
    b, d, live = cover.boxes, len(cover.boxes.pilot), cover.boxes.live()
    sides, holds = 1 << b.whole[live, d : 2 * d], holding(cover, list(gammas))
    assert (holds.sum(axis=1) == 1).all()
    exact = list(gammas.values())
    for i, box in enumerate(live[holds.argmax(axis=1)]):
        assert b.lower(box) <= exact[i] <= b.real[box, REAL]
    near, upper = np.array([float(g) for g in exact]), b.upper(live)
    with np.errstate(under="ignore"):
        there = np.where(holds, np.exp(near.min() - near)[:, None], 0.0).sum(axis=0)
        assert (sides.prod(axis=1) * np.exp(near.min() - upper) <= there * (1 + 1e-12)).all()


@pytest.mark.every(3)
@pytest.mark.parametrize("lean", [0, Fraction(1, 8)], ids=["constant", "varying"])
@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("d", REACH)
def test_boxes_hold_the_domain_and_bounds_hold_at_every_point(d, name, lean):
    for (_, norm), domain in product(norms(d).items(), domains(d).values()):
        plan = SmallPlan(domain, norm, Fraction(1, 8), Fraction(lean))
        field = FIELDS[name](norm, d)
        gammas = exponents(plan, field)
        covers, late = expanded_covers(domain, field, plan.exponent_bounds)
        for cover in (*covers, *(make() for make in late)):
            for goal in (1, 120):
                cover.refine(goal)
                assert cover.boxes.made <= goal
                check(gammas, cover)


def test_some_of_these_boxes_are_sheared():
    norm = norms(2)["linf"]
    plan = SmallPlan(domains(2)["box"], norm, Fraction(1, 2))
    covers, late = expanded_covers(plan.domain, FIELDS["correlated"](norm, 2), plan.exponent_bounds)
    assert not covers[0].boxes.turn.any()
    assert late[0]().boxes.turn.any()


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("d", REACH)
def test_exponents_at_points_are_not_too_large(d, name):
    norm = norms(d)["l2"]
    plan = SmallPlan(domains(d)["cut"], norm, Fraction(1, 8), Fraction(1, 8))
    field = FIELDS[name](norm, d)
    cover = expanded_covers(plan.domain, field, plan.exponent_bounds)[0][0]
    cover.refine(100)
    points = plan.domain.all()
    t = np.array(points) - np.array(cover.boxes.pilot)
    live = cover.boxes.live()
    found = cover.scores(live[holding(cover, points).argmax(axis=1)], t)
    for i, k in enumerate(points):
        assert found.least[i] <= plan.exponent(k, field.score(k))
        assert found.exact(i, k) == field.score(k)


LAWS = {
    "line": (1, "l1", "kinked", "box", 0),
    "line, steps": (1, "l1", "stepped", "cut", Fraction(1, 8)),
    "turned": (2, "linf", "affine", "box", 0),
    "own norm, cut": (2, "own", "affine", "cut", Fraction(1, 8)),
    "sheared": (2, "l2", "correlated", "cut", 0),
    "steps": (2, "l1", "stepped", "box", Fraction(1, 8)),
    "three": (3, "l2", "kinked", "cut", 0),
}


def draws(plan: SmallPlan, field, size: int):
    """Return the first accepted points, as a draw of branch and bound makes them."""
    bits, found = SeededBits(5), []
    covers, late = expanded_covers(plan.domain, field, plan.exponent_bounds)
    cover = late[0]() if late else covers[0]
    cover.refine(30 << 2 * plan.domain.dim)
    envelope = BoxEnvelope(plan, cover)
    while len(found) < size:
        point = envelope.first_of(8, bits)
        if point is not None:
            found.append(point)
    return found


@pytest.mark.every(3)
@pytest.mark.parametrize("case", LAWS)
def test_the_law_is_the_stated_one(case):
    d, norm_name, name, domain, lean = LAWS[case]
    norm = norms(d)[norm_name]
    plan = SmallPlan(domains(d)[domain], norm, Fraction(1, 2), Fraction(lean))
    field = FIELDS[name](norm, d)
    gammas = exponents(plan, field)
    found = draws(plan, field, 3000)
    assert p_value(found, law_of(gammas)) > ALARM
    assert p_value(found, law_of(gammas, 1.2)) < ALARM


def test_turns_of_boxes_and_attempts_have_the_law(monkeypatch):
    """Few boxes at first, so that covers are made tighter between attempts and late ones join."""
    from kng.samplers.exact import boxes as exact_boxes

    monkeypatch.setattr(exact_boxes, "_BOXES", 4)
    monkeypatch.setattr(exact_boxes, "late_of", lambda _: 16)
    norm = norms(2)["own"]
    plan = SmallPlan(domains(2)["cut"], norm, Fraction(1, 2))
    field = FIELDS["correlated"](norm, 2)
    bits, found = SeededBits(6), []
    for _ in range(300):
        covers, late = expanded_covers(plan.domain, field, plan.exponent_bounds)
        found.append(accepted_of(plan, covers, bits, late))
    gammas = exponents(plan, field)
    assert p_value(found, law_of(gammas)) > ALARM
    assert p_value(found, law_of(gammas, 1.5)) < ALARM


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_wide_lattices_take_few_boxes(d):
    """A rotated affine score on 2**40 points a side."""
    matrix = np.eye(5, dtype=int) * 3 + np.triu(np.ones((5, 5), int))
    norm = norms(d)["linf"]
    plan = SmallPlan(Cut((-(2**39),) * d, (2**39,) * d), norm, Fraction(1, 2**22))
    field = affine(norm, matrix[:d, :d], (12345,) * d)
    cover = expanded_covers(plan.domain, field, plan.exponent_bounds)[0][0]
    cover.refine(2**14)
    assert cover.boxes.made < (60, 400, 4000, 2**15, 2**15)[d - 1]
    envelope = BoxEnvelope(plan, cover)
    assert envelope.certifies(Fraction(1, 2**128))
    assert envelope.first_of(2**12, SeededBits(1)) is not None


class Blind:
    """A field whose expansions say nothing, not even numbers."""

    def __init__(self, out: float) -> None:
        self._out = out

    def score(self, theta):
        return Fraction(abs(theta[0]))

    def expand(self, centre, half):
        value = np.full((len(centre), 1), 0.0 if self._out == np.inf else np.nan)
        return Expansion(
            value, np.zeros((*value.shape, centre.shape[1])), np.full_like(value, self._out)
        )

    def start(self):
        return np.array([np.nan, np.inf])


@pytest.mark.parametrize("out", [np.inf, np.nan, 1e308])
def test_bounds_that_are_no_numbers_change_no_law(out):
    norm = norms(1)["l2"]
    plan = SmallPlan(Cut((-6, -3), (6, 3)), norm, Fraction(1, 2))
    field = Blind(out)
    covers, late = expanded_covers(plan.domain, field, plan.exponent_bounds)
    assert not late
    covers[0].refine(40)
    envelope, bits = BoxEnvelope(plan, covers[0]), SeededBits(2)
    assert covers[0].running[CERTAIN] < ENOUGH * covers[0].running[ENVELOPE]
    made = (envelope.first_of(100, bits) for _ in range(3000))
    found = [k for k in made if k is not None]
    assert p_value(found, law_of(exponents(plan, field))) > ALARM


def linear_field(name: str, d: int, norm, n: int = 400) -> LinearField:
    """Return records of a plane, two columns nearly alike; theta in steps of 2**-20."""
    rng = np.random.default_rng(3)
    z = rng.uniform(-1, 1, (n, d))
    z[:, 0], z[:, -1] = 1.0, np.clip(z[:, d // 2] + 0.1 * rng.normal(size=n), -1, 1)
    y = np.clip(z @ np.full(d, 0.2) + 0.2 * rng.standard_t(2, size=n), -1, 1)
    pointwise = Pinball(Fraction(1, 4)) if name == "pinball" else Huber(Fraction(1, 10))
    reach, one = Interval(Fraction(-2 * d), Fraction(2 * d)), Interval(Fraction(-1), Fraction(1))
    stepped = pointwise.stepped(Fraction(1, 2**36), reach, one)
    length = None if name == "huber value" else measured_in(norm)
    rows, response = np.rint(z * 2**16), np.rint(y * 2**36)
    return LinearField(rows, response, stepped, length, int(1 / stepped.psi_step))


@pytest.mark.parametrize("norm", [L1(), L2(), LInf()], ids=["l1", "l2", "linf"])
@pytest.mark.parametrize("name", ["pinball", "huber", "huber value"])
@pytest.mark.parametrize("d", [2, 3])
def test_records_of_planes_are_enclosed_and_drawn(d, name, norm):
    field = linear_field(name, d, norm)
    values = Facets(((1,),)) if name == "huber value" else norm
    plan = SmallPlan(Cut((-(2**21),) * d, (2**21,) * d), values, Fraction(1, 4))
    covers, late = expanded_covers(plan.domain, field, plan.exponent_bounds)
    rng, tried = np.random.default_rng(4), 0
    for cover in (*covers, *(make() for make in late)):
        cover.refine(300)
        live = cover.boxes.live()
        boxes = rng.choice(live, min(60, len(live)), replace=False).repeat(4)
        t = cover.boxes.offsets(boxes, rng.integers(0, 2**64, (d, len(boxes)), np.uint64))
        least = cover.scores(boxes, t).least
        for box, offset, low in zip(boxes, t, least, strict=True):
            point = cover.boxes.point(offset)
            if plan.domain.contains(point):
                gamma = plan.exponent(point, field.score(point))
                assert cover.boxes.lower(box) <= low <= gamma <= cover.boxes.real[box, REAL]
                tried += 1
    assert tried > 50
    point = accepted_of(plan, covers, SeededBits(5), late)
    assert point is not None
    assert plan.domain.contains(point)
