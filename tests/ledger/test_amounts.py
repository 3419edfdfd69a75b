"""Sums are exact, kept short, and never too small."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kng.core.errors import BudgetError, SpecError
from kng.core.privacy import Guarantee, PrivacyEvent
from kng.ledger.accepting import accept
from kng.ledger.account import Account
from kng.ledger.amounts import GRAIN, LARGEST_CAP, LONGEST, read_cap, short, tell, units

positives = st.fractions(min_value=Fraction(1, 10**6), max_value=5, max_denominator=10**6)


def charged(account: Account, epsilon: Fraction) -> Account:
    event = PrivacyEvent(epsilon, epsilon, "kng", "replace-one", 1, Guarantee.EXACT)
    return account.charged(accept(event))


def account(cap: Fraction) -> Account:
    return Account("default", cap, Fraction(0), None, None)


@pytest.mark.parametrize("parts", [3, 7, 10, 17, 73, 365])
@pytest.mark.parametrize("cap", ["1", "7.3", "1/3"])
def test_equal_parts_fill_a_cap_exactly_and_no_more(parts: int, cap: str) -> None:
    now = account(Fraction(cap))
    for _ in range(parts):
        now = charged(now, Fraction(cap) / parts)
    assert now.spent == now.cap
    with pytest.raises(BudgetError):
        charged(now, Fraction(1, 10**18))


@settings(deadline=None)
@given(st.lists(positives, max_size=20), positives)
def test_a_charge_fits_if_and_only_if_the_exact_sum_does(
    charges: list[Fraction], cap: Fraction
) -> None:
    now, total = account(cap), Fraction(0)
    for epsilon in charges:
        if total + epsilon <= cap:
            now, total = charged(now, epsilon), total + epsilon
            assert now.spent == total
        else:
            with pytest.raises(BudgetError) as refusal:
                charged(now, epsilon)
            assert refusal.value.requested == epsilon
            assert refusal.value.remaining == cap - total


def test_sums_without_common_denominators_stay_short_and_above_the_truth() -> None:
    now, total = account(Fraction(1)), Fraction(0)
    for k in range(200):
        epsilon = Fraction(1, 10**17 + 2 * k + 1)
        now, total = charged(now, epsilon), total + epsilon
        assert now.spent.denominator <= LONGEST
        assert 0 <= now.spent - total <= Fraction(k + 1, GRAIN)
    assert now.spent != total  # the rounding was reached


@settings(deadline=None)
@given(st.integers(1, 10**6), st.integers(LONGEST, LONGEST**2))
def test_a_long_amount_is_rounded_up(numerator: int, denominator: int) -> None:
    amount = Fraction(numerator, denominator)
    assert 0 <= short(amount) - amount < Fraction(1, GRAIN)


@settings(deadline=None)
@given(positives, positives)
def test_units_keep_order_and_round_down(left: Fraction, right: Fraction) -> None:
    assert (units(left) <= units(right)) or left > right
    assert 0 <= left * 2**40 - units(left) < 1


@pytest.mark.parametrize("value", [0, -1, "much", float("inf"), float("nan"), LARGEST_CAP + 1])
def test_a_cap_that_cannot_be_is_refused(value: object) -> None:
    with pytest.raises(SpecError, match="cap"):
        read_cap(value)


def test_units_of_the_largest_cap_fit_64_bits() -> None:
    assert 2 * units(read_cap(LARGEST_CAP)) < 2**63 + 1


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(1, 10), "0.1"),
        (Fraction(1, 3), "1/3"),
        (Fraction(10) ** 5000, "more than 1e300"),
        (Fraction(1, 10**5000), "less than 1e-300"),
        (Fraction(10**40 + 1, 10**40), "about 1.0"),
    ],
)
def test_amounts_of_any_length_can_be_told(amount: Fraction, text: str) -> None:
    assert tell(amount) == text
