"""Branch and bound draws the stated law: small lattices, every box, and every short tape."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from audit.oracle import PRECISION, ball
from flint import arb, ctx
from samplers.envelopes import covering, envelope_of
from samplers.laws import ALARM, p_value
from samplers.tapes import enumerate_tapes

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.design import Design
from kng.core.errors import IncompatibleParts
from kng.core.lattice import Lattice
from kng.core.parts import Point
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.corridor import certified
from kng.data import open_regression
from kng.domains import Box, Uncrossed
from kng.losses import Linear, Pinball
from kng.losses.enclosures import plane_cover
from kng.losses.enclosures.sorted_records import FAR
from kng.losses.linear_encoding import encoded
from kng.mechanisms import KNG, Exponential
from kng.norms import InterceptSup, LInf
from kng.samplers.chains.hit_and_run import HitAndRun
from kng.samplers.exact import boxes as sampler
from kng.samplers.exact.boxes import (
    BoxEnvelope,
    BranchAndBound,
    accepted_of,
)

HALF = Fraction(1, 2)


def plan_of(
    dim: int,
    reach: int,
    *,
    tau: Fraction = HALF,
    epsilon: int = 1,
    mechanism: KNG | Exponential | None = None,
    records: int = 30,
    adding: bool = False,
    domain: Any = None,
) -> DensityPlan:
    """Return a plan on the lattice of steps 2 / reach within +-2."""
    covariates = Bounds((Fraction(-1),) * (dim - 1), (Fraction(1),) * (dim - 1))
    encoding = encoded(covariates, (Fraction(-1), Fraction(1), Fraction(2, 2**24)))
    step = Fraction(2, reach)
    answers = Lattice((-step * reach,) * dim, (step,) * dim, (2 * reach,) * dim)
    norm = LInf() if adding else InterceptSup(1 / (2 * max(tau, 1 - tau)))
    problem = Problem(
        Linear(Pinball(tau)).over(Design(encoding, True), answers),
        norm,
        domain or Box.of(answers),
        encoding,
        answers,
        PrivacyUnit(AddRemove() if adding else ReplaceOne(records)),
    )
    plan = certified((mechanism or KNG()).plan(problem, Fraction(epsilon)))
    assert isinstance(plan, DensityPlan)
    return plan


def field_of(plan: DensityPlan, X, y):
    source = open_regression(X, y, plan.problem.records)
    [field] = plan.read(source, [plan])
    return field


def line_data(dim: int, n: int, seed: int = 0):
    """Return records around a plane, some of them equal and some on lattice planes."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, dim - 1))
    y = np.clip(0.3 + 0.5 * X[:, 0] + 0.3 * rng.normal(size=n), -1, 1)
    X[: n // 6], y[: n // 6] = 0.5, 0.25
    return X, y


def exponents(plan: DensityPlan, field) -> dict[Point, Fraction]:
    """Return gamma at every point of the domain, from all records."""
    ranges = [range(a, b + 1) for a, b in zip(plan.domain.first, plan.domain.last, strict=True)]
    return {
        k: plan.exponent(k, field.score(k)) for k in product(*ranges) if plan.domain.contains(k)
    }


def law_of(gammas: dict[Point, Fraction], rate: float = 1.0) -> dict[Point, float]:
    least = min(gammas.values())
    weights = {k: math.exp(-rate * float(g - least)) for k, g in gammas.items()}
    total = sum(weights.values())
    return {k: w / total for k, w in weights.items()}


def draws(envelope: BoxEnvelope, size: int) -> list[Point]:
    bits = SeededBits(5)
    made = (envelope.first_of(24, bits) for _ in range(10 * size))
    found: list[Point] = []
    while len(found) < size:
        point = next(made)
        if point is not None:
            found.append(point)
    return found


CASES = {
    "tau 0.1": {"dim": 2, "reach": 8, "tau": Fraction(1, 10), "epsilon": 4},
    "tau 0.5": {"dim": 2, "reach": 8, "epsilon": 2},
    "tau 0.9": {"dim": 2, "reach": 8, "tau": Fraction(9, 10), "epsilon": 4},
    "add-remove": {"dim": 2, "reach": 8, "tau": Fraction(3, 4), "epsilon": 2, "adding": True},
    "d = 3": {"dim": 3, "reach": 4, "epsilon": 2},
    "exponential": {"dim": 2, "reach": 8, "epsilon": 8, "mechanism": Exponential()},
    # most responses lie beyond all planes of the box, which decides them
    "small box": {
        "dim": 2,
        "reach": 32,
        "tau": Fraction(3, 4),
        "epsilon": 8,
        "domain": Box([Fraction(-2, 16), Fraction(-3, 16)], [Fraction(7, 16), Fraction(4, 16)]),
    },
    "above": {
        "dim": 2,
        "reach": 8,
        "epsilon": 2,
        "domain": Uncrossed(Box(-2, 2, dim=2), 1, 0, (Fraction(0), HALF)),
    },
}


def test_the_small_box_decides_records():
    plan = plan_of(**CASES["small box"])
    field = field_of(plan, *line_data(2, 30))
    records = covering(plan, field)[0]._records
    decided = np.abs(records.residual) >= FAR
    assert 0.2 < np.average(decided, weights=records.copies if len(records.copies) else None) < 0.9
    assert set(np.sign(records.residual[decided])) == {1.0, -1.0}


@pytest.mark.every(3)
@pytest.mark.parametrize("case", CASES)
def test_the_law_is_the_stated_one(case):
    plan = plan_of(**CASES[case])
    field = field_of(plan, *line_data(plan.domain.dim, 30))
    gammas = exponents(plan, field)
    found = draws(envelope_of(plan, field), 5000)
    assert p_value(found, law_of(gammas)) > ALARM
    assert p_value(found, law_of(gammas, 1.2)) < ALARM


def mixture(plan: DensityPlan, field) -> dict[Point, float]:
    """Return the law of draws whose responses are each moved by -2, -1, 0 or 1."""
    n = len(field.response)
    mixed: dict[Point, float] = {}
    for moves in product((-2, -1, 0, 1), repeat=n):
        response = field.response.astype(np.float64) + moves
        totals = (*field.totals[:-1], int(response.sum()))
        moved = replace(field, response=response, totals=totals, spread=0)
        for k, p in law_of(exponents(plan, moved)).items():
            mixed[k] = mixed.get(k, 0.0) + p / 4**n
    return mixed


def test_draws_with_shifts_have_the_law_of_the_mixture():
    """Three records that lie on a lattice plane: 64 laws, equally likely."""
    plan = plan_of(2, 4, epsilon=8, records=3)
    X, y = np.array([[0.5], [0.5], [-1]]), np.array([0.5, 0.5, -1])
    field = replace(field_of(plan, X, y), spread=2)
    bits = SeededBits(9)
    found = [BranchAndBound().draw(plan, field, bits) for _ in range(2000)]
    assert p_value(found, mixture(plan, field)) > ALARM
    assert p_value(found, law_of(exponents(plan, replace(field, spread=0)))) < ALARM


@pytest.mark.parametrize("tau", [HALF, Fraction(9, 10)], ids=str)
def test_mixtures_of_neighbours_are_private(tau):
    """All pairs of two records on lattice planes; so few of them reach half of epsilon."""
    plan = plan_of(2, 4, tau=tau, records=2)
    kinds = list(product((-1.0, 0.5), (-0.5, 0.5)))
    laws = {}
    for pair in product(kinds, repeat=2):
        X, y = np.array([[x] for x, _ in pair]), np.array([y for _, y in pair])
        laws[pair] = mixture(plan, replace(field_of(plan, X, y), spread=2))
    losses = [
        max(abs(math.log(laws[a][k] / laws[b][k])) for k in laws[a])
        for a in laws
        for b in laws
        if a[0] == b[0] and a != b
    ]
    assert 0.4 < max(losses) <= 1 + 1e-12


def boxes_of(envelope: BoxEnvelope):
    """Yield the points of every box with its bounds."""
    boxes = envelope._cover.boxes
    d = len(boxes.pilot)
    for box in boxes.live():
        corner, sides = boxes.whole[box, :d], boxes.whole[box, d : 2 * d]
        u = np.array(
            list(product(*(range(a, a + 2**e) for a, e in zip(corner, sides, strict=True))))
        )
        points = [boxes.point(t) for t in boxes.sheared(u)]
        yield points, boxes.lower(np.array([box]))[0], boxes.upper(np.array([box]))[0]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_boxes_cover_the_domain_once_and_their_bounds_hold(case, seed):
    plan = plan_of(**CASES[case])
    field = field_of(plan, *line_data(plan.domain.dim, 40, seed))
    gammas = exponents(plan, field)
    seen = []
    for points, lower, upper in boxes_of(envelope_of(plan, field)):
        inside = [k for k in points if k in gammas]
        seen += inside
        assert all(lower <= gammas[k] for k in inside)
        if math.isfinite(upper):
            assert len(inside) == len(points)
            assert all(gammas[k] <= upper for k in inside)
    assert sorted(seen) == sorted(gammas)


@pytest.mark.parametrize("case", ["tau 0.5", "tau 0.9", "add-remove", "d = 3"])
@pytest.mark.parametrize("n", [60, 300])
def test_bounds_of_boxes_with_groups_hold(case, n):
    """Large boxes look at groups of records: few boxes, more records, and every point of a box."""
    for seed, reach in product(range(3), (4, 8)):
        plan = plan_of(**{**CASES[case], "reach": reach, "records": n})
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (n, plan.domain.dim - 1))
        y = np.clip(0.3 + 0.5 * X[:, 0] + 0.3 * rng.normal(size=n), -1, 1)
        X = np.round(3 * X) / 3 if seed == 2 else X
        field = field_of(plan, X, y)
        gammas = exponents(plan, field)
        for cells, goal in product(covering(plan, field), (8, 40, 200)):
            cells.refine(goal)
            for points, lower, _ in boxes_of(BoxEnvelope(plan, cells)):
                assert all(lower <= gammas[k] for k in points if k in gammas)


