"""Every pointwise function: ranges, the program on whole numbers, and lines close to it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from kng.core.enclosures import ball, floor_ceil, precision
from kng.losses.pointwise.expectile import Expectile
from kng.losses.pointwise.function import Interval, Pointwise
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.logistic import Logistic
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.squared import Squared
from kng.losses.pointwise.steps import RHO, floor_product

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
}
SIZES = [
    (Fraction(1), 3),
    (Fraction(1, 10), 1000),
    (Fraction(1, 2**30), 2**22),
    (Fraction(1, 2**30), 2**44),
    (Fraction(1), 2**51),
]


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


def numbers(rng: np.random.Generator, reach: int, size: int) -> np.ndarray:
    """Return whole numbers: any, the ends, few distinct ones, and near 0."""
    kinds = [
        rng.integers(-reach, reach + 1, size),
        rng.choice([-reach, 0, reach], size),
        rng.integers(-3, 4, size),
    ]
    return np.choose(rng.integers(0, 3, size), kinds).astype(np.float64)


@pytest.fixture(params=[(n, *size) for n in FUNCTIONS for size in SIZES], ids=str)
def case(request):
    name, unit, reach = request.param
    function = FUNCTIONS[name]
    span = Interval(-reach * unit, reach * unit)
    rng = np.random.default_rng(reach)
    return function, unit, reach, span, function.stepped(unit, span, span), rng


def test_the_program_is_the_function_rounded_towards_0_within_its_public_range(case):
    function, unit, reach, span, stepped, rng = case
    eta, y = numbers(rng, reach, 60), numbers(rng, reach, 60)
    psi, rho = stepped.psi(eta, y), stepped.rho(eta, y)
    whole, public = function.psi(span, span), function.rho(span, span)
    for e, x, p, v in zip(eta, y, psi, rho, strict=True):
        at, response = int(e) * unit, int(x) * unit
        true_psi, true_rho = truth(function, at, response)
        assert float(p).is_integer()
        assert float(v).is_integer()
        found, value = int(p) * stepped.psi_step, int(v) * stepped.rho_step
        # tau with more than 24 bits is truncated as well
        assert abs(found - true_psi) <= 2 * stepped.psi_step + abs(true_psi) / 2**20
        assert whole.low <= found <= whole.high
        assert true_rho * (1 - Fraction(1, 2**20)) - 2 * stepped.rho_step <= value <= true_rho
        assert 0 <= v <= RHO
        assert public.low <= true_rho <= public.high
        here = function.rho(Interval.at(at), Interval.at(response))
        assert here.low <= true_rho <= here.high
        assert here.high - here.low <= (0 if function.residual else Fraction(1, 2**63))
        point = function.psi(Interval.at(at), Interval.at(response))
        assert point.low <= true_psi <= point.high


def test_apart_holds_all_differences_and_squared_attains_it(case):
    function, unit, reach, *_, rng = case
    eta, low, high = (int(v) * unit for v in np.sort(numbers(rng, reach, 3)))
    y = Interval(low, high)
    apart = function.apart(Interval.at(eta), y)
    found = abs(truth(function, eta, low)[0] - truth(function, eta, high)[0])
    assert found <= apart.high + Fraction(1, 2**190)  # how well the truth is known
    if function.sides == (1, 1):
        assert found == apart.low == apart.high


def test_psi_does_not_fall_and_places_do_not_matter(case):
    _, _, reach, _, stepped, rng = case
    eta, y = numbers(rng, reach, 301), numbers(rng, reach, 301)
    step = np.minimum(eta + np.abs(numbers(rng, reach, 301)), float(reach))
    assert (stepped.psi(eta, y) <= stepped.psi(np.maximum(eta, step), y)).all()
    for program in (stepped.psi, stepped.rho):
        together = program(eta, y)
        alone = [program(eta[i : i + 1], y[i : i + 1])[0] for i in range(len(eta))]
        turned = program(eta[::-1], y[::-1])[::-1]
        assert (together == alone).all()
        assert (together == turned).all()


def test_lines_hold_at_ends_kinks_and_between(case):
    function, unit, reach, _, stepped, rng = case
    one, other, y = (numbers(rng, reach, 80) for _ in range(3))
    low, high = np.minimum(one, other), np.maximum(one, other)
    if isinstance(function, Huber):  # intervals that cross a threshold closely
        kink = np.clip(np.rint(y + float(function.threshold / unit)), -reach, reach)
        low[:20], high[:20] = np.maximum(kink[:20] - 3, -reach), np.minimum(kink[:20] + 2, reach)
    single = rng.random(80) < 0.2
    high[single] = low[single]
    inside = [low, high, np.floor((low + high) / 2), np.clip(y, low, high)]
    inside += [np.clip(y + k, low, high) for k in (-1, 1)]
    inside += [np.floor(low + rng.random(80) * (high - low)) for _ in range(4)]
    for program, chords in (
        (stepped.psi, stepped.psi_chords(low, high, y)),
        (stepped.rho, stepped.rho_chords(low, high, y)),
    ):
        assert (chords.miss >= 0).all()
        assert (chords.miss[single] == 0).all()
        for eta in inside:
            found = program(eta, y)
            for i in range(80):
                middle = Fraction(int(low[i]) + int(high[i]), 2)
                line = Fraction(chords.middle[i]) + Fraction(chords.slope[i]) * (
                    int(eta[i]) - middle
                )
                assert abs(int(found[i]) - line) <= Fraction(chords.miss[i])


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
