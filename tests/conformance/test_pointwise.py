"""Every pointwise function: ranges, the program on whole numbers, and lines close to it."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from conformance.pointwise import CHECKS, SIZES, case_of
from flint import arb

from kng.core.enclosures import ball, floor_ceil, precision
from kng.core.errors import IncompatibleParts
from kng.losses.pointwise.expectile import Expectile
from kng.losses.pointwise.function import Interval, Pointwise
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.logistic import Logistic
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.losses.pointwise.squared import Squared
from kng.losses.pointwise.steps import floor_product

# A new function is tested the moment it is listed, with its definition in plain fractions.
FUNCTIONS: dict[str, Pointwise] = {
    "squared": Squared(),
    "median": Pinball("1/2"),
    "upper": Pinball(0.9),
    "odd": Pinball("0.12345678901234567"),
    "huber": Huber(3),
    "wide": Huber("1000.1"),
    "narrow": Huber("1/7"),
    "expectile": Expectile(0.9),
    "tilted": Expectile("0.12345678901234567"),
    "logistic": Logistic(),
    "smoothed": SmoothedPinball(0.3, 3),
    "smoothed widely": SmoothedPinball("1/2", "1000.1"),
    "smoothed little": SmoothedPinball("0.12345678901234567", "1/7"),
}

# Weights times residuals are whole numbers up to 2**52.
NO_ROOM = {("expectile", 2**51), ("tilted", 2**44), ("tilted", 2**51)}


def truth(function: Pointwise, eta: Fraction, y: Fraction) -> tuple[Fraction, Fraction]:
    """Return psi and rho; those of the logistic function to 2**-200."""
    r = eta - y
    if isinstance(function, Logistic):
        return logistic(eta if y < Fraction(1, 2) else -eta, 1 if y < Fraction(1, 2) else -1)
    if isinstance(function, Squared):
        return r, r * r / 2
    if isinstance(function, Pinball):
        tau = function.tau
        return (1 if y <= eta else 0) - tau, max((1 - tau) * r, -tau * r)
    if isinstance(function, Expectile):
        weight = function.tau if r < 0 else 1 - function.tau
        return weight * r, weight * r * r / 2
    if isinstance(function, SmoothedPinball):
        tau, r = function.tau, r / function.bandwidth
        share = max(min((1 + r) / 2, Fraction(1)), Fraction(0))
        return share - tau, share * share - tau * r + (max(r - 1, Fraction(0)))
    assert isinstance(function, Huber)
    r /= function.threshold
    size = abs(r)
    rho = size * size / 2 if size <= 1 else size - Fraction(1, 2)
    return max(min(r, Fraction(1)), Fraction(-1)), rho


def logistic(margin: Fraction, sign: int) -> tuple[Fraction, Fraction]:
    """Return sign * sigma(margin) and log(1 + exp(margin)), by Arb."""
    with precision(400):
        small = (-ball(abs(margin))).exp()
        psi = (small if margin < 0 else arb(1)) / (1 + small)
        found = [Fraction(sum(floor_ceil(v, 200)), 2**201) for v in (psi, small.log1p())]
    return sign * found[0], max(margin, Fraction(0)) + found[1]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_functions_keep_their_promises(check, name, size):
    function = FUNCTIONS[name]
    if (name, size[1]) in NO_ROOM:
        with pytest.raises(IncompatibleParts, match="too few steps"):
            case_of(function, partial(truth, function), *size)
        return
    check(case_of(function, partial(truth, function), *size))


def test_lines_of_squared_miss_nothing_and_of_the_median_one_half():
    low, high, y = np.array([-3.0]), np.array([4.0]), np.array([1.0])
    span = Interval(Fraction(-5), Fraction(5))
    exact = Squared().stepped(Fraction(1), span, span).psi_chords(low, high, y)
    assert (exact.slope, exact.middle, exact.miss) == (1.0, -0.5, 0.0)
    median = Pinball("1/2").stepped(Fraction(1), span, span)
    level = median.psi_chords(low, high, y)
    assert (level.slope[0], level.middle[0]) == (0, 0)
    assert level.miss[0] * median.psi_step == Fraction(1, 2)


def test_products_are_rounded_down_exactly():
    rng = np.random.default_rng(5)
    for bits in (20, 30, 44, 53):
        a = rng.integers(0, 2**bits, 400, endpoint=True)
        b = rng.integers(0, 2**24, 400)
        shift = max(0, bits + 24 - 41)
        near = ((rng.integers(1, 2**40, 400) << shift) // np.maximum(b, 1)).clip(0, 2**53)
        for left in (a, near):
            found = floor_product(left.astype(float), b.astype(float), shift)
            assert [int(v) for v in found] == [
                (int(x) * int(y)) >> shift for x, y in zip(left, b, strict=True)
            ]
