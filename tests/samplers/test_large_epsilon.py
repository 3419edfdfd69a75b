"""Branch and bound ends at every epsilon that it takes, and refuses others before the charge."""

from __future__ import annotations

import time

import numpy as np
import pytest

import kng
from kng.core.errors import IncompatibleParts
from kng.losses import Distance, Expectile, Huber, Linear, Location, Logistic, Pinball

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 2))
Y = X.sum(axis=1) + RNG.normal(size=200)
WHERE = (-4, 4)

LOCATIONS = {
    "huber": Location(Huber(1)),
    "expectile": Location(Expectile(0.8)),
    "pinball": Location(Pinball(0.5)),
    "distance": Distance(),
}
LINEAR = {"huber": Huber(1), "expectile": Expectile(0.8), "logistic": Logistic()}


def mechanism(weighs: str, loss, domain, norm: str):
    if weighs == "gradient":
        return kng.KNG(loss, norm=norm, domain=domain)
    return kng.Exponential(loss, domain=domain)


def located(weighs: str, name: str, d: int, epsilon: float) -> kng.Release:
    made = mechanism(weighs, LOCATIONS[name], kng.domains.Box(*WHERE, dim=d), "l1")
    return made.release(X[:, :d], bounds=WHERE, epsilon=epsilon, random_state=1)


def fitted(weighs: str, name: str, d: int, epsilon: float) -> kng.Release:
    made = mechanism(weighs, Linear(LINEAR[name]), kng.domains.L1Ball(4), "l1")
    response, bounds = ((Y > 0) * 1.0, (0, 1)) if name == "logistic" else (Y, WHERE)
    return made.release(
        X[:, : d - 1], response, bounds_X=WHERE, bounds_y=bounds, epsilon=epsilon, random_state=1
    )


@pytest.mark.parametrize("epsilon", [1e-6, 1e3, 1e6])
@pytest.mark.parametrize("weighs", ["gradient", "value"])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("name", LOCATIONS)
def test_locations_are_drawn_at_every_epsilon(name, d, weighs, epsilon):
    begun = time.process_time()
    assert np.isfinite(located(weighs, name, d, epsilon).value).all()
    assert time.process_time() - begun < 20


@pytest.mark.parametrize("epsilon", [1e-6, 1e3, 1e6])
@pytest.mark.parametrize("weighs", ["gradient", "value"])
@pytest.mark.parametrize("name", LINEAR)
def test_two_coefficients_are_drawn_at_every_epsilon(name, weighs, epsilon):
    begun = time.process_time()
    assert np.isfinite(fitted(weighs, name, 2, epsilon).value).all()
    assert time.process_time() - begun < 20


@pytest.mark.parametrize("epsilon", [1.1e6, 1e14, 1e300])
@pytest.mark.parametrize("weighs", ["gradient", "value"])
@pytest.mark.parametrize("name", LOCATIONS)
def test_an_epsilon_beyond_what_exponents_tell_is_refused_before_the_charge(
    name, weighs, epsilon, tmp_path
):
    ledger = kng.Ledger(tmp_path / "own.ledger", cap=1)
    made = mechanism(weighs, LOCATIONS[name], kng.domains.Box(*WHERE, dim=2), "l1")
    with pytest.raises(IncompatibleParts, match="up to epsilon = 1e6"):
        made.release(X, bounds=WHERE, epsilon=epsilon, ledger=ledger)
    assert not ledger.history()


@pytest.mark.parametrize("function", [Pinball(0.3), Expectile(0.3)], ids=["pinball", "expectile"])
def test_whole_values_are_not_blurred_by_steps(function):
    """n records would blur the value by n / 2 steps, and at a large epsilon hide the least one."""
    from fractions import Fraction

    from kng.losses.pointwise.function import Interval

    ends = Interval(Fraction(-(2**10)), Fraction(2**10))
    steps = function.stepped(Fraction(1), ends, ends)
    assert steps.shift == 0
    low, high = np.array([3.0, 3.0]), np.array([4.0, 3.0])
    found = steps.rho_chords(low, high, np.array([-9.0, -9.0]))
    assert (
        (found.miss[0] < 0.2 * steps.steps)
        if isinstance(function, Expectile)
        else (found.miss[0] < 1e-6)
    )
    assert found.middle[1] == steps.rho(low, np.array([-9.0, -9.0]))[1]
