"""Branch and bound on expansions draws the stated law: small lattices, every box, every tape."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from audit.oracle import PRECISION, ball
from flint import arb, ctx
from samplers.envelopes import envelope_of, later
from samplers.laws import ALARM, p_value
from samplers.tapes import enumerate_tapes

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.boxes.covering import CoveredField
from kng.core.boxes.halving import CERTAIN, ENVELOPE
from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts
from kng.core.parts import Norm, Point
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, Assumption, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.corridor import certified
from kng.data import open_source
from kng.domains import Box
from kng.losses import Distance
from kng.losses.enclosures.expansions import FLOOR, SCALARS, expand, width
from kng.mechanisms import KNG, Exponential
from kng.norms import L2, LInf
from kng.samplers.chains.hit_and_run import HitAndRun
from kng.samplers.exact.boxes import BoxEnvelope, BranchAndBound


def plan_of(
    last: Point,
    *,
    epsilon: int = 1,
    mechanism: KNG | Exponential | None = None,
    adding: bool = False,
    records: int = 30,
    sampler: str = "auto",
    norm: Norm = L2(),  # noqa: B008 - a norm is a constant
) -> DensityPlan:
    """Return a plan for points of 0 .. last, in steps of one."""
    d = len(last)
    bounds = Bounds((Fraction(0),) * d, tuple(Fraction(k) for k in last))
    encoding = Encoding(bounds, (Fraction(1),) * d, (0,) * d)
    unit = PrivacyUnit(AddRemove() if adding else ReplaceOne(records))
    lattice, loss = encoding.lattice, Distance().over(encoding)
    problem = Problem(loss, norm, Box.of(lattice), encoding, lattice, unit)
    plan = certified((mechanism or KNG()).plan(problem, Fraction(epsilon)), sampler)
    assert isinstance(plan, DensityPlan)
    for load in loss.loaders(plan):
        load()
    return plan


def field_of(plan: DensityPlan, x):
    [field] = plan.read(open_source(x, plan.problem.records), [plan])
    return field


def cloud(last: Point, n: int, seed: int = 0):
    """Return points around the middle, a sixth of them equal."""
    rng = np.random.default_rng(seed)
    x = np.array(last) * (
        0.45 + 0.2 * rng.normal(size=(n, len(last))) * [1.0, *([0.4] * (len(last) - 1))]
    )
    x[: n // 6] = np.array(last) // 3
    return x


def exponents(plan: DensityPlan, field) -> dict[Point, Fraction]:
    ranges = [range(a, b + 1) for a, b in zip(plan.domain.first, plan.domain.last, strict=True)]
    return {k: plan.exponent(k, field.score(k)) for k in product(*ranges)}


def law_of(gammas: dict[Point, Fraction], rate: float = 1.0) -> dict[Point, float]:
    least = min(gammas.values())
    weights = {k: math.exp(-rate * float(g - least)) for k, g in gammas.items()}
    total = sum(weights.values())
    return {k: w / total for k, w in weights.items()}


def draws(envelope: BoxEnvelope, size: int) -> list[Point]:
    bits = SeededBits(5)
    found: list[Point] = []
    while len(found) < size:
        point = envelope.first_of(24, bits)
        if point is not None:
            found.append(point)
    return found


CASES = {
    "plane": {"last": (16, 16), "epsilon": 2},
    "add-remove": {"last": (16, 12), "epsilon": 1, "adding": True},
    "d = 3": {"last": (8, 8, 6), "epsilon": 2},
    "line": {"last": (40,), "epsilon": 1},
    "sup norm": {"last": (12, 12), "epsilon": 2, "norm": LInf()},
    "exponential": {"last": (16, 16), "epsilon": 6, "mechanism": Exponential()},
}


@pytest.mark.parametrize("case", CASES)
def test_the_law_is_the_stated_one(case):
    plan = plan_of(**CASES[case])
    field = field_of(plan, cloud(plan.domain.last, 30))
    gammas = exponents(plan, field)
    found = draws(envelope_of(plan, field), 3000)
    assert p_value(found, law_of(gammas)) > ALARM
    assert p_value(found, law_of(gammas, 1.2)) < ALARM


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
@pytest.mark.parametrize(("n", "seed"), [(40, 1), (40, 2), (3, 3), (1, 4), (400, 5)])
@pytest.mark.parametrize("target", [None, 0.9])
def test_boxes_cover_the_domain_once_and_their_bounds_hold(case, n, seed, target):
    plan = plan_of(**CASES[case], records=n)
    field = field_of(plan, cloud(plan.domain.last, n, seed))
    gammas = exponents(plan, field)
    envelope = envelope_of(plan, field)
    if target is not None:
        envelope._cover.refine(target)
    seen = []
    for points, lower, upper in boxes_of(envelope):
        inside = [k for k in points if k in gammas]
        seen += inside
        assert all(lower <= gammas[k] for k in inside)
        if math.isfinite(upper):
            # an upper bound of the generic cover also counts the points that lie outside
            assert len(inside) == len(points) or not isinstance(field, CoveredField)
            assert all(gammas[k] <= upper for k in inside)
    assert sorted(seen) == sorted(gammas)


def test_every_short_tape_of_one_attempt():
    plan = plan_of((2, 2), epsilon=2, records=3)
    field = field_of(plan, np.array([[0, 0], [0, 1], [2, 1]]))
    envelope = envelope_of(plan, field)
    found = enumerate_tapes(envelope.attempt, 15_000)
    gammas = exponents(plan, field)
    least = Fraction(envelope._least, 16)

    def law(rate: Fraction):
        with ctx.workprec(PRECISION):
            scale = arb(2) ** envelope._scale / arb(envelope._cumulative[-1])
            law = {k: (-ball(rate * (g - least))).exp() * scale for k, g in gammas.items()}
            law[None] = arb(1) - sum(law.values(), arb(0))
        return law

    assert found.unresolved < Fraction(1, 20), float(found.unresolved)
    assert found.escapes(law(Fraction(1))) == []
    assert found.escapes(law(Fraction(6, 5))) != []


DATA = {
    "none": lambda rng: np.empty((0, 3)),
    "one": lambda rng: np.full((1, 3), 0.2),
    "equal": lambda rng: np.full((150, 3), 0.2),
    "in a corner": lambda rng: np.full((1000, 3), 1e9),
    "on a line": lambda rng: np.outer(rng.normal(size=300), [1e5, 1e5, 1e5]) + 2**19,
    "half equal": lambda rng: np.where(
        rng.random((500, 1)) < 0.6, 2.0**18, 2**20 * rng.random((500, 3))
    ),
    "missing": lambda rng: np.full((20, 3), np.nan),
    "integers": lambda rng: 2**18 * rng.integers(0, 4, (400, 3)),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=["kng", "exponential"])
def test_degenerate_data_do_not_stall(data, mechanism):
    plan = plan_of((2**20,) * 3, mechanism=mechanism, adding=True)
    field = field_of(plan, DATA[data](np.random.default_rng(1)))
    assert plan.domain.contains(BranchAndBound().draw(plan, field, SeededBits(1)))


def test_where_most_records_agree_their_point_is_the_answer():
    plan = plan_of((2**20,) * 2, records=2000)
    x = np.where(np.arange(2000)[:, None] < 1500, 2.0**18, [2.0**20, 5.0])
    field = field_of(plan, x)
    assert field.score((2**18,) * 2) == 0
    assert BranchAndBound().draw(plan, field, SeededBits(1)) == (2**18,) * 2


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("radius", [0.5, 3.0, 40.0])
def test_expansions_hold_within_their_radius(d, radius):
    rng = np.random.default_rng(d)
    rows = np.rint(30 * rng.normal(size=(60, d)))
    out, centre = np.zeros(width(d)), np.rint(5 * rng.normal(size=d))
    none, everywhere = np.empty(0), np.outer([-np.inf, np.inf], np.ones(d))
    expand(
        0, rows, none, 0.0, 1.0, everywhere, centre, radius, np.eye(d), centre, none, 0.0,
        False, False, out,
    )  # fmt: skip
    bend, opened, g = out[d + 1], out[d + SCALARS], out[2 * d + SCALARS : 3 * d + SCALARS]
    hessian = out[4 * d + SCALARS :].reshape(d, d)
    worst = 0.0
    for _ in range(300):
        step = rng.normal(size=d)
        step *= radius * rng.random() / np.linalg.norm(step)
        away = centre + step - rows
        there = (away / np.linalg.norm(away, axis=1)[:, None]).sum(axis=0)
        miss = np.linalg.norm(there - g - hessian @ step)
        worst = max(worst, miss / (opened + bend * step @ step))
    assert worst <= 1
    assert d == 1 or radius < 1 or worst > 0.02


def test_second_derivatives_of_unit_vectors_are_bounded_as_stated():
    angle = np.linspace(0, np.pi, 10_001)
    a, b = np.cos(angle), np.sin(angle)
    sizes = np.abs(b) * np.sqrt(4 * a * a + b * b) / 2
    assert 0.57735 < sizes.max() <= 0.5774


def test_six_coordinates_are_refused():
    with pytest.raises(IncompatibleParts, match="hit-and-run"):
        plan_of((8,) * 6)
    with pytest.raises(IncompatibleParts, match="up to 8 columns"):
        plan_of((8,) * 9, sampler="hit-and-run")


@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=["kng", "exponential"])
def test_the_chain_finds_the_same_law(mechanism):
    epsilon = 1 if isinstance(mechanism, KNG) else 4  # more would leave two points of a heap
    plan = plan_of(
        (24, 24), epsilon=epsilon, mechanism=mechanism, records=12, sampler="hit-and-run"
    )
    field, bits = field_of(plan, cloud((24, 24), 12)), SeededBits(2)
    exact = law_of(exponents(plan, field))
    mean = np.array([sum(p * k[j] for k, p in exact.items()) for j in range(2)])
    spread = np.sqrt([sum(p * (k[j] - mean[j]) ** 2 for k, p in exact.items()) for j in range(2)])
    found = np.array([HitAndRun().draw(plan, field, bits) for _ in range(25)])
    assert np.all(np.abs(found.mean(axis=0) - mean) < 5 * spread / np.sqrt(25))
    assert np.all(found.std(axis=0) > spread / 2)


@pytest.mark.parametrize("radius", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("data", ["line", "cloud", "one place"])
def test_floors_along_a_direction_hold_over_a_box(data, radius):
    rng, d = np.random.default_rng(2), 3
    rows = {
        "line": np.outer(np.arange(-200.0, 200.0), np.ones(d)),
        "cloud": np.rint(100 * rng.normal(size=(300, d))),
        "one place": np.zeros((50, d)),
    }[data]
    shear = np.triu(rng.normal(size=(d, d)), 1) + np.eye(d)
    out, positive = np.zeros(width(d)), 0
    for _ in range(40):
        centre = np.rint(rng.normal(size=d) * radius * rng.choice([0.5, 2.0, 5.0]))
        half = radius * rng.uniform(0.05, 0.5, d)
        ball = float(np.sqrt(((np.abs(shear) @ half) ** 2).sum()))
        everywhere = np.outer([-np.inf, np.inf], np.ones(d))
        expand(
            0, rows, np.empty(0), 0.0, 1.0, everywhere, centre, ball, shear, centre, half, 0.0,
            False, True, out,
        )  # fmt: skip
        floor = out[d + FLOOR]
        positive += floor > 0
        for _ in range(40):
            away = centre + shear @ (half * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], d)) - rows
            r = np.sqrt((away * away).sum(axis=1))
            units = away[r > 0] / r[r > 0, None]
            score = np.linalg.norm(units.sum(axis=0)) - np.count_nonzero(r == 0)
            assert floor <= max(0.0, score) + 1e-9
    assert positive > 5


def test_boxes_along_a_line_are_bounded_well():
    """On e301d72 as many boxes certify 10**-189 of the envelope."""
    plan = plan_of((2**24,) * 4, records=2000)
    rows = np.rint(np.outer(np.linspace(0.05, 0.95, 2000), np.ones(4)) * 2**24)
    for make in later(plan, field_of(plan, rows)):
        cover = make()
        cover.refine(2**13)
        assert cover.running[CERTAIN] > 1e-8 * cover.running[ENVELOPE]


@pytest.mark.parametrize("case", ["plane", "d = 3", "line"])
def test_the_cover_that_joins_has_the_same_law(case):
    plan = plan_of(**CASES[case])
    field = field_of(plan, cloud(plan.domain.last, 30))
    gammas = exponents(plan, field)
    for make in later(plan, field):
        cover = make()
        for boxes in (20, 200, 2**14):
            cover.refine(boxes)
            envelope = BoxEnvelope(plan, cover)
            for points, lower, upper in boxes_of(envelope):
                inside = [k for k in points if k in gammas]
                assert all(lower <= gammas[k] for k in inside)
                assert not math.isfinite(upper) or all(gammas[k] <= upper for k in inside)
        assert p_value(draws(envelope, 1000), law_of(gammas)) > ALARM


def test_five_columns_say_that_time_has_no_limit():
    for d in (4, 5):
        assumptions = plan_of((2**10,) * d).certificate.assumptions
        assert (Assumption.UNBOUNDED_TIME in assumptions) == (d == 5)
