"""What a release counts in another relation: losses over all neighbours of tiny datasets."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations_with_replacement as multisets

import pytest
from ledger.conftest import make_event

from kng.core.errors import SpecError
from kng.ledger.conversion import convert

VALUES, LARGEST = (-1, 0, 1), 4
EPSILON = 0.5
ANSWERS = range(-40, 41)


def loss(old: tuple[int, ...], new: tuple[int, ...], records_per_person: int) -> float:
    """A noisy sum of records in [-1, 1] under add-remove: exp(-epsilon / k |answer - sum|).

    Answers are all whole numbers, so that the weights of both sums add up to the same.
    """
    rate = EPSILON / records_per_person
    return max(abs(rate * (abs(a - sum(old)) - abs(a - sum(new)))) for a in ANSWERS)


def replaced(k: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return all pairs in which one person with at most k records is replaced by another."""
    return [
        (others + old, others + new)
        for rest in range(LARGEST - k + 1)
        for others in multisets(VALUES, rest)
        for size in range(1, k + 1)
        for old in multisets(VALUES, size)
        for new in multisets(VALUES, size)
    ]


@pytest.mark.parametrize(("kept", "asked"), [(1, 1), (2, 1), (2, 2), (3, 2), (1, 2), (3, 1)])
def test_the_loss_is_at_most_what_is_counted(kept: int, asked: int) -> None:
    event = make_event(F(1, 2), neighbours="add-remove", records_per_person=asked)
    steps = convert(event, "default", "replace-one", kept).steps
    worst = max(loss(old, new, asked) for old, new in replaced(kept))
    assert worst <= steps * EPSILON * (1 + 1e-9)
    if kept % asked == 0:  # then the last group is full, and the count is attained
        assert worst >= steps * EPSILON * (1 - 1e-9)


def test_why_is_said() -> None:
    event = make_event(neighbours="add-remove", records_per_person=2)
    found = convert(event, "default", "replace-one", 5)
    assert found.steps == 6
    assert "removing one and adding one" in found.why
    assert "up to 5 records" in found.why
    assert not convert(event, "default", None, None)
    with pytest.raises(SpecError, match="keeps the number of records private"):
        convert(make_event(), "default", "add-remove", 1)
