"""The smoothed check loss: its body, laws, privacy loss, exact pieces and slopes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from losses.small_problems import UNITS, Lined, drawn, law_of, plan_of, worst
from samplers.laws import ALARM, p_value

from kng.core.delta import delta
from kng.core.design import Design
from kng.core.errors import KngError
from kng.core.regions import Region
from kng.data import open_regression
from kng.losses import Linear, SmoothedPinball
from kng.losses.fields.piecewise_field import read_pieces
from kng.norms import InterceptSup, LInf

F = Fraction
ROWS = np.array([(-1.0, 0.4), (0.5, 1.0), (1.0, -0.6), (1.0, 0.1)])  # covariate, response
TAU, WIDTH = F(3, 10), F(1, 2)


def psi(residual, tau: float, width: float):
    """The definition, a second time: how much of a uniform kernel lies below, less tau."""
    return np.interp(residual, [-width, width], [0.0, 1.0]) - tau


def averaged(residual: float, tau: float, width: float) -> float:
    """The check loss averaged over a fine grid of shifts."""
    moved = residual + width * (np.arange(20000) + 0.5) / 10000 - width
    return float(np.mean(np.maximum((1 - tau) * moved, -tau * moved)))


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_rho_is_the_check_loss_averaged_over_the_kernel(tau):
    function = SmoothedPinball(tau, "0.7")
    for residual in (-3, -0.7, -0.2, 0, 0.3, 0.699, 2):
        found = function._of(F(residual)) * F("0.7")
        assert float(found) == pytest.approx(averaged(residual, tau, 0.7), abs=1e-6)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
def test_draws_have_the_law_of_the_formula(mechanism, relation):
    posed = Lined(
        SmoothedPinball(TAU, WIDTH), weighs="value" if mechanism == "exponential" else "gradient"
    )
    plan = plan_of(posed, mechanism, UNITS[relation](4), F(12))
    found = drawn(plan, posed.source([tuple(row) for row in ROWS]), 1500)
    z, y = np.column_stack([np.ones(4), ROWS[:, 0]]), ROWS[:, 1]

    def score(theta) -> float:
        residual = z @ np.array([float(t) for t in theta]) * float(WIDTH) - y
        if mechanism == "kng":
            return float(np.abs(psi(residual, 0.3, 0.5) @ z).max())
        return sum(averaged(r, 0.3, 0.5) for r in residual) / float(WIDTH)

    assert p_value(found, law_of(plan, score)) > ALARM
    assert p_value(found, law_of(plan, lambda theta: 2 * score(theta))) < ALARM


@pytest.mark.parametrize("relation", list(UNITS))
@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
def test_no_pair_of_neighbours_loses_more_than_epsilon(mechanism, relation):
    weighs = "value" if mechanism == "exponential" else "gradient"
    posed = Lined(SmoothedPinball(TAU, 1), weighs=weighs)
    assert 0.2 < worst(posed, mechanism, relation) <= 1 + 1e-9


def test_the_sensitivity_is_that_of_the_check_loss_and_two_records_attain_it():
    """Residuals beyond the bandwidth on either side: psi is -tau and 1 - tau."""
    posed = Lined(SmoothedPinball(F(9, 10), F(1, 4)))
    body = posed.loss.body(Region.everything(2))
    unit = UNITS["replace-one"](3)
    assert delta(LInf(), body, unit) == F(18, 10)
    assert delta(InterceptSup(F(5, 9)), body, unit) == 1
    function = posed.loss.pointwise
    span = posed.loss.stepped(2**20)
    far = np.array([2.0**40])
    ends = [int(v) * span.psi_step for v in (*span.psi(-far, 0 * far), *span.psi(far, 0 * far))]
    assert ends == [-function.tau, 1 - function.tau]
    # z = 1 above, z = -1 below: the slope moves by 2 max(tau, 1 - tau)
    assert abs(ends[0] * 1 - ends[0] * -1) == F(18, 10)


def design(intercept: bool, width: Fraction) -> Design:
    from kng.core.bounds import Bounds

    bounds = Bounds((F(-1), F(0)), (F(3), F(2)))
    return Linear(SmoothedPinball(TAU, width), intercept=intercept).encode(bounds, (F(-4), F(4)))


@pytest.mark.parametrize("intercept", [True, False])
def test_pieces_are_the_exact_gradient_of_the_summed_loss(intercept):
    rng = np.random.default_rng(1)
    made = design(intercept, WIDTH)
    loss = Linear(SmoothedPinball(TAU, WIDTH), intercept=intercept).over(made)
    X, y = rng.uniform([-1, 0], [3, 2], (50, 2)), rng.normal(size=50)
    source = open_regression(X, y, made.records)
    field = read_pieces(source, made, UNITS["replace-one"](50), LInf(), loss.pointwise.clipped)
    ints = np.asarray(field.source.rows)
    z = [
        [F(1)] * intercept
        + [F(2 * int(k) - c, s) for k, c, s in zip(row, made.offsets, made.spans, strict=True)][:-1]
        for row in ints
    ]
    unit = made.records.step[-1] / made.half_y / 2
    ys = [(2 * int(row[-1]) - made.offsets[-1]) * unit for row in ints]
    for _ in range(5):
        theta = tuple(F(int(v), 16) for v in rng.integers(-20, 20, made.dim))
        expected = [F(0)] * made.dim
        for row, response in zip(z, ys, strict=True):
            r = sum((a * t for a, t in zip(row, theta, strict=True)), F(0)) - response
            weight = max(min((1 + r) / 2, F(1)), F(0)) - TAU
            expected = [e + weight * a for e, a in zip(expected, row, strict=True)]
        assert field.gradient(theta) == expected
    assert loss.curvature() == F(made.dim, 2)


def test_slopes_and_secants_are_never_too_large():
    function, rng = SmoothedPinball(TAU, 2), np.random.default_rng(2)
    eta, y = rng.uniform(-6, 6, 400), np.zeros(400)
    reach = rng.choice([0.0, 1e-9, 0.01, 0.5, 3.0], 400)
    value, slope = function.curve(eta, y)
    assert np.allclose(value, psi(eta, 0.3, 2.0))
    assert np.allclose(slope, np.where(np.abs(eta) < 2, 0.25, 0.0))
    least, secant = function.least_slopes(eta, reach, y)
    assert (least <= slope).all()
    for part in np.linspace(-1, 1, 21):
        h = part * reach
        assert (least <= function.curve(eta + h, y)[1]).all()
        moved = np.abs(h) > 1e-6
        between = (function.curve(eta + h, y)[0] - value)[moved] / h[moved]
        assert (secant[moved] <= between + 1e-9).all()
    assert secant[(np.abs(eta) < 1) & (reach == 0.5)] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("tau", "width", "message"),
    [(0, 1, "between 0 and 1"), (0.5, 0, "bandwidth"), (0.5, -1, "bandwidth"), (0.5, "x", "band")],
)
def test_bad_numbers_are_refused(tau, width, message):
    with pytest.raises(KngError, match=message):
        SmoothedPinball(tau, width)