def test_acceptance_is_what_was_certified():
    plan = plan_of(2, 8, epsilon=2)
    field = field_of(plan, *line_data(2, 30))
    envelope, bits = envelope_of(plan, field), SeededBits(3)
    accepted = sum(envelope.attempt(bits) is not None for _ in range(1500))
    assert accepted >= 1500 * (1 - plan.smoothing.miss) / 2


def test_every_short_tape_of_one_attempt():
    plan = plan_of(2, 1, epsilon=2)
    field = field_of(plan, np.array([[0.5], [-0.5], [0.1]]), np.array([0.4, -0.3, 0.9]))
    envelope = envelope_of(plan, field)
    found = enumerate_tapes(envelope.attempt, 30_000)
    gammas = exponents(plan, field)
    least = Fraction(envelope._least, 16)
    with ctx.workprec(PRECISION):
        scale = arb(2) ** envelope._scale / arb(envelope._cumulative[-1])
        law = {k: (-ball(g - least)).exp() * scale for k, g in gammas.items()}
        law[None] = arb(1) - sum(law.values(), arb(0))
    assert found.unresolved < Fraction(1, 20), float(found.unresolved)
    assert found.escapes(law) == []
    # a rate that is 20 % off is caught on the same tapes
    with ctx.workprec(PRECISION):
        wrong = {k: (-ball(Fraction(6, 5) * (g - least))).exp() * scale for k, g in gammas.items()}
        wrong[None] = arb(1) - sum(wrong.values(), arb(0))
    assert found.escapes(wrong) != []


