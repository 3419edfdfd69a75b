"""Huber's loss, by KNG and the exponential mechanism: laws, bounds of boxes, exact scores."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from samplers.envelopes import envelope_of
from samplers.laws import ALARM, p_value
from samplers.test_curved import boxes_of, draws, exponents, law_of

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.corridor import certified
from kng.data import open_regression
from kng.domains import Box
from kng.losses import Huber, Linear
from kng.losses.enclosures.expansions import CEILING, FLOOR, SCALARS, expand, width
from kng.losses.linear_encoding import encoded
from kng.mechanisms import KNG, Exponential
from kng.norms import LInf
from kng.samplers.chains.hit_and_run import HitAndRun
from kng.samplers.exact.boxes import BranchAndBound


def plan_of(
    dim: int,
    reach: int,
    *,
    epsilon: int = 1,
    adding: bool = False,
    records: int = 30,
    mechanism: KNG | Exponential | None = None,
    intercept: bool = True,
    sampler: str = "auto",
) -> DensityPlan:
    """Return a plan on the lattice of steps 4 / reach within +-4 thresholds of 1/2.

    The exponential mechanism clips responses at +-2, or four thresholds.
    """
    mechanism = mechanism or KNG()
    columns = dim - intercept
    covariates = Bounds((Fraction(-1),) * columns, (Fraction(1),) * columns)
    scale = Fraction(1, 2)
    far = Fraction(2 if isinstance(mechanism, Exponential) else 2**19)
    encoding = encoded(covariates, (-far, far, scale / 2**20))
    step = Fraction(4, reach)
    answers = Lattice((-step * reach,) * dim, (step,) * dim, (2 * reach,) * dim)
    unit = PrivacyUnit(AddRemove() if adding else ReplaceOne(records))
    design = Design(encoding, intercept, scale)
    problem = Problem(
        Linear(Huber(scale), intercept=intercept).over(design, answers),
        LInf(),
        Box.of(answers),
        encoding,
        answers,
        unit,
    )
    plan = certified(mechanism.plan(problem, Fraction(epsilon)), sampler)
    assert isinstance(plan, DensityPlan)
    return plan


def field_of(plan: DensityPlan, n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, len(plan.problem.records) - 1))
    y = 0.3 + 0.8 * X.sum(axis=1) + 0.5 * rng.normal(size=n)
    X[: n // 6], y[: n // 6] = 0.5, 9.0
    return read(plan, X, y)


def read(plan: DensityPlan, X, y):
    [field] = plan.read(open_regression(X, y, plan.problem.records), [plan])
    return field


CASES = {
    "d = 2": {"dim": 2, "reach": 8, "epsilon": 2},
    "add-remove": {"dim": 2, "reach": 8, "epsilon": 1, "adding": True},
    "d = 3": {"dim": 3, "reach": 4, "epsilon": 1},
    "exponential": {"dim": 2, "reach": 8, "epsilon": 12, "mechanism": Exponential()},
    "exponential, add-remove": {
        "dim": 2, "reach": 7, "epsilon": 12, "mechanism": Exponential(), "adding": True,
    },
    "exponential, d = 1": {
        "dim": 1, "reach": 40, "epsilon": 12, "mechanism": Exponential(), "intercept": False,
    },
    "exponential, d = 3": {"dim": 3, "reach": 4, "epsilon": 12, "mechanism": Exponential()},
}  # fmt: skip


@pytest.mark.every(2)
@pytest.mark.parametrize("case", CASES)
def test_the_law_is_the_stated_one(case):
    plan = plan_of(**CASES[case])
    field = field_of(plan, 30)
    gammas = exponents(plan, field)
    found = draws(envelope_of(plan, field), 5000)
    assert p_value(found, law_of(gammas)) > ALARM
    assert p_value(found, law_of(gammas, 1.2)) < ALARM


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("n", "seed"), [(40, 1), (40, 2), (3, 3), (1, 4), (400, 5)])
@pytest.mark.parametrize("target", [None, 0.9])
def test_boxes_cover_the_domain_once_and_their_bounds_hold(case, n, seed, target):
    plan = plan_of(**CASES[case], records=n)
    field = field_of(plan, n, seed)
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
            assert len(inside) == len(points)
            assert all(gammas[k] <= upper for k in inside)
    assert sorted(seen) == sorted(gammas)


def huber(r: Fraction) -> Fraction:
    return r * r / 2 if abs(r) <= 1 else abs(r) - Fraction(1, 2)


@pytest.mark.parametrize("intercept", [True, False])
def test_values_are_what_rational_arithmetic_gives(intercept):
    plan = plan_of(2, 2**20, mechanism=Exponential(), intercept=intercept)
    field, rng = field_of(plan, 50), np.random.default_rng(1)
    step = 1 / Fraction(field.steps)
    assert plan.delta_at((0, 0)) == 8 + 4 - Fraction(1, 2)
    for theta in rng.integers(-(2**20), 2**20, (20, 2)).tolist():
        total = Fraction(0)
        for x, y in zip(field.rows, field.response, strict=True):
            along = sum(int(a) * b for a, b in zip(x, theta, strict=True))
            total += huber((along - int(y)) / Fraction(field.bend))
        # rounding down takes less than a step of each; float64 has moved a square by less
        assert total - 50 * step < field.score(tuple(theta)) <= total + 50 * step * 2**-10
        assert field.score(tuple(theta)) % step == 0


def datasets(rng):
    """Yield records that are few, equal, far away, on a line, or cannot be told apart."""
    X = rng.uniform(-1, 1, (300, 2))
    plane = 0.3 + 0.8 * X.sum(axis=1)
    yield "usual", X, plane + 0.5 * rng.normal(size=300)
    yield "few", X[:3], plane[:3]
    yield "one", X[:1], plane[:1]
    yield "equal", np.full((200, 2), 0.4), np.full(200, 0.2)
    yield "far above", X, np.full(300, 1e9)
    yield "both ends", X, np.where(X[:, 0] > 0, 1e9, -1e9)
    yield "on a line", X[:, :1] * [1.0, 1.0], plane
    yield "none", X[:0], plane[:0]


@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=["kng", "exponential"])
@pytest.mark.parametrize("epsilon", [1, 1000])
def test_bounds_hold_at_points_of_large_boxes(mechanism, epsilon):
    rng = np.random.default_rng(7)
    for name, X, y in datasets(rng):
        plan = plan_of(3, 2**20, epsilon=epsilon, mechanism=mechanism, adding=True)
        field = read(plan, X, y)
        cover = envelope_of(plan, field)._cover
        live = cover.boxes.live()
        boxes = rng.choice(live, min(150, len(live)), replace=False).repeat(4)
        t = cover.boxes.offsets(boxes, rng.integers(0, 2**64, (3, len(boxes)), np.uint64))
        least = cover.scores(boxes, t).least
        for box, offset, low in zip(boxes, t, least, strict=True):
            point = cover.boxes.point(offset)
            if not plan.domain.contains(point):
                continue  # bounds are over a box and the domain together
            score = field.score(point)
            gamma = plan.exponent(point, score)
            assert cover.boxes.lower(box) <= gamma <= cover.boxes.upper(box), name
            assert low <= gamma, name


def test_scores_are_what_rational_arithmetic_gives():
    plan = plan_of(2, 2**20)
    field, rng = field_of(plan, 50), np.random.default_rng(1)
    for theta in rng.integers(-(2**20), 2**20, (20, 2)).tolist():
        total = [Fraction(0)] * 2
        for x, y in zip(field.rows, field.response, strict=True):
            x = [int(v) for v in x]
            r = (sum(a * b for a, b in zip(x, theta, strict=True)) - int(y)) / Fraction(field.bend)
            psi = Fraction(math.trunc(min(max(r, -1), 1) * 2**24), 2**24)
            total = [a + psi * Fraction(b, 2**16) for a, b in zip(total, x, strict=True)]
        assert field.score(tuple(theta)) == max(abs(v) for v in total)


@pytest.mark.parametrize("cut", [False, True], ids=["everywhere", "within corners"])
@pytest.mark.parametrize("shaped", [False, True], ids=["ball", "box"])
@pytest.mark.parametrize("radius", [10.0, 1e5, 1e7])
def test_expansions_hold_within_their_radius_or_box(radius, shaped, cut):
    plan = plan_of(3, 2**20)
    field, rng = field_of(plan, 60), np.random.default_rng(3)
    d, out, middle = 3, np.zeros(width(3)), np.array([2.0**17, 2.0**18, 2.0**17])
    shear = np.triu(rng.normal(size=(d, d)), 1) + np.eye(d)
    half = radius * np.array([0.01, 0.1, 1.0]) if shaped else np.empty(0)
    # Of the box, or of the ball, the corners leave a part; the centre lies there.
    ends = middle + np.outer([-1.0, 1.0], radius * np.array([2.0, 0.3, 0.5])) + 0.2 * radius * cut
    ends = np.rint(ends) if cut else np.outer([-(2.0**60), 2.0**60], np.ones(d))
    centre = np.clip(middle, *ends)
    ball = 10 * radius if shaped else radius
    for weighs_value in (False, True):
        expand(
            1, field.rows, field.response, field.bend, 1.0, ends, centre, ball, shear, middle,
            half, 0.0, weighs_value, False, out,
        )  # fmt: skip
        outs, g = out[d + SCALARS : 2 * d + SCALARS], out[2 * d + SCALARS : 3 * d + SCALARS]
        hessian, worst, seen = out[4 * d + SCALARS :].reshape(d, d), 0.0, 0
        value, slope, left = out[d + 2], out[3 * d + SCALARS : 4 * d + SCALARS], out[d + 3]
        for _ in range(500):
            step = rng.normal(size=d)
            step *= radius * rng.random() / np.linalg.norm(step)
            if shaped:
                corner = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], d)
                step = middle + shear @ (half * corner) - centre
            if (centre + step < ends[0]).any() or (centre + step > ends[1]).any():
                continue
            seen += 1
            residual = (field.rows @ (centre + step) - field.response) / field.bend
            there = np.clip(residual, -1, 1) @ field.rows
            worst = max(worst, float((np.abs(there - g - hessian @ step) / outs).max()))
            size = np.abs(residual)
            loss = field.bend * np.where(size <= 1, size**2 / 2, size - 0.5).sum()
            rounding = 1e-12 * value
            assert loss >= value + slope @ step - rounding
            missed = loss - value - g @ step - step @ hessian @ step / 2
            assert abs(missed) <= min(outs @ np.abs(step), left) + rounding
            score = loss if weighs_value else np.abs(there).max()
            assert out[d + FLOOR] <= score * (1 + 1e-12)
            assert score <= out[d + CEILING] * (1 + 1e-12)
        assert worst <= 1
        assert radius < 1e6 or worst > 0.1
        assert seen > 20


@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=["kng", "exponential"])
@pytest.mark.parametrize(
    ("n", "x", "y"), [(0, 0.3, 0.2), (1, 0.3, 0.2), (500, 0.3, 0.2), (500, 0.0, 0.0), (500, 9, 9)]
)
def test_degenerate_data_do_not_stall(n, x, y, mechanism):
    plan = plan_of(3, 2**24, adding=True, mechanism=mechanism)
    field = read(plan, np.full((n, 2), x), np.full(n, y))
    assert plan.domain.contains(BranchAndBound().draw(plan, field, SeededBits(1)))


@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=["kng", "exponential"])
def test_covariates_that_are_nothing_do_not_fail(mechanism):
    plan = plan_of(2, 2**20, mechanism=mechanism, intercept=False)
    field = read(plan, np.zeros((40, 2)), np.ones(40))
    assert plan.domain.contains(BranchAndBound().draw(plan, field, SeededBits(1)))


def test_the_chain_finds_the_same_law():
    plan = plan_of(2, 12, epsilon=20, mechanism=Exponential(), sampler="hit-and-run")
    field, bits = field_of(plan, 30), SeededBits(3)
    exact = law_of(exponents(plan, field))
    mean = np.array([sum(p * k[j] for k, p in exact.items()) for j in range(2)])
    spread = np.sqrt([sum(p * (k[j] - mean[j]) ** 2 for k, p in exact.items()) for j in range(2)])
    found = np.array([HitAndRun().draw(plan, field, bits) for _ in range(25)])
    assert np.all(np.abs(found.mean(axis=0) - mean) < 5 * spread / np.sqrt(25))
    assert np.all(found.std(axis=0) > spread / 2)
