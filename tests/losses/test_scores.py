"""Scores are their definitions: brute force over Python integers, up to the largest lattice."""

from __future__ import annotations

from fractions import Fraction

import pytest
from audit.oracle import RELATIONS, Setting, field_of
from hypothesis import given, settings
from hypothesis import strategies as st

from kng.losses import Location, Pinball, Squared
from kng.mechanisms import KNG, Exponential

PLENTY = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[int], int]:
    last = draw(st.sampled_from([1, 9, 1000, 2**22, 2**32, 2**44]))
    value = st.one_of(st.sampled_from([0, last, last // 2]), st.integers(0, last))
    return draw(st.lists(value, min_size=1, max_size=20)), last


def tilted(tau: Fraction, records: list[int], theta: int) -> Fraction:
    return sum(
        (tau * max(x - theta, 0) + (1 - tau) * max(theta - x, 0) for x in records), Fraction(0)
    )


def distance(tau: Fraction, records: list[int], theta: int) -> Fraction:
    below, upto = sum(x < theta for x in records), sum(x <= theta for x in records)
    return max(below - tau * len(records), tau * len(records) - upto, Fraction(0))


def gradient(records: list[int], theta: int) -> int:
    return abs(sum(theta - x for x in records))


def half_squares(records: list[int], theta: int) -> Fraction:
    return Fraction(sum((x - theta) ** 2 for x in records), 2)


@PLENTY
@given(
    column=columns(), share=st.fractions(0, 1), tau=st.fractions(Fraction(1, 99), Fraction(98, 99))
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_score_is_its_definition(
    relation: str, column: tuple[list[int], int], share: Fraction, tau: Fraction
) -> None:
    records, last = column
    dataset = tuple((x,) for x in records)
    for loss, mechanism, expected in (
        (Location(Pinball(tau)), KNG(), lambda t: distance(tau, records, t)),
        (Location(Pinball(tau)), Exponential(), lambda t: tilted(tau, records, t)),
        (Location(Squared()), KNG(), lambda t: gradient(records, t)),
        (Location(Squared()), Exponential(), lambda t: half_squares(records, t)),
    ):
        plan = Setting(loss, mechanism, relation, Fraction(1), (last,)).plan(len(records))
        field = field_of(plan, dataset)
        for theta in {0, last, records[0], int(share * last)}:
            assert field.score((theta,)) == expected(theta)
        # No point beside the mode, and none at all among these, has a smaller exponent.
        mode = min(max(field.mode(), 0), last)
        least = plan.exponent((mode,), field.score((mode,)))
        for theta in {0, last, max(mode - 1, 0), min(mode + 1, last), *records}:
            assert plan.exponent((theta,), field.score((theta,))) >= least
