"""Expectiles: laws, privacy loss, and the expectiles of other libraries."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from losses.small_problems import UNITS, Lined, Located, drawn, law_of, plan_of, worst
from samplers.laws import ALARM, p_value
from scipy.stats import expectile

import kng
from kng.core.delta import delta
from kng.core.design import design_of
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.privacy import Guarantee
from kng.core.problem import Problem
from kng.core.regions import Region
from kng.data import open_source
from kng.domains import Box, L1Ball
from kng.losses import Expectile, Linear, Location, Squared
from kng.losses.linear_encoding import linear_lattice
from kng.mechanisms import ObjectivePerturbation
from kng.norms import L2, LInf

F = Fraction
TAU = 0.8


def psi(r):
    return np.where(r < 0, TAU, 1 - TAU) * r


def rho(r):
    return psi(r) * r / 2


LINE = np.array([(0.0,), (1.0,), (4.0,)])
PLANE = np.array([(0.0, 4.0), (1.0, 1.0), (4.0, 0.0)])
ROWS = np.array([(-1.0, -1.0), (0.5, 1.0), (1.0, 0.5)])  # covariate, response


def located(mechanism: str, records: np.ndarray):
    def score(theta) -> float:
        r = np.array([float(t) for t in theta]) - records
        if mechanism == "exponential":
            return float(rho(r).sum())
        return float(np.abs(psi(r).sum(axis=0)).max())

    return score


def lined(mechanism: str):
    z = np.column_stack([np.ones(len(ROWS)), ROWS[:, 0]])

    def score(theta) -> float:
        r = z @ np.array([float(t) for t in theta]) - ROWS[:, 1]
        if mechanism == "exponential":
            return float(rho(r).sum())
        return float(np.abs(psi(r) @ z).max())

    return score


def case(kind: str, mechanism: str):
    function = Expectile(TAU)
    if kind == "linear":
        weighs = "value" if mechanism == "exponential" else "gradient"
        return Lined(function, weighs=weighs), ROWS, lined(mechanism)
    records = LINE if kind == "line" else PLANE
    return Located(function, records.shape[1]), records, located(mechanism, records)


@pytest.mark.every(2)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
@pytest.mark.parametrize("kind", ["line", "plane", "linear"])
def test_draws_have_the_law_of_the_formula(kind, mechanism, relation):
    posed, records, score = case(kind, mechanism)
    epsilon = F(60) if mechanism == "exponential" else F(4 if kind == "line" else 12)
    plan = plan_of(posed, mechanism, UNITS[relation](3), epsilon)
    assert plan.certificate.guarantee is Guarantee.EXACT
    found = drawn(plan, posed.source([tuple(row) for row in records]), 500)
    assert p_value(found, law_of(plan, score)) > ALARM
    assert p_value(found, law_of(plan, lambda theta: 2 * score(theta))) < ALARM


@pytest.mark.parametrize("relation", list(UNITS))
@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
@pytest.mark.parametrize("kind", ["line", "linear"])
def test_no_pair_of_neighbours_loses_more_than_epsilon(kind, mechanism, relation):
    posed, *_ = case(kind, mechanism)
    found = worst(posed, mechanism, relation)
    assert 0.2 < found <= 1 + 1e-9


@pytest.mark.parametrize("tau", [0.1, 0.6, 0.9])
def test_much_epsilon_gives_the_expectile_of_scipy(tau):
    """Theta moves in steps of 1 here, so the nearest whole number."""
    rng = np.random.default_rng(1)
    posed = Located(Expectile(tau), 1)
    records = rng.integers(0, 5, 101).astype(float)
    plan = plan_of(posed, "kng", UNITS["replace-one"](101), F(10**4))
    (found,) = drawn(plan, posed.source([(v,) for v in records]), 1)
    assert abs(float(plan.grid.theta(found)[0]) - expectile(records, tau)) <= 0.5 + 1e-9


def test_a_half_is_the_mean_and_half_the_squared_loss():
    half, squared = (Lined(p) for p in (Expectile("1/2"), Squared()))
    assert half.loss.proportion == F(1, 2)
    rows = [tuple(row) for row in ROWS]
    plans = [plan_of(posed, "kng", UNITS["replace-one"](3)) for posed in (half, squared)]
    fields = [
        p.read(posed.source(rows), [p])[0] for p, posed in zip(plans, (half, squared), strict=True)
    ]
    for k in [(0, 0), (3, -2), (-1, 3)]:
        one, other = (f.score(k) for f in fields)
        assert one == other / 2
        assert plans[0].exponent(k, one) == plans[1].exponent(k, other)


def test_weights_with_many_digits_keep_a_fine_lattice():
    design = Lined(Expectile(TAU)).design
    plain = linear_lattice(Expectile("0.123456789"), design_of(design.records, True), F(8))
    assert plain.step[0] <= F(1, 2**16)


@pytest.mark.parametrize("tau", ["1048575/1048576", "0.12345", "0.9"])
def test_far_from_the_records_one_of_them_moves_no_score_by_more_than_delta(tau):
    """One step of a psi that is truncated was up to 2**15 Delta there."""
    far = 2**31
    made = kng.KNG(Location(Expectile(tau)), domain=Box(far, far + 200))
    plan, shares = made.plan(bounds=(0, 1), epsilon=1, granularity=1, n=2)._plan, []
    for last in (0, 1):
        source = open_source([0, last], plan.problem.records)
        (field,) = plan.read(source, [plan])
        shares.append([plan.exponent((far + k,), field.score((far + k,))) for k in range(201)])
    assert max(abs(a - b) for a, b in zip(*shares, strict=True)) == F(1, 2)


def test_where_whole_numbers_have_no_room_it_is_refused_before_the_charge():
    for far, tau in ((2**48, "1048575/1048576"), (2**49, 0.9)):
        made = kng.KNG(Location(Expectile(tau)), domain=Box(far, far + 200))
        with pytest.raises(IncompatibleParts, match="larger granularity"):
            made.plan(bounds=(0, 1), epsilon=1, granularity=1)


def test_what_is_no_expectile_or_has_no_pieces_is_refused():
    for tau in (0, 1, -0.5, 2):
        with pytest.raises(SpecError, match="strictly between 0 and 1"):
            Expectile(tau)
    posed = Lined(Expectile(TAU))
    posed.domain = L1Ball(1, dim=2)
    parts = posed.loss, L2(), posed.domain, posed.records, posed.lattice
    with pytest.raises(IncompatibleParts, match=r"Linear\(Expectile\(0.8\)\)"):
        ObjectivePerturbation().plan(Problem(*parts, UNITS["replace-one"](3)), F(1))
    assert Linear(Expectile(TAU)).described == "Linear(Expectile(0.8))"


@pytest.mark.parametrize(
    ("theta", "delta_of_slope"),
    [
        ((F(1, 2), F(0)), F(9, 10)),  # residuals from -1/2 to 3/2: 9/10 of 1/2, on either side
        ((F(-1, 2), F(0)), F(27, 10)),  # from -3/2 to 1/2
        ((F(2), F(0)), F(6, 10)),  # from 1 to 3: a tenth of 3
    ],
)
def test_slopes_beside_an_intercept_know_the_side_of_the_residuals(theta, delta_of_slope):
    """Attained by records with the same residual and opposite z, where the slope is 0."""
    posed = Lined(Expectile("0.9"), reach=8, step=F(1, 2))
    slope = LInf(weights=(F(1, 10**6), 1))  # looks at the slope alone
    unit = UNITS["replace-one"](3)
    assert delta(slope, posed.loss.body(Region.at(theta)), unit) == delta_of_slope
    weight = {y: F(9, 10) if theta[0] < y else F(1, 10) for y in (-1, 1)}
    reached = max(2 * abs(weight[y] * (theta[0] - y)) for y in (-1, 1))
    assert reached == delta_of_slope


def test_no_two_scores_lie_farther_apart_than_delta_at_their_theta():
    """Random theta, regions around them, records at corners and inside, in two coordinates."""
    rng, tau = np.random.default_rng(2), F(9, 10)
    posed = Lined(Expectile(tau), reach=64, step=F(1, 16))
    for _ in range(60):
        theta = tuple(F(int(k), 16) for k in rng.integers(-48, 49, 2))
        half = F(int(rng.integers(0, 16)), 16)
        region = Region.between(*(tuple(t + s * half for t in theta) for s in (-1, 1)))
        z = np.r_[-1, 1, rng.uniform(-1, 1, 20)].round(3)
        r = float(theta[0]) + float(theta[1]) * z[:, None] - np.array([-1, -0.3, 0.6, 1])
        psi_here = np.where(r < 0, 0.9, 0.1) * r
        slopes = psi_here * z[:, None]
        for relation, size in (
            ("replace-one", lambda v: v.max() - v.min()),
            ("add-remove", lambda v: np.abs(v).max()),
        ):
            unit = UNITS[relation](3)
            for j, found in enumerate((psi_here, slopes)):
                one = LInf(weights=[F(1, 10**6) if k != j else 1 for k in range(2)])
                at = delta(one, posed.loss.body(Region.at(theta)), unit)
                assert size(found) <= at + F(1, 10**9)
                assert delta(one, posed.loss.smallest(region), unit) <= at
                assert at <= delta(one, posed.loss.body(region), unit)
