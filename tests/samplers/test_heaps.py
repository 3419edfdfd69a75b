"""Equal records, whole numbers and collinear columns: drawn in little time, and rightly."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

import kng
from kng.core.bits import SeededBits
from kng.losses.enclosures import tied_records
from kng.losses.enclosures.tied_records import merged
from kng.losses.fields.plane_records import PlaneRecords


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=60))
def test_merging_keeps_every_record(pairs):
    rows = np.array([(4, x) for x, _ in pairs], np.float32)
    response = np.array([y for _, y in pairs], np.float64)
    some, answers, copies = merged(rows, response)
    times = copies if len(copies) else np.ones(len(some), int)
    found = Counter()
    for row, y, k in zip(some.tolist(), answers.tolist(), times.tolist(), strict=True):
        found[*row, y] += k
    assert found == Counter((*row, y) for row, y in zip(rows.tolist(), response, strict=True))
    if len(copies):
        assert len(found) == len(some)


def test_a_hash_that_tells_nothing_joins_no_others(monkeypatch):
    monkeypatch.setattr(tied_records, "_hashes", lambda rows, _: np.zeros(len(rows), np.uint64))
    draw = np.random.default_rng(6)
    rows = draw.integers(-2, 3, (3000, 2)).astype(np.float32)
    response = draw.integers(-2, 3, 3000).astype(float)
    some, answers, copies = merged(rows, response)
    found = Counter()
    for row, y, k in zip(some.tolist(), answers.tolist(), copies.tolist(), strict=True):
        found[*row, y] += k
    assert found == Counter((*row, y) for row, y in zip(rows.tolist(), response, strict=True))


def test_distinct_records_are_left_alone():
    rows = np.arange(20_000, dtype=np.float32).reshape(-1, 2)
    some, answers, copies = merged(rows, np.arange(10_000.0))
    assert some is rows
    assert len(answers) == 10_000
    assert len(copies) == 0


def test_shifts_are_uniform_and_repeat_with_their_seed():
    n, spread = 20_000, 20
    field = PlaneRecords(
        np.ones((n, 1), np.float32),
        np.zeros(n),
        Fraction(1, 2),
        Fraction(1),
        Fraction(1),
        "gradient",
        (n, 0),
        spread,
    )
    once, again = (field.shifted(SeededBits(3)) for _ in range(2))
    np.testing.assert_array_equal(once.response, again.response)
    assert np.all(once.response == np.rint(once.response))
    assert once.totals[1] == int(once.response.sum())
    share = once.response / 2**spread + 0.5
    assert share.min() >= 0
    assert share.max() < 1
    assert kstest(share, "uniform").pvalue > 1e-6
    assert kstest(share * 0.8, "uniform").pvalue < 1e-6
    np.testing.assert_array_equal(once.shifted(SeededBits(4)).response, once.response)


def fitted(X: np.ndarray, y: np.ndarray, quantile: float) -> kng.QuantileRegressor:
    model = kng.QuantileRegressor(
        quantile=quantile, epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=1
    )
    return model.fit(X, y)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_the_quantile_of_counts_is_the_heap(columns, levels):
    draw = np.random.default_rng(0)
    X = np.round(draw.uniform(-1, 1, (20_000, columns)) * levels) / levels
    model = fitted(X, draw.poisson(2, 20_000) / 10, 0.75)
    assert model.intercept_ == pytest.approx(0.3, abs=5e-4)
    assert np.abs(model.coef_).max() < 5e-4


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 1000])
def test_equal_records_are_met(columns, n):
    X, y = np.full((n, columns), 0.3), np.full(n, 0.5)
    model = fitted(X, y, 0.5)
    if n > 1:
        assert model.predict(X[:1])[0] == pytest.approx(0.5, abs=5e-4)


@pytest.mark.parametrize("kind", ["constant", "twice", "mirrored", "two values"])
def test_collinear_columns_are_answered(kind):
    draw = np.random.default_rng(1)
    x = draw.uniform(-1, 1, 2000)
    other = {
        "constant": np.full(2000, 0.3),
        "twice": x,
        "mirrored": -x,
        "two values": np.sign(x),
    }[kind]
    y = 0.2 * x + 0.05 * draw.normal(size=2000)
    for response in (y, np.round(y, 1)):
        model = fitted(np.column_stack([x, other]), response, 0.5)
        middle = model.predict([[0.0, 0.3 if kind == "constant" else 0.0]])[0]
        assert middle == pytest.approx(0.0, abs=0.05)
