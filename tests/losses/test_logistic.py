"""The logistic function: its program against Arb, laws, privacy loss, and statsmodels' Logit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from flint import arb
from losses.small_problems import UNITS, Lined, drawn, law_of, plan_of, worst
from samplers.laws import ALARM, p_value

import kng
from kng.core.enclosures import ball, precision
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.privacy import Guarantee
from kng.core.problem import Problem
from kng.domains import L1Ball
from kng.losses import Linear, Location, Logistic, Pinball
from kng.losses.pointwise.exponential import exp_minus
from kng.losses.pointwise.function import Interval
from kng.losses.pointwise.logistic import _sigma
from kng.losses.pointwise.steps import PSI
from kng.mechanisms import ObjectivePerturbation
from kng.norms import L2

F = Fraction
ROWS = np.array([(-1.0, 0.0), (0.5, 1.0), (1.0, 0.0), (1.0, 1.0)])  # covariate, class
LABELS = (0, 1)


def margins(rng) -> np.ndarray:
    """A dense grid, random numbers, powers of two, and what is next to multiples of ln 2."""
    wide = np.concatenate([np.linspace(-70, 70, 1401), rng.uniform(-40, 40, 1500)])
    powers = 2.0 ** np.arange(-60.0, 52.0)
    turns = np.log(2) * (np.arange(1, 93) - 0.5)
    near = np.concatenate([turns, np.nextafter(turns, 0), np.nextafter(turns, 99)])
    return np.concatenate([wide, powers, -powers, near, -near, [0.0]])


def test_exp_and_sigma_are_as_close_as_the_proof_says():
    m = margins(np.random.default_rng(1))
    sigma, small = _sigma(m), exp_minus(np.abs(m))
    assert ((sigma >= 0) & (sigma <= 1)).all()
    with precision(300):
        for i, t in enumerate(m):
            truth = (-ball(abs(F(t)))).exp()
            if abs(t) < 64:
                assert abs(ball(F(small[i])) - truth) < truth * arb(2) ** -50
            else:
                assert small[i] == 0
            upper = truth / (1 + truth) if t < 0 else 1 / (1 + truth)
            assert abs(ball(F(sigma[i])) - upper) < arb(2) ** -51


def test_psi_does_not_fall_from_one_point_of_the_grid_to_the_next():
    """Where sigma changes least, one grid step is far more than a rounding."""
    span = Interval(F(-64), F(64))
    stepped = Logistic().stepped(F(1, 2**32), span, Interval(F(0), F(1)))
    for centre in (-17.5, -16.7, -8.0, -0.35, 0.0, 0.35, 8.0, 16.7, 17.5):
        eta = np.rint(centre * 2.0**32) + np.arange(-4000.0, 4000.0)
        for y in (0.0, 2.0**32):
            fine = _sigma(eta / 2.0**32)
            assert (np.diff(fine) >= 0).all()
            found = stepped.psi(eta, np.full_like(eta, y))
            assert (np.diff(found) >= 0).all()
            assert (np.abs(found) <= PSI).all()


def test_chords_are_of_second_order():
    span = Interval(F(-64), F(64))
    stepped = Logistic().stepped(F(1, 2**32), span, Interval(F(0), F(1)))
    y = np.zeros(1)
    for centre in (-3.0, -0.5, 0.0, 0.4, 2.0):
        for half in (2.0, 0.5, 2.0**-4, 2.0**-8):
            low, high = (np.array([np.rint((centre + s * half) * 2.0**32)]) for s in (-1, 1))
            miss = stepped.psi_chords(low, high, y).miss[0] / PSI
            assert miss <= min(0.0963 * half * half / 2, 0.5) + 2.0**-23


def score_of(mechanism: str):
    z = np.column_stack([np.ones(len(ROWS)), ROWS[:, 0]])

    def score(theta) -> float:
        eta = z @ np.array([float(t) for t in theta])
        if mechanism == "exponential":
            return float((np.logaddexp(0, eta) - ROWS[:, 1] * eta).sum())
        return float(np.abs((1 / (1 + np.exp(-eta)) - ROWS[:, 1]) @ z).max())

    return score


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
def test_draws_have_the_law_of_the_formula(mechanism, relation):
    posed = Lined(Logistic(), LABELS, weighs="value" if mechanism == "exponential" else "gradient")
    plan = plan_of(posed, mechanism, UNITS[relation](4), F(12))
    assert plan.certificate.guarantee is Guarantee.EXACT
    found = drawn(plan, posed.source([tuple(row) for row in ROWS]), 1500)
    score = score_of(mechanism)
    assert p_value(found, law_of(plan, score)) > ALARM
    assert p_value(found, law_of(plan, lambda theta: 2 * score(theta))) < ALARM


@pytest.mark.parametrize("relation", list(UNITS))
@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
@pytest.mark.parametrize("intercept", [True, False])
def test_no_pair_of_neighbours_loses_more_than_epsilon(mechanism, relation, intercept):
    weighs = "value" if mechanism == "exponential" else "gradient"
    posed = Lined(Logistic(), LABELS, weighs=weighs, intercept=intercept)
    assert 0.2 < worst(posed, mechanism, relation) <= 1 + 1e-9


@pytest.mark.parametrize("intercept", [True, False])
def test_much_epsilon_gives_the_coefficients_of_statsmodels(intercept):
    """In the caller's units: log-odds for one unit of a covariate, within 0.01."""
    rng = np.random.default_rng(3)
    x = rng.uniform([0, -3], [10, 5], (2000, 2))
    odds = 0.5 * intercept + x @ [0.3, -0.4]
    y = (rng.random(2000) < 1 / (1 + np.exp(-odds))).astype(float)
    model = kng.KNG(Linear(Logistic(), intercept=intercept), domain=kng.domains.Box(-8, 8))
    bounds = ([0, -3], [10, 5])
    found = model.release(x, y, bounds_X=bounds, bounds_y=(0, 1), epsilon=10**5, random_state=1)
    known = sm.Logit(y, sm.add_constant(x) if intercept else x).fit(disp=0).params
    assert np.abs(np.asarray(found.value) - known).max() < 0.01


def test_responses_are_the_nearer_class_and_eta_has_its_own_unit():
    posed = Lined(Logistic(), LABELS)
    design = posed.design
    assert (design.half_y, design.middles[-1], design.ends[-1]) == (1, 0, (0, 1))
    assert design.units((F(1), F(2))) == (1, 2)
    clean = [(-1.0, 0.0), (0.5, 1.0), (0.5, 1.0)]
    other = [(-1.0, -7.0), (0.5, 0.8), (0.5, 30.0)]
    plan = plan_of(posed, "kng", UNITS["replace-one"](3))
    one, two = (plan.read(posed.source(rows), [plan])[0] for rows in (clean, other))
    assert (one.response == two.response).all()
    assert "prediction" in posed.loss.units


def test_what_does_not_fit_is_refused():
    with pytest.raises(IncompatibleParts, match="Location needs a function of the residual"):
        Location(Logistic())
    for classes in ((1, 2), ("no", "yes"), (0, 1, 2), (1, 0)):
        with pytest.raises(SpecError, match="classes must be"):
            Logistic(classes)
    posed = Lined(Pinball(0.5), LABELS)
    parts = posed.loss, L2(), L1Ball(1, dim=2), posed.records, posed.lattice
    with pytest.raises(IncompatibleParts, match="true gradient"):
        ObjectivePerturbation().plan(Problem(*parts, UNITS["replace-one"](3)), F(1))
