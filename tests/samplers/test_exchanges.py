"""Noise on counts that share records: how many points a level has, and the law of the draws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, exp

import pytest
from samplers.laws import ALARM, p_value

from kng.core.bits import SeededBits
from kng.samplers.exact.exchanges import at_level, exchange_noise, exchange_refusal, subset
from kng.samplers.exact.noise import discrete_laplace

OFF = (Fraction(8, 10), Fraction(12, 10))


def length(v: tuple[int, ...]) -> int:
    """The norm, once more."""
    return max(sum(k for k in v if k > 0), -sum(k for k in v if k < 0))


def points(level: int, dim: int) -> list[tuple[int, ...]]:
    cube = product(range(-level, level + 1), repeat=dim)
    return [v for v in cube if length(v) == level]


def mass(rate: float, dim: int) -> float:
    """The normaliser of the closed form."""
    q = exp(-rate)
    return sum(comb(dim, i) ** 2 * q**i for i in range(dim + 1)) / (1 - q) ** dim


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_the_closed_form_counts_the_points_of_every_level(dim):
    """sum_k A(k) q^k, coefficient by coefficient."""
    for level in range(4):
        closed = sum(
            comb(dim, i) ** 2 * comb(level - i + dim - 1, dim - 1) for i in range(level + 1)
        )
        assert closed == len(points(level, dim))


@pytest.mark.parametrize(("level", "dim"), [(1, 1), (3, 1), (1, 3), (2, 2), (3, 2), (2, 3)])
def test_the_points_of_a_level_are_alike(level, dim):
    bits, found = SeededBits(3), points(level, dim)
    drawn = Counter(at_level(bits, level, dim) for _ in range(200 * len(found)))
    assert set(drawn) == set(found)
    assert p_value(drawn, dict.fromkeys(found, 1 / len(found))) > ALARM


def test_subsets_are_alike():
    bits = SeededBits(4)
    drawn = Counter(tuple(subset(bits, 2, 5)) for _ in range(4000))
    assert len(drawn) == 10
    assert p_value(drawn, dict.fromkeys(drawn, 0.1)) > ALARM


def law(rate: float, dim: int, reach: int) -> dict[tuple[int, ...], float]:
    """The closed form near 0."""
    near = product(range(-reach, reach + 1), repeat=dim)
    return {v: exp(-rate * length(v)) / mass(rate, dim) for v in near}


@pytest.mark.parametrize(("dim", "rate", "reach"), [(1, "1/2", 6), (2, "1", 3), (3, "3/2", 1)])
def test_the_law_is_the_closed_form(dim, rate, reach):
    bits, exact = SeededBits(11), Fraction(rate)
    drawn = Counter(exchange_noise(bits, exact, dim) for _ in range(12_000))
    assert p_value(drawn, law(float(exact), dim, reach)) > ALARM
    for factor in OFF:  # the ruler: a rate 20 % off is seen
        assert p_value(drawn, law(float(factor * exact), dim, reach)) < ALARM


def test_a_count_has_discrete_laplace_noise():
    """P(k) = (1 - q) / (1 + q) q^|k|, for the draw of a release and for that of one coordinate."""
    for draw in (
        lambda bits: discrete_laplace(bits, Fraction(1)),
        lambda bits: exchange_noise(bits, Fraction(1), 1)[0],
    ):
        bits = SeededBits(7)
        drawn = Counter((draw(bits),) for _ in range(12_000))
        for rate, fits in ((1.0, True), (0.8, False), (1.2, False)):
            q = exp(-rate)
            expected = {(k,): (1 - q) / (1 + q) * q ** abs(k) for k in range(-5, 6)}
            assert (p_value(drawn, expected) > ALARM) is fits


def test_many_coordinates_are_quick_and_their_sum_is_small():
    """The sum of 300 counts is as far off as one: their noise is that of 301 that add up to 0."""
    bits = SeededBits(2)
    totals = [sum(exchange_noise(bits, Fraction(1), 300)) for _ in range(100)]
    assert 4 < sum(t * t for t in totals) / 100 < 14


def test_unequal_steps_are_refused():
    assert exchange_refusal((Fraction(1), Fraction(2)))
    assert exchange_refusal((Fraction(1),) * 10_000)
    assert exchange_refusal((Fraction(1),) * 1000) is None