@pytest.mark.parametrize("n", [0, 1, 1000])
@pytest.mark.parametrize("dim", [2, 3, 4])
def test_degenerate_data_do_not_stall(n, dim):
    plan = plan_of(dim, 2**26, adding=True)
    field = field_of(plan, np.full((n, dim - 1), 0.3), np.full(n, 0.2))
    assert plan.domain.contains(BranchAndBound().draw(plan, field, SeededBits(1)))


def boxes_made(plan: DensityPlan, field) -> int:
    """Return how many boxes a draw takes: time and memory are in proportion to them."""
    covers = covering(plan, field)
    assert accepted_of(plan, covers, SeededBits(7)) is not None
    return max(cover.boxes.made for cover in covers)


@pytest.mark.parametrize("tau", [HALF, Fraction(9, 10)], ids=str)
@pytest.mark.parametrize(("dim", "most"), [(2, 1024), (3, 4096)])
@pytest.mark.parametrize("kind", ["uniform", "a plane", "two values"])
def test_tied_records_take_no_more_boxes_than_others(dim, most, kind, tau):
    """Answers to a questionnaire: yes or no, and eleven steps."""
    n, rng = 10_000, np.random.default_rng(4)
    X = rng.choice([-1.0, 1.0], (n, dim - 1))
    y = {
        "uniform": rng.integers(-5, 6, n) / 5,
        "a plane": X.sum(axis=1) / 4,
        "two values": rng.choice([-1.0, 1.0], n),
    }[kind]
    plan = plan_of(dim, 2**26, tau=tau, records=n)
    assert boxes_made(plan, field_of(plan, X, y)) <= most


