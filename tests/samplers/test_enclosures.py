"""Enclosures against the `decimal` module, and the smoothing's numbers derived a second time.

`decimal` rounds exp correctly and shares no code with Arb. An enclosure that missed the true value
would make a coin wrong without any sampler noticing.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kng.core import smoothing as module
from kng.core.enclosures import exp_minus
from kng.core.errors import SpecError
from kng.core.smoothing import BETA, EXTRA_RANGE, KAPPA, Smoothing, smoothing

PLENTY = settings(max_examples=250, deadline=None, derandomize=True)
# Digits enough for 1200 bits and an exponent of a few hundred.
DIGITS = 420


def decimal_exp(gamma: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose exp(-gamma): the argument is rounded both ways, the result widened by its ulp."""
    if gamma == 0:
        return Fraction(1), Fraction(1)
    down = Context(prec=DIGITS, rounding=ROUND_FLOOR)
    up = Context(prec=DIGITS, rounding=ROUND_CEILING)
    numerator, denominator = Decimal(gamma.numerator), Decimal(gamma.denominator)
    low, high = down.divide(numerator, denominator), up.divide(numerator, denominator)
    ulp = Fraction(1, 10 ** (DIGITS - 1))
    return (
        Fraction(down.exp(high.copy_negate())) * (1 - ulp),
        Fraction(up.exp(low.copy_negate())) * (1 + ulp),
    )


@PLENTY
@given(
    gamma=st.one_of(
        st.fractions(0, 600, max_denominator=10**12),
        st.fractions(0, Fraction(1, 10**6)),
        st.integers(0, 900).map(Fraction),
        st.integers(0, 4000).map(lambda k: Fraction(k, 4)),
    ),
    bits=st.integers(1, 1200),
)
@example(gamma=Fraction(0), bits=1)
@example(gamma=Fraction(10, 13), bits=1)
@example(gamma=Fraction(1, 10**40), bits=64)
@example(gamma=Fraction(100), bits=130)  # on the edge of "nothing to compute"
@example(gamma=Fraction(1001, 10), bits=130)
def test_exp_minus_encloses_and_is_tight(gamma: Fraction, bits: int) -> None:
    low, high = exp_minus(gamma, bits)
    least, most = decimal_exp(gamma)
    assert 0 <= low <= high <= 2**bits
    assert low <= 2**bits * least
    assert 2**bits * most <= high
    # The two integers around the value, nothing wider: coins end as early as they can.
    assert high - low <= 1


def test_exp_minus_of_zero_is_one() -> None:
    for bits in (0, 1, 64, 1000):
        assert exp_minus(Fraction(0), bits) == (2**bits, 2**bits)


def test_exp_minus_narrows_with_its_bits() -> None:
    gamma = Fraction(22, 7)
    low, high = exp_minus(gamma, 20)
    for bits in (21, 40, 64, 500):
        finer_low, finer_high = exp_minus(gamma, bits)
        assert low << (bits - 20) <= finer_low
        assert finer_high <= high << (bits - 20)


def test_three_eighths_is_above_exp_of_minus_one_and_exp_half_above_one_bit() -> None:
    """The two rational stand-ins that the smoothing and the envelope's scale rely on."""
    least, most = decimal_exp(Fraction(1))
    assert most < Fraction(3, 8)
    assert least > Fraction(1, 4)  # exp(-depth) > 2**-(2 depth)
    quarter = decimal_exp(Fraction(1, 4))[0]
    assert quarter - Fraction(1, 10**5) > Fraction(3, 4)  # order.py: exp(1/4) + exp(-14) + ...
    assert decimal_exp(Fraction(7, 10))[1] < Fraction(1, 2)  # log(points) < 0.7 bits


def tanh_half(epsilon: Fraction) -> Fraction:
    """Return a lower bound on tanh(epsilon / 2) = (1 - e) / (1 + e), e = exp(-epsilon)."""
    most = decimal_exp(epsilon)[1]
    return (1 - most) / (1 + most)


@settings(PLENTY, max_examples=80)
@given(
    points=st.one_of(st.integers(1, 100), st.integers(0, 60).map(lambda k: 2**k)),
    epsilon=st.fractions(Fraction(1, 10**9), 10**4),
    miss=st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(3, 4)]),
)
def test_smoothing_satisfies_the_lemma(points: int, epsilon: Fraction, miss: Fraction) -> None:
    """kappa once more, from the definitions, with decimal's exp in place of 3/8."""
    found = smoothing(points, epsilon, miss)
    assert (found.points, found.miss, found.beta) == (points, miss, Fraction(1, 2**40))
    left_out = points * decimal_exp(Fraction(found.depth))[1]
    phi = miss**found.attempts + left_out
    assert phi <= found.phi
    kappa = (1 - found.beta) * phi * points / found.beta
    assert kappa <= found.kappa
    assert kappa <= tanh_half(epsilon)
    assert kappa <= Fraction(1, 2**40) == KAPPA


@pytest.mark.parametrize("points", [2, 101, 2**20, 2**44])
@pytest.mark.parametrize("epsilon", ["1/1000", "1", "20"])
def test_smoothing_is_no_more_than_it_needs(points: int, epsilon: str) -> None:
    found = smoothing(points, Fraction(epsilon), Fraction(1, 4))

    def enough(attempts: int, depth: int) -> bool:
        return Smoothing(points, found.miss, attempts, depth).kappa <= min(
            KAPPA, Fraction(epsilon) / (2 + Fraction(epsilon))
        )

    assert enough(found.attempts, found.depth)
    assert not enough(found.attempts - 1, found.depth)
    assert not enough(found.attempts, found.depth - 1)
    # 60 and some attempts, as the order sampler advertises
    assert found.attempts <= 40 + points.bit_length()


def test_the_extra_range_covers_what_smoothing_adds() -> None:
    """Range <= epsilon + 2 artanh(kappa), and artanh(x) <= x / (1 - x)."""
    assert 2 * KAPPA / (1 - KAPPA) <= EXTRA_RANGE
    assert Fraction(1, 2**40) == BETA
    assert Fraction(1, 10**10) > module.EXTRA_RANGE


@pytest.mark.parametrize("miss", [Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_a_miss_probability_must_be_one(miss: Fraction) -> None:
    with pytest.raises(SpecError, match="miss probability"):
        smoothing(10, Fraction(1), miss)
