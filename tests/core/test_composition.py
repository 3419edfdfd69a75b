"""Concentrated privacy: equal to dp-accounting at its orders, never above it, and never too low."""

from __future__ import annotations

import json
from fractions import Fraction as F
from itertools import product
from math import erfc, exp, inf, isclose, log, sqrt
from pathlib import Path

import numpy as np
import pytest

from kng.core.certificate import event_of
from kng.core.composition import epsilon_at, epsilon_at_order, read_delta, rho_at
from kng.core.errors import SpecError
from kng.core.privacy import Guarantee, PrivacyEvent, PrivacyUnit, ReplaceOne, rho_of
from kng.core.release import Release

STORED = json.loads(Path(__file__).with_name("dp_accounting_values.json").read_text())["cases"]


def named(case) -> str:
    return f"{case['rho']}-{case['delta']}"


@pytest.mark.parametrize("case", STORED, ids=named)
def test_it_is_dp_accounting_at_its_own_orders_and_never_above_it(case) -> None:
    rho, delta = F(case["rho"]), F(case["delta"])
    for order, epsilon in case["orders"]:
        found = max(F(0), epsilon_at_order(rho, delta, F(order)))
        # Where delta**2 > 1 - exp(-rho) it answers 0, and so do we for all orders at once.
        if epsilon > 0:
            assert isclose(found, epsilon, rel_tol=1e-9, abs_tol=1e-9)
    assert epsilon_at(rho, delta) <= F(case["epsilon"]) + F(1, 2**50)


def test_dp_accounting_itself_where_it_is_installed() -> None:
    rdp = pytest.importorskip("dp_accounting.rdp")
    accountant = rdp.RdpAccountant()
    accountant.compose(pytest.importorskip("dp_accounting").ZCDpEvent(0.125))
    assert epsilon_at(F(1, 8), F(1, 10**6)) <= F(accountant.get_epsilon(1e-6))


def test_a_hundred_draws_of_a_tenth() -> None:
    rho = 100 * rho_of(F(1, 10))
    assert rho == F(1, 8)
    assert 2.41 < epsilon_at(rho, F(1, 10**6)) < 2.42


@pytest.mark.parametrize(("rho", "delta"), [*product((1e-3, 0.1, 1.0, 10.0), (1e-2, 1e-6, 1e-12))])
def test_it_is_not_below_what_a_gaussian_truly_has(rho: float, delta: float) -> None:
    """The Gaussian mechanism of this rho has an exact delta for every epsilon."""
    epsilon, mu = float(epsilon_at(F(rho), F(delta))), sqrt(2 * rho)

    def above(x: float) -> float:
        return erfc(x / sqrt(2)) / 2

    true = above(epsilon / mu - mu / 2) - exp(epsilon) * above(epsilon / mu + mu / 2)
    assert true <= delta


@pytest.mark.parametrize("width", [F(1, 10), F(1), F(3)])
@pytest.mark.parametrize("order", [1.01, 1.5, 2, 8, 64])
def test_a_bounded_range_is_concentrated_by_an_eighth_of_its_square(width, order) -> None:
    """All two-point losses of this range: their Renyi divergence is at most order * rho."""
    w, worst = float(width), -inf
    for t in np.linspace(1e-6, 1 - 1e-6, 4001) * w:
        # Losses t - w and t, with the probabilities under Q that make P add up to one.
        low = (exp(t) - 1) / (exp(t) - exp(t - w))
        moment = low * exp(order * (t - w)) + (1 - low) * exp(order * t)
        worst = max(worst, log(moment) / (order - 1))
    assert worst <= order * float(rho_of(width)) * (1 + 1e-9)
    assert worst > 0


def test_the_divergence_of_fair_two_point_losses_attains_the_eighth() -> None:
    """Randomised response of small range: the constant 1/8 cannot be smaller."""
    w = 1e-3
    p = 1 / (1 + exp(w / 2))
    divergence = (1 - 2 * p) * w / 2  # relative entropy: order one
    assert isclose(divergence, w * w / 8, rel_tol=1e-4)


def test_it_grows_with_rho_and_falls_with_delta() -> None:
    rhos = [F(k, 40) for k in range(1, 40)]
    values = [epsilon_at(rho, F(1, 10**6)) for rho in rhos]
    assert values == sorted(values)
    values = [epsilon_at(F(1, 8), F(1, 10**k)) for k in range(1, 30)]
    assert values == sorted(values)
    assert epsilon_at(F(0), F(1, 10**6)) == 0
    assert epsilon_at(F(1, 10**14), F(1, 10**6)) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [("3", "1e-6"), ("0.1", "1e-9"), ("12", "0.01")])
def test_a_budget_with_a_delta_is_the_largest_rho(epsilon, delta) -> None:
    stated, chance = F(epsilon), read_delta(delta)
    rho = rho_at(stated, chance)
    assert epsilon_at(rho, chance) <= stated < epsilon_at(rho + F(2, 10**12), chance)


@pytest.mark.parametrize("delta", [0, 1, -1, 2, "x"])
def test_a_bad_delta_is_refused(delta) -> None:
    with pytest.raises(SpecError, match="delta must"):
        read_delta(delta)


class Draw:
    mechanism = "kng"

    def __init__(self, epsilon: F, width: F) -> None:
        self.epsilon, self.width = epsilon, width


def test_draws_of_one_release_add_their_rhos_not_their_ranges() -> None:
    draws = [Draw(F(1, 2), F(1, 2)), Draw(F(1, 4), F(1, 2))]
    event = event_of(draws, PrivacyUnit(ReplaceOne(5)), Guarantee.EXACT)
    assert (event.epsilon, event.width, event.rho) == (F(3, 4), 1, F(1, 16))
    assert event.rho < rho_of(event.width)


def test_a_receipt_keeps_rho_where_it_does_not_follow_from_the_range() -> None:
    import kng

    one = kng.median([1, 2, 3], bounds=(0, 10), epsilon=1)
    assert "rho" not in json.loads(one.to_json())
    asked = {"bounds": (0, 10), "epsilon": 1, "sampler": "order"}
    several = kng.quantile([1, 2, 3], ["0.25", "0.75"], **asked)
    again = Release.from_json(several.to_json())
    assert again == several
    assert again.event.rho == several.event.rho < rho_of(several.event.width)
    assert PrivacyEvent(F(1), F(2), "k", "add-remove", 1, Guarantee.EXACT).rho == F(1, 2)