@pytest.mark.parametrize("case", ["tau 0.9", "exponential"])
def test_turns_of_boxes_and_attempts_do_not_change_the_law(case, monkeypatch):
    """With one box at first, most draws end after several turns, each with other boxes."""
    monkeypatch.setattr(sampler, "_BOXES", 1)
    plan = plan_of(**CASES[case])
    field = field_of(plan, *line_data(plan.domain.dim, 30))
    gammas, bits = exponents(plan, field), SeededBits(8)
    found, turns = [], []
    for _ in range(800):
        covers = covering(plan, field)
        found.append(accepted_of(plan, covers, bits))
        turns.append(covers[0].boxes.made)
    assert len(set(turns)) > 1
    assert p_value(found, law_of(gammas)) > ALARM
    assert p_value(found, law_of(gammas, 1.6)) < ALARM


def test_no_more_boxes_than_there_is_room_for(monkeypatch):
    """Attempts go on with the boxes there are."""
    monkeypatch.setattr(sampler, "_BOXES", 1)
    plan = plan_of(2, 2**20, epsilon=8)
    field = field_of(plan, *line_data(2, 30))
    assert boxes_made(plan, field) > 16
    monkeypatch.setattr(sampler, "_MANY", 16)
    assert boxes_made(plan, field) == 16


@pytest.mark.parametrize("case", ["tau 0.9", "exponential"])
def test_lists_that_are_dropped_change_no_score(case, monkeypatch):
    """With little room most boxes start again from all records, and count each of them once."""
    monkeypatch.setattr(plane_cover, "_ROOM", 2**10)
    monkeypatch.setattr(plane_cover, "_PER_BOX", 1)
    made = []
    monkeypatch.setattr(
        plane_cover.PlaneCover,
        "_make_room",
        lambda self, original=plane_cover.PlaneCover._make_room: made.append(original(self)),
    )
    plan = plan_of(**{**CASES[case], "reach": 2**16, "records": 3000})
    field = field_of(plan, *line_data(2, 3000))
    cells = covering(plan, field)[-1]
    cells.refine(4000)
    assert made
    boxes = cells.boxes.live()[:300]
    d = plan.domain.dim
    corners = cells.boxes.sheared(cells.boxes.whole[boxes, :d])
    scores = cells.scores(boxes, corners)
    for i, t in enumerate(corners):
        point = cells.boxes.point(t)
        assert scores.exact(i, point) == field.score(point)


def test_six_coordinates_are_refused_and_told_what_would_serve():
    with pytest.raises(IncompatibleParts, match="hit-and-run"):
        plan_of(6, 8)


@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=["kng", "exponential"])
def test_the_chain_finds_the_same_law(mechanism):
    plan = plan_of(2, 2, epsilon=4, mechanism=mechanism)
    fine = plan_of(2, 32, epsilon=4, mechanism=mechanism)
    X, y = line_data(2, 12)
    exact = law_of(exponents(fine, field_of(fine, X, y)))
    mean = np.array([sum(p * k[j] for k, p in exact.items()) / 32 for j in range(2)])
    spread = np.sqrt(
        [sum(p * (k[j] / 32 - mean[j]) ** 2 for k, p in exact.items()) for j in range(2)]
    )
    smooth = plan_of(2, 2**20, epsilon=4, mechanism=mechanism)
    field, bits = field_of(smooth, X, y), SeededBits(2)
    found = np.array([HitAndRun().draw(smooth, field, bits) for _ in range(30)]) / 2**20
    assert np.all(np.abs(found.mean(axis=0) - mean) < 5 * spread / np.sqrt(30))
    assert plan.domain.dim == 2
