"""Scores of the geometric median: whole numbers, at every point, moved by one record as stated."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kng.losses.fields.distances import STEPS, UNIT, Distances


def integer_unit(away: list[int]) -> list[int]:
    """Return trunc( UNIT * away / |away| ) in whole numbers alone."""
    square = sum(v * v for v in away)
    if not square:
        return [0] * len(away)
    sizes = [isqrt(UNIT * UNIT * v * v // square) for v in away]
    return [size if v > 0 else -size for size, v in zip(sizes, away, strict=True)]


coordinates = st.integers(0, STEPS - 1)
points = st.lists(coordinates, min_size=3, max_size=3)


@settings(max_examples=300, deadline=None)
@given(points, points)
def test_a_truncated_unit_vector_is_not_longer_than_one(x, theta):
    field = Distances(np.array([x], float), "gradient")
    assert field.score(tuple(theta)) <= 1
    away = np.array(theta, float) - np.array(x, float)
    root = np.sqrt((away * away).sum())
    unit = np.trunc(away / root * UNIT) if root else away
    assert sum(int(v) ** 2 for v in unit) <= UNIT * UNIT
    # the same as whole numbers give, but for a step where the quotient is a whole number nearly
    exact = integer_unit([a - b for a, b in zip(theta, x, strict=True)])
    assert all(abs(int(v) - w) <= 1 for v, w in zip(unit, exact, strict=True))


@settings(max_examples=300, deadline=None)
@given(st.lists(points, max_size=5), points, points, points)
def test_one_record_moves_the_score_by_two_or_by_one(common, x, other, theta):
    def score(records):
        return Distances(np.array(records, float).reshape(-1, 3), "gradient").score(tuple(theta))

    assert abs(score([*common, x]) - score([*common, other])) <= 2
    assert abs(score([*common, x]) - score(common)) <= 1


def test_both_bounds_are_attained():
    def score(*records):
        return Distances(np.array(records, float), "gradient").score((5, 5))

    left, right = (0, 5), (9, 5)
    assert score(left, left) == 2
    assert score(left, left) - score(left, right) == 2
    assert score(left, left) - score(left) == 1
    assert score(left, left, (5, 5)) == 1  # a record at theta may point anywhere


@settings(max_examples=200, deadline=None)
@given(points, points)
def test_values_are_whole_distances(x, theta):
    square = sum((a - b) ** 2 for a, b in zip(x, theta, strict=True))
    score = Distances(np.array([x], float), "value").score(tuple(theta))
    assert score == isqrt(square)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_the_score_does_not_depend_on_the_order_of_records(n):
    x = np.random.default_rng(n).integers(0, 100, (n, 2)).astype(float)
    forward, backward = Distances(x, "gradient"), Distances(x[::-1].copy(), "gradient")
    assert forward.score((50, 50)) == backward.score((50, 50))
    assert isinstance(forward.score((50, 50)), Fraction)
