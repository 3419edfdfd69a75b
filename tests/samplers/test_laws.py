"""Samples of the production samplers against exact laws; a rate 20 % off must be rejected.

Seeds are fixed. Each comparison raises a false alarm with probability 1e-6 (`laws.ALARM`), and the
sample sizes are such that the wrong law is rejected by the same test with near certainty.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from audit.oracle import (
    ADD,
    PRECISION,
    REPLACE,
    Dataset,
    RoundedBox,
    Separate,
    Setting,
    exponents,
    field_of,
    floats,
    released_law,
    with_smoothing,
)
from flint import ctx
from samplers.laws import ALARM, p_value
from scipy.stats import gamma as gamma_law

from kng.core.bits import SeededBits
from kng.core.smoothing import Smoothing
from kng.losses import Location, Pinball, Squared
from kng.mechanisms import KNG, Exponential
from kng.samplers.exact.leaves import draw
from kng.samplers.exact.line import envelope_of
from kng.samplers.exact.noise import discrete_laplace, rounded_box_noise

OFF = (Fraction(6, 5), Fraction(4, 5))  # 20 % too fast, 20 % too slow


def spread(*values: int) -> Dataset:
    return tuple((v,) for v in values)


TIES = spread(2, 2, 2, 5, 5, 9, 9, 9, 9, 14, 20, 20)
LOOSE = spread(1, 4, 8, 15, 22, 29)

WEIGHED: dict[str, tuple[Setting, Dataset]] = {
    "pinball-0.1": (
        Setting(Location(Pinball(Fraction("0.1"))), KNG(), REPLACE, Fraction(2), (30,)),
        TIES,
    ),
    "pinball-0.5": (
        Setting(Location(Pinball(Fraction("0.5"))), KNG(), REPLACE, Fraction(1), (30,)),
        TIES,
    ),
    "pinball-0.9": (
        Setting(Location(Pinball(Fraction("0.9"))), KNG(), REPLACE, Fraction(1), (30,)),
        TIES,
    ),
    "pinball-0.9-add-remove": (
        Setting(Location(Pinball(Fraction("0.9"))), KNG(), ADD, Fraction(1), (30,)),
        LOOSE,
    ),
    "squared": (Setting(Location(Squared()), KNG(), REPLACE, Fraction(2), (30,)), LOOSE),
    "squared-add-remove": (Setting(Location(Squared()), KNG(), ADD, Fraction(2), (30,)), LOOSE),
    "exponential-pinball": (
        Setting(Location(Pinball(Fraction("0.5"))), Exponential(), REPLACE, Fraction(4), (30,)),
        TIES,
    ),
    "exponential-squared": (
        Setting(Location(Squared()), Exponential(), ADD, Fraction(6), (30,)),
        LOOSE,
    ),
}


@pytest.mark.parametrize("name", WEIGHED)
def test_accepted_points_follow_the_exact_pmf(name: str) -> None:
    setting, dataset = WEIGHED[name]
    plan = setting.plan(len(dataset))
    envelope, exponent = envelope_of(plan, field_of(plan, dataset))
    bits = SeededBits(1905_09436)
    points = (envelope.attempt(exponent, bits) for _ in range(16_000))
    draws = [point for point in points if point is not None]
    assert len(draws) > 12_000 * 0.98  # three in four, give or take
    gammas = exponents(plan, dataset)
    assert p_value(draws, dict(enumerate(floats(gammas)))) > ALARM
    for factor in OFF:
        wrong = floats([factor * gamma for gamma in gammas])
        assert p_value(draws, dict(enumerate(wrong))) < ALARM


def test_whole_draws_follow_the_released_law_with_its_fallbacks() -> None:
    """Two attempts and a beta of 1/8, so that all three ways to an answer are taken often."""
    setting, dataset = WEIGHED["squared-add-remove"]
    smoothing = Smoothing(31, Fraction(1, 4), 2, 3, Fraction(1, 8))
    plan = with_smoothing(setting.plan(len(dataset)), smoothing)
    envelope, exponent = envelope_of(plan, field_of(plan, dataset))
    bits = SeededBits(7)
    draws = [draw(envelope, exponent, (0, 31), smoothing, bits) for _ in range(8000)]
    with ctx.workprec(PRECISION):
        law = [float(p) for p in released_law(plan, dataset)]
    assert p_value(draws, dict(enumerate(law))) > ALARM
    # without smoothing the points beyond the depth of 3 would never be drawn
    pure = floats(exponents(plan, dataset))
    assert p_value(draws, dict(enumerate(pure))) < ALARM


def laplace(rate: Fraction) -> dict[int, float]:
    with ctx.workprec(PRECISION):
        law = Separate((rate,))
        return {k: float(law.probability((k,))) for k in range(-80, 81)}


@pytest.mark.parametrize("rate", ["1/3", "7/5", "2", "1/20"])
def test_discrete_laplace_follows_its_pmf(rate: str) -> None:
    bits = SeededBits(31)
    draws = [discrete_laplace(bits, Fraction(rate)) for _ in range(12_000)]
    assert p_value(draws, laplace(Fraction(rate))) > ALARM
    for factor in OFF:
        assert p_value(draws, laplace(factor * Fraction(rate))) < ALARM


def cells(law: RoundedBox, most: int) -> dict[tuple[int, ...], float]:
    with ctx.workprec(PRECISION):
        side = range(-most, most + 1)
        return {c: float(law.probability(c)) for c in product(side, repeat=len(law.widths))}


@pytest.mark.parametrize(
    ("rate", "widths", "most"),
    [("2", ("3", "3/2"), 6), ("3/2", ("1", "1"), 5), ("4", ("2", "3", "1"), 3)],
    ids=["2d", "2d-cube", "3d"],
)
def test_box_noise_follows_its_integrated_cells(
    rate: str, widths: tuple[str, ...], most: int
) -> None:
    bits, sides = SeededBits(77), tuple(map(Fraction, widths))
    draws = [rounded_box_noise(bits, Fraction(rate), sides) for _ in range(8000)]
    assert p_value(draws, cells(RoundedBox(Fraction(rate), sides), most)) > ALARM
    for factor in OFF:
        wrong = cells(RoundedBox(factor * Fraction(rate), sides), most)
        assert p_value(draws, wrong) < ALARM


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_norm_of_box_noise_is_a_gamma_variable(dim: int) -> None:
    """Whole cells make up the cube |u| < m + 1/2 exactly, so rounding costs nothing here."""
    rate = Fraction(1, 4)
    bits, ones = SeededBits(dim), (Fraction(1),) * dim
    draws = [max(map(abs, rounded_box_noise(bits, rate, ones))) for _ in range(8000)]

    def law(c: float, shape: int) -> dict[int, float]:
        steps = gamma_law.cdf(np.arange(120) + 0.5, shape, scale=1 / c)
        return dict(enumerate(np.diff(steps, prepend=0.0)))

    assert p_value(draws, law(0.25, dim)) > ALARM
    assert p_value(draws, law(0.30, dim)) < ALARM
    assert p_value(draws, law(0.20, dim)) < ALARM
    assert p_value(draws, law(0.25, dim + 1)) < ALARM  # the radius of R * V, not of u


def test_signs_and_axes_of_box_noise_are_even() -> None:
    """The direction is uniform on the cube: no sign and no axis is preferred."""
    bits = SeededBits(5)
    ones = (Fraction(1),) * 3
    draws = [rounded_box_noise(bits, Fraction(1, 50), ones) for _ in range(6000)]

    def face(point: tuple[int, ...]) -> tuple[int, bool]:
        axis = max(range(3), key=lambda j: abs(point[j]))
        return axis, point[axis] > 0

    # Ties of two axes go to the first: 1 / norm of the cases, far below what 6000 draws resolve.
    even = dict.fromkeys(product(range(3), (False, True)), 1 / 6)
    far = [face(point) for point in draws if max(map(abs, point)) > 100]
    assert p_value(far, even) > ALARM


def test_the_fit_itself_rejects_an_off_by_one() -> None:
    bits = SeededBits(3)
    draws = [discrete_laplace(bits, Fraction(1, 3)) for _ in range(5000)]
    shifted = {k + 1: p for k, p in laplace(Fraction(1, 3)).items()}
    assert p_value(draws, shifted) < ALARM
