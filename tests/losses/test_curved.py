"""Curved pointwise functions: psi within its doubt, slopes within their bounds, attained ends.

A function of one's own joins by a line in FUNCTIONS.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from losses.small_problems import UNITS, Lined, worst

from kng.core.bounds import Bounds
from kng.core.delta import delta
from kng.core.enclosures import ball, floor_ceil, precision
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.regions import Region
from kng.losses import Counts, Linear, Logistic
from kng.losses.pointwise.curved import Curved
from kng.losses.pointwise.function import Interval
from kng.losses.pointwise.odds import Odds
from kng.norms import LInf

F = Fraction
EVERY = Interval(None, None)
# Functions, and the responses they are asked about.
FUNCTIONS: dict[str, tuple[Curved, tuple[float, ...]]] = {
    "logistic": (Logistic(), (0.0, 1.0)),
    "odds": (Odds(1, 3), (0.0, 1.0, 2.0, 3.0)),
    "counts": (Counts(20), (0.0, 7.0, 20.0)),
    "few counts": (Counts(1), (0.0, 1.0)),
}
REACHES = (0.0, 2.0**-20, 2.0**-4)


def psi_of(function: Curved, eta: Fraction, y: float) -> Fraction:
    """Return psi to 2**-200, from the definition."""
    with precision(400):
        if isinstance(function, Counts):
            mean = ball(eta).exp().min(ball(function.most))
            value = (mean - ball(F(y))) / ball(function.most)
        elif isinstance(function, Odds) and y == function.classes:
            return F(0)
        else:
            ours = y == (function.position if isinstance(function, Odds) else 1)
            value = 1 / (1 + (-ball(eta)).exp()) - int(ours)
        return F(sum(floor_ceil(value, 250)), 2**251)


def predictions() -> np.ndarray:
    rng = np.random.default_rng(2)
    grid = np.concatenate([np.linspace(-70, 70, 141), rng.uniform(-6, 6, 150)])
    return np.concatenate([grid, np.log(20) + np.linspace(-1e-12, 1e-12, 5), [0.0, 1e6, -1e6]])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_psi_lies_within_its_doubt_and_is_enclosed(name):
    function, responses = FUNCTIONS[name]
    assert isinstance(function, Curved)
    eta = predictions()
    for y in responses:
        found = function.derivatives(eta, np.full_like(eta, y), 0.0)
        for i, at in enumerate(eta):
            if abs(at) > 1000:
                assert abs(found.psi[i]) <= 1
                continue
            truth = psi_of(function, F(at), y)
            assert abs(F(found.psi[i]) - truth) <= F(found.doubt[i])
            with precision(300):
                enclosed = function.enclosed(F(at), F(y))
                assert (enclosed - ball(truth)).abs_lower() < arb(2) ** -200
        assert (found.doubt <= 2.0**-48).all()


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_within_reach_lie_between_their_bounds(name, reach):
    """Difference quotients of the true psi, at the ends of the reach and in between."""
    function, responses = FUNCTIONS[name]
    eta = predictions()[::3]
    eta = eta[np.abs(eta) < 60]
    tight = 0.0
    for y in responses:
        found = function.derivatives(eta, np.full_like(eta, y), reach)
        assert (found.least >= 0).all()
        assert (found.most <= float(function.curvature)).all()
        for i, at in enumerate(eta):
            step = F(1, 2**60)
            for share in (-1, F(1, 3), 1):
                left = F(at) + share * F(reach) - (step if share > 0 else 0)
                rise = (psi_of(function, left + step, y) - psi_of(function, left, y)) / step
                slack = F(1, 2**58)
                assert F(found.least[i]) - slack <= rise <= F(found.most[i]) + slack
                if rise > F(1, 100):
                    tight = max(tight, float(F(found.least[i]) / rise))
    assert tight > 1 - 4 * reach - 1e-9


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_range_of_psi_is_attained_and_so_is_its_slope(name):
    function, responses = FUNCTIONS[name]
    low, high = min(responses), max(responses)
    found = function.psi(EVERY, Interval(F(low), F(high)))
    eta = np.array([-45.0, 45.0])
    values = [function.derivatives(eta, np.full(2, y), 0.0).psi for y in responses]
    assert np.min(values) == pytest.approx(float(found.low), abs=1e-12)
    assert np.max(values) == pytest.approx(float(found.high), abs=1e-12)
    steepest = np.array([0.0, np.log(float(getattr(function, "most", 1))) - 2.0**-30])
    slope = function.derivatives(steepest, np.full(2, responses[0]), 0.0).most.max()
    assert slope == pytest.approx(float(function.curvature), rel=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("unit", UNITS)
def test_scores_move_by_delta_and_no_more(name, unit):
    """All pairs of extreme records in one covariate and an intercept; the constant is reached."""
    function, responses = FUNCTIONS[name]
    posed = Linear(function).encode(
        Bounds((F(-1),), (F(1),)), (F(min(responses)), F(max(responses)))
    )
    body = Linear(function).over(posed).body(Region(2, None, None, None))
    most = delta(LInf(), body, UNITS[unit](2))
    scores = [np.zeros(2)] if unit != "replace-one" else []
    for y in responses:
        for z in (-1.0, 0.3, 1.0):
            for eta in (-45.0, 0.0, 45.0):
                psi = function.derivatives(np.array([eta]), np.array([y]), 0.0).psi[0]
                scores.append(psi * np.array([1.0, z]))
    pairs = [(a, b) for a in scores for b in scores]
    if unit == "add-remove":
        pairs = [(a, np.zeros(2)) for a in scores]
    moved = max(float(np.abs(a - b).max()) for a, b in pairs)
    assert moved <= float(most) * (1 + 1e-12)
    assert moved == pytest.approx(float(most), abs=1e-9)


@pytest.mark.parametrize("relation", ["replace-one", "absent"])
def test_absent_records_lose_no_more_than_epsilon(relation):
    """KNG over labels of two classes and none: every pair of neighbours of a small universe."""
    posed = Lined(Odds(1, 2), (0, 2))
    posed.universe = [(x, y) for x in (-1.0, 1.0) for y in (0.0, 1.0, 2.0)]
    assert 0.2 < worst(posed, "kng", relation) <= 1 + 1e-9


def test_counts_are_for_objective_perturbation_and_have_a_bound():
    for most in (0, F(1, 2), 2**25):
        with pytest.raises(SpecError, match="largest count"):
            Counts(most)
    function = Counts(5)
    with pytest.raises(IncompatibleParts, match="objective perturbation"):
        function.stepped(F(1), EVERY, EVERY)
    with pytest.raises(IncompatibleParts, match="objective perturbation"):
        function.rho(EVERY, EVERY)
