"""Delta(theta) of log-odds: attacked at every theta, attained, bounded over boxes, and drawn from.

Delta is 2 sigma(T) in the sup norm under replace-one, T the largest |z'theta| of any record. It is
half as large at 0 as it is far away.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from unittest import mock

import numpy as np
import pytest
from conformance.norms import norms
from losses.small_problems import UNITS, Lined, drawn, law_of, plan_of, points_of
from samplers.laws import ALARM, p_value

import kng
from kng.core.bodies import Cuboid, product_set
from kng.core.bounds import Bounds
from kng.core.delta import changes, delta, product_delta, product_deltas
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.core.regions import Region
from kng.domains import Box, L1Ball, Whole
from kng.losses import Linear, Logistic
from kng.losses.linear_factor import LinearFactor
from kng.losses.pointwise.function import Interval
from kng.losses.pointwise.odds import Odds
from kng.losses.pointwise.steps import PSI
from kng.mechanisms import KNG, ObjectivePerturbation
from kng.norms import L1, L2, CoordinateSup, Hull, InterceptSup, LInf
from kng.samplers.chains.target import walk_of

F = Fraction
STEP = F(1, PSI)
TWO, ONE_SIDED, AWAY, ACROSS = (F(-1), F(1)), (F(0), F(3)), (F(1), F(2)), (F(-1), F(4))
DESIGNS = [
    ([TWO], True),
    ([TWO, ONE_SIDED], True),
    ([TWO], False),
    ([ONE_SIDED], False),
    ([AWAY, TWO], False),
    ([ACROSS, ONE_SIDED], False),
]


def loss_of(columns, intercept: bool, function=None, bound: int = 16) -> Linear:
    formula = Linear(function or Logistic(), intercept=intercept)
    lows, highs = zip(*columns, strict=True)
    design = formula.encode(Bounds(lows, highs), (F(0), F(1)))
    return formula.over(design, formula.lattice(design, F(bound)))


def scores(loss: Linear, point, rows, labels) -> list[tuple[Fraction, ...]]:
    """Return the scores of records as they are computed: x in whole steps, classes 0 and 1."""
    most = 2**16 * sum(abs(k) for k in point)
    stepped = loss.stepped(most)
    x = np.array([[int(2**16 * z) for z in row] for row in rows], dtype=float)
    eta = x @ np.array(point, dtype=float)
    psi = stepped.psi(eta, np.array([float(y / loss.rows.unit) for y in labels]))
    return [
        tuple(stepped.psi_step * int(w) * F(int(v), 2**16) for v in row)
        for w, row in zip(psi, x, strict=True)
    ]


def attackers(loss: Linear, rng) -> tuple[list, list]:
    """Return corners of the rows, random rows and near corners, with both classes."""
    ends = loss.design.rows
    rows = list(product(*(sorted(set(side)) for side in ends)))
    for _ in range(60):
        wide = rng.random(len(ends)) if rng.random() < 0.5 else rng.integers(0, 2, len(ends))
        near = rng.integers(0, 3, len(ends)) / 64
        parts = [
            min(max(F(int(4096 * (w + e)), 4096), F(0)), F(1))
            for w, e in zip(wide, near, strict=True)
        ]
        steps = [int(2**16 * (a + p * (b - a))) for p, (a, b) in zip(parts, ends, strict=True)]
        inside = zip(steps, ends, strict=True)
        rows.append(tuple(min(max(F(k, 2**16), a), b) for k, (a, b) in inside))
    both = [(row, y) for row in rows for y in (F(0), F(1))]
    return [row for row, _ in both], [y for _, y in both]


@pytest.mark.parametrize("function", [Logistic(), Odds(1, 2)], ids=["logistic", "odds"])
@pytest.mark.parametrize(("columns", "intercept"), DESIGNS)
def test_no_two_records_are_farther_apart_than_delta_of_their_theta(columns, intercept, function):
    """Computed scores in every norm, at small and large theta and at the ends of rounding."""
    loss, rng = loss_of(columns, intercept, function), np.random.default_rng(5)
    d, step = loss.dim, loss.grid.step[0]
    measures = [*norms(d).values(), Hull()]
    thetas = [np.zeros(d)]
    thetas += [rng.normal(size=d) * size for size in (1e-7, 0.01, 0.5, 2, 6) for _ in range(2)]
    rows, labels = attackers(loss, rng)
    for theta in thetas:
        point = tuple(int(k) for k in np.clip(np.rint(theta / float(step)), -(2**40), 2**40))
        found = scores(loss, point, rows, labels)
        body = loss.body(loss.grid.region(point, point))
        for norm in measures:
            for relation, make in UNITS.items():
                unit = make(5)
                fitted = norm.at(changes(body, unit))
                most = delta(norm, body, unit)
                floats = np.array([[float(v) for v in u] for u in found])
                if relation != "add-remove":  # the farthest pairs along many directions
                    ways = rng.normal(size=(30, d))
                    order = floats @ ways.T
                    pairs = set(zip(order.argmin(axis=0), order.argmax(axis=0), strict=True))
                    for i, j in pairs:
                        move = [a - b for a, b in zip(found[i], found[j], strict=True)]
                        assert fitted.value(move) <= most
                if relation != "replace-one":
                    for i in set((np.abs(floats @ rng.normal(size=(d, 12)))).argmax(axis=0)):
                        assert fitted.value(found[i]) <= most


def sigma(t) -> float:
    return 1 / (1 + math.exp(-float(t)))


@pytest.mark.parametrize("theta", [(0, 0), (F(1, 2), 0), (0, 3), (-1, 0), (0, -8)])
def test_delta_is_twice_sigma_of_the_farthest_prediction_and_attained(theta):
    """A coordinate of 0: both records have the farthest prediction, and opposite z there."""
    loss = loss_of([TWO], True)
    theta = tuple(map(F, theta))
    free, far = (0, 1) if theta[0] == 0 else (1, 0)
    at = loss.body(Region.at(theta))
    size = sum(map(abs, theta))
    point = tuple(int(t / h) for t, h in zip(theta, loss.grid.step, strict=True))
    sign = 1 if theta[far] >= 0 else -1
    # z_0 is always 1: with a free intercept records are of both classes, on opposite sides
    if far == 1:
        rows, labels = [(F(1), F(sign)), (F(1), F(-sign))], [F(0), F(1)]
    else:
        rows, labels = [(F(1), F(1)), (F(1), F(-1))], [F(0) if sign > 0 else F(1)] * 2
    u, v = scores(loss, point, rows, labels)
    for relation, expected in (("replace-one", 2), ("absent", 2), ("add-remove", 1)):
        found = delta(LInf(), at, UNITS[relation](5))
        assert expected * F(sigma(size)) - STEP <= found <= expected * (F(sigma(size)) + 2 * STEP)
        move = abs(u[free] - v[free]) if expected == 2 else abs(u[free])
        assert found - 2 * expected * STEP <= move <= found
    if size == 0:
        assert delta(LInf(), at, UNITS["replace-one"](5)) == 1


def test_far_away_delta_is_what_it_was():
    loss = loss_of([TWO], True)
    for region in (Region.at((F(17), F(0))), Region.everything(2), Region.ball(F(40), 2)):
        wide = loss_of([TWO], True, bound=64) if region.bounded else loss
        assert delta(LInf(), wide.body(region), UNITS["replace-one"](5)) == 2
        assert delta(LInf(), wide.body(region), UNITS["add-remove"](5)) == 1


def random_boxes(loss: Linear, rng, size: int):
    """Return corners of boxes of lattice points: across 0, at it, on one side, single points."""
    step, d = float(loss.grid.step[0]), loss.dim
    width = 2.0 ** rng.integers(-24, 4, (size, 1)) * rng.random((size, d))
    centre = rng.normal(size=(size, d)) * 2.0 ** rng.integers(-20, 3, (size, 1))
    centre[rng.random((size, d)) < 0.2] = 0
    width[rng.random((size, d)) < 0.2] = 0
    low, high = (
        np.clip(np.rint((centre + s * width) / step), -16 / step, 16 / step) for s in (-1, 1)
    )
    return low, high


@pytest.mark.parametrize(("columns", "intercept"), DESIGNS)
def test_bounds_over_boxes_hold_at_their_points_and_close_in(columns, intercept):
    """In exact numbers and in float64."""
    loss, rng = loss_of(columns, intercept), np.random.default_rng(8)
    factor = loss.factor
    assert isinstance(factor, LinearFactor)
    first, last = random_boxes(loss, rng, 150)
    step = float(loss.grid.step[0])
    outer_low, outer_high, inner_low, inner_high = factor.bounds(first * step, last * step)
    for i, (a, b) in enumerate(zip(first.astype(int), last.astype(int), strict=True)):
        region = loss.grid.region(tuple(a.tolist()), tuple(b.tolist()))
        body, least = loss.body(region), loss.smallest(region)
        for _ in range(4):
            t = tuple(int(k) for k in rng.integers(a, b + 1))
            at = loss.body(loss.grid.region(t, t))
            low, high = ends_of_w(at, loss)
            for wide, narrow in (
                ((ends_of_w(body, loss)), (ends_of_w(least, loss))),
                ((outer_low[i], outer_high[i]), (inner_low[i], inner_high[i])),
            ):
                assert wide[0] <= low <= narrow[0]
                assert narrow[1] <= high <= wide[1]
        if (a == b).all():
            assert body == least
            assert inner_low[i] - outer_low[i] <= 2.0**-22
            assert outer_high[i] - inner_high[i] <= 2.0**-22


def ends_of_w(body, loss: Linear) -> tuple[Fraction, Fraction]:
    """Return the weights of a product set, from a coordinate in which rows reach 1 or -1."""
    j = next(j for j, side in enumerate(loss.design.rows) if 1 in map(abs, side))
    sizes = [max(map(abs, piece.sides()[j])) for piece in body.cuboids]
    return -sizes[0], sizes[1]


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("relation", list(UNITS))
def test_delta_of_a_product_set_is_the_larger_of_two_lines(dim, relation):
    rng, unit = np.random.default_rng(3), UNITS[relation](5)
    rows = Cuboid((F(1), F(0), F(-1, 3))[:dim], (F(1), F(1), F(1))[:dim])
    for norm in [*norms(dim).values()]:
        if norm.follows:
            continue
        single, double = (np.array(float(v)) for v in product_deltas(norm, rows, unit))
        for _ in range(6):
            u, v = -F(int(rng.integers(0, 999)), 998), F(int(rng.integers(0, 999)), 998)
            exact = delta(norm, product_set((u, v), rows), unit)
            found = product_delta(single, double, np.array(float(u)), np.array(float(v)))
            assert float(found) == pytest.approx(float(exact), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "norm", [LInf(), L1(), L2(), InterceptSup(F(2, 3)), Hull(), CoordinateSup()]
)
@pytest.mark.parametrize("relation", list(UNITS))
@pytest.mark.parametrize("intercept", [True, False])
def test_exponents_lie_between_their_bounds(norm, relation, intercept):
    """Over random boxes and at random vectors, in norms that follow the changes as well."""
    loss, rng = loss_of([TWO, ONE_SIDED], intercept), np.random.default_rng(4)
    domain = Box(-16, 16, dim=loss.dim)
    problem = Problem(loss, norm, domain, loss.design.records, loss.answers, UNITS[relation](9))
    plan = KNG().plan(problem, F(3))
    first, last = random_boxes(loss, rng, 40)
    low = rng.normal(size=(40, loss.dim)) * 8
    high = low + rng.exponential(size=(40, loss.dim)) * (rng.random((40, 1)) < 0.7)
    lower, upper = plan.exponent_bounds(low, high, first, last)
    for i, (a, b) in enumerate(zip(first.astype(int), last.astype(int), strict=True)):
        for _ in range(3):
            t = tuple(int(k) for k in rng.integers(a, b + 1))
            vector = [F(float(v)) for v in rng.uniform(low[i], high[i])]
            gamma = plan.exponent(t, plan.measure(t, vector))
            assert lower[i] <= gamma <= upper[i]
        if (a == b).all() and (low[i] == high[i]).all():
            assert upper[i] - lower[i] <= 0.04 * upper[i] if norm.follows else 1e-6 * upper[i]


# --- the law --------------------------------------------------------------------------------------

DATA = [(-1.0, 0.0), (0.5, 1.0), (1.0, 0.0), (1.0, 1.0), (1.0, 1.0)]


def formula(theta) -> float:
    """Return the score over Delta, written down from the formulas."""
    rows = np.array(DATA)
    z = np.column_stack([np.ones(len(rows)), rows[:, 0]])
    eta = z @ np.array([float(t) for t in theta])
    total = np.abs((1 / (1 + np.exp(-eta)) - rows[:, 1]) @ z).max()
    return float(total / (2 * sigma(sum(abs(float(t)) for t in theta))))


def law(plan: DensityPlan, rate: float = 1.0) -> dict:
    """Return exp(-(epsilon / 2) score / Delta(theta)), normalised."""
    weights = {
        k: math.exp(-rate * float(plan.epsilon) / 2 * formula(plan.grid.theta(k)))
        for k in points_of(plan)
    }
    total = sum(weights.values())
    return {k: w / total for k, w in weights.items()}


def test_draws_have_delta_of_their_theta_and_not_the_largest_one():
    posed = Lined(Logistic(), (0, 1), reach=4, step=F(1, 2))
    plan = plan_of(posed, "kng", UNITS["replace-one"](5), F(12))
    found = drawn(plan, posed.source(DATA), 4000)
    assert p_value(found, law(plan)) > ALARM
    assert p_value(found, law(plan, 0.8)) < ALARM
    sup = replace(plan, steady=F(2))
    constant = law_of(sup, lambda theta: formula(theta) * 2 * sigma(sum(map(abs, theta))))
    assert p_value(found, constant) < ALARM


def test_the_chain_and_the_density_have_it_too():
    posed = Lined(Logistic(), (0, 1), reach=4, step=F(1, 2))
    plan = plan_of(posed, "kng", UNITS["replace-one"](5), F(12))
    (field,) = plan.read(posed.source(DATA), [plan])
    walk = walk_of(plan, field)
    for point in points_of(plan):
        wanted = -6 * formula(plan.grid.theta(point))
        assert walk.log_density(np.array(point, dtype=float)) == pytest.approx(wanted, abs=1e-5)
    x, y = np.array(DATA).T
    mechanism = kng.KNG(Linear(Logistic()), norm=LInf(), domain=kng.domains.Box(-2, 2))
    asked = {"bounds_X": (-1, 1), "bounds_y": (0, 1), "epsilon": 12}
    grid = [(0, 0), (1, -1), (2, 0.5), (-2, 2)]
    shown = mechanism.density(x[:, None], y, grid=grid, public=True, **asked)
    wanted = np.array([-6 * formula(theta) for theta in shown.points])
    assert np.abs(shown.log_density - wanted).max() < 1e-5


def test_a_plan_tells_delta_at_a_theta():
    mechanism = kng.KNG(Linear(Logistic()), norm=LInf(), domain=kng.domains.Box(-2, 2))
    plan = mechanism.plan(bounds_X=(-1, 1), bounds_y=(0, 1), epsilon=1, n=100)
    assert plan.sensitivity((0, 0)) == 1
    assert plan.sensitivity((1, -1)) == pytest.approx(2 * sigma(2), abs=1e-6)
    with pytest.raises(kng.KngError, match="depends on theta"):
        plan.sensitivity()


# --- the privacy loss -----------------------------------------------------------------------------


def largest_loss(plan: DensityPlan, posed: Lined, datasets) -> float:
    """Return the largest log ratio of the laws of two datasets, in parts of epsilon."""
    logs = []
    for rows in datasets:
        (field,) = plan.read(posed.source(rows), [plan])
        gamma = np.array([float(plan.exponent(k, field.score(k))) for k in points_of(plan)])
        logs.append(-gamma - np.logaddexp.reduce(-gamma))
    return float(np.abs(logs[0] - logs[1]).max()) / float(plan.epsilon)


@pytest.mark.parametrize("relation", list(UNITS))
def test_the_loss_comes_close_to_epsilon_and_never_above(relation):
    """Small theta, 1,024 records at z = 0: the gradient is -1 at theta_0 = -h, 3 at 0 and 7 at h.

    Another class for one record makes it 0 and 4 and 8: the score falls by Delta where the law is,
    which pays for half of epsilon, and rises by Delta elsewhere, for the other half. A record that
    comes or goes does half as much, and Delta is half as large or, with absences, is not.
    """
    posed = Lined(Logistic(), (0, 1), reach=1, step=F(1, 64))
    n, ones = 1024, 509
    rest = [(0.0, 1.0)] * (ones - 1) + [(0.0, 0.0)] * (n - ones)
    plan = plan_of(posed, "kng", UNITS[relation](n), F(40))
    pair = [*rest, (0.0, 1.0)], [*rest, (0.0, 0.0)]
    if relation == "add-remove":
        pair = [*rest, (0.0, 1.0)], rest
    found = largest_loss(plan, posed, pair)
    assert 0.95 < found <= 1 + 1e-9
    if relation == "absent":
        assert 0.45 < largest_loss(plan, posed, [pair[0], rest]) <= found
    half = replace(plan, delta=replace(plan.delta, body=posed.loss.smallest), steady=F(1, 2))
    assert largest_loss(half, posed, pair) > 1


def test_delta_of_a_box_that_follows_the_data_costs_more_than_epsilon():
    """Fact 1: boxes are cut where the data are. Delta of the box around the mode is no constant."""
    posed = Lined(Logistic(), (0, 1), reach=8, step=F(1, 2), intercept=False)
    unit = UNITS["replace-one"](9)
    plan = plan_of(posed, "kng", unit, F(1))
    rest = [(1.0, 1.0), (1.0, 0.0)] * 4

    def logs(rows, wrong: bool) -> np.ndarray:
        (field,) = plan.read(posed.source(rows), [plan])
        score = {k: field.score(k) for k in points_of(plan)}
        best = min(score, key=score.__getitem__)
        gamma = []
        for k, s in score.items():
            at = plan.delta_at(k)
            if wrong and abs(k[0] - best[0]) <= 2:  # the box where the density is
                ends = tuple(best[0] + e for e in (-2, 2))
                region = plan.grid.region((min(ends),), (max(ends),))
                at = plan.delta.under(region)
            gamma.append(float(plan.epsilon * s / (2 * at)))
        return -np.array(gamma) - np.logaddexp.reduce(-np.array(gamma))

    pair = [*rest, (1.0, 1.0)], [*rest, (-1.0, 1.0)]
    right, wrong = (float(np.abs(logs(pair[0], w) - logs(pair[1], w)).max()) for w in (False, True))
    assert right <= 1 + 1e-9
    assert wrong > right


def test_delta_at_0_is_too_small_elsewhere():
    """The largest moves at each theta come close to Delta there, and pass Delta of another."""
    posed = Lined(Logistic(), (0, 1), reach=8, step=F(1))
    plan = plan_of(posed, "kng", UNITS["add-remove"](1), F(1))
    (one,) = plan.read(posed.source([(1.0, 0.0)]), [plan])
    point = (4, 4)
    move = one.score(point)
    assert plan.delta_at((0, 0)) == F(1, 2) < move <= plan.delta_at(point) < move + 2 * STEP


# --- mechanisms that need one number ------------------------------------------------------------


@pytest.mark.parametrize("radius", [F(1, 4), F(1), F(3)])
def test_objective_perturbation_takes_the_largest_delta_of_its_domain(radius):
    """2 sigma(B) on the l1 ball of radius B, attained at a vertex; 2 on everything."""
    loss, unit = loss_of([TWO], True, bound=4), UNITS["replace-one"](100)
    parts = loss.design.records, loss.answers, unit
    small = Problem(loss, LInf(), L1Ball(radius, dim=2), *parts)
    plan = ObjectivePerturbation(F(1, 2)).plan(small, F(1))
    found = F(1, 2) / plan.rate
    assert 2 * F(sigma(radius)) - STEP <= found <= 2 * F(sigma(radius)) + 4 * STEP
    body = loss.body(Region.at((F(0), radius)))
    assert delta(LInf(), body, unit) == found
    every = Problem(loss, LInf(), Whole(2, base=kng.bases.Uniform()), *parts)
    assert F(1, 2) / ObjectivePerturbation(F(1, 2)).plan(every, F(1)).rate == 2


def test_kng_on_an_l1_ball_takes_delta_at_theta_too():
    loss, unit = loss_of([TWO], True, bound=4), PrivacyUnit(UNITS["replace-one"](9).neighbours)
    problem = Problem(loss, LInf(), L1Ball(3, dim=2), loss.design.records, loss.answers, unit)
    plan = KNG().plan(problem, F(1))
    assert plan.steady is None
    assert plan.delta_at((0, 0)) == 1


def test_the_range_of_all_predictions_makes_delta_constant_again():
    """What was before: one range of psi for every prediction."""
    posed = Lined(Logistic(), (0, 1), reach=4, step=F(1, 2))
    wide = Interval(F(-1), F(1))
    with mock.patch.object(Logistic, "psi", return_value=wide):
        assert plan_of(posed, "kng", UNITS["replace-one"](5), F(12)).steady == 2
    assert plan_of(posed, "kng", UNITS["replace-one"](5), F(12)).steady is None
