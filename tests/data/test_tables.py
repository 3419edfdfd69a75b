"""Tables become the same integers as single columns do, in every container and layout."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data.reading import LAYOUTS, batches, by_rule
from hypothesis import example, given
from hypothesis import strategies as st

from kng.core.bounds import Bounds
from kng.core.encoding import Encoding, encoding_of
from kng.data import open_regression, open_source, work

SPECIAL = [
    float("nan"),
    float("inf"),
    float("-inf"),
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1e308,
    -1e308,
    1.7976931348623157e308,
    0.5,
    -0.5,
    1.5,
    2.5,
    1.0 + 2**-52,
    1.0 - 2**-53,
]
FLOATS = st.one_of(
    st.floats(),
    st.sampled_from(SPECIAL),
    st.floats(-10, 10),
    # Halves of a step, where rounding has to choose.
    st.integers(-50, 50).map(lambda k: k / 2),
    st.integers(-200, 200).map(lambda k: k / 2**17),
)
TABLES = st.lists(st.tuples(FLOATS, FLOATS, FLOATS), min_size=1, max_size=12)


def encoding(low: list[Any], high: list[Any], step: list[Any]) -> Encoding:
    bounds = Bounds(tuple(map(Fraction, low)), tuple(map(Fraction, high)))
    middle = [(a + b) / 2 for a, b in zip(bounds.low, bounds.high, strict=True)]
    return encoding_of(bounds, granularity=step, missing=middle, bits=0)


ENCODINGS = {
    "whole steps": encoding([0, 0, 0], [10, 10, 10], [1, 1, 1]),
    "powers of two": encoding([-1, 0, -8], [1, 1, 8], ["1/65536", "1/4", 2]),
    "other steps": encoding([0, -1, "1/10"], [1, 1, "7/10"], ["1/10", "1/3", "1/30"]),
    "powers and others": encoding([0, -1, 5], [1, 1, 9], ["1/1024", "1/3", "1/2"]),
    "far from 0": encoding([10**6, -(10**9), "-1/3"], [10**6 + 1, 10**9, 0], ["1/64", 3, "1/7"]),
    "wide": encoding([-(10**300)] * 3, [10**300] * 3, [10**290] * 3),
    "narrow": encoding([0] * 3, [Fraction(1, 10**280)] * 3, [Fraction(1, 10**285)] * 3),
    "a regression's": encoding([-1, 0, -2], [1, "1/3", 2], ["1/32768", "1/196608", "1/16384"]),
}


def columns(rule: Encoding) -> list[Encoding]:
    """Return the encoding of each column alone."""
    return [
        Encoding(
            Bounds((rule.bounds.low[j],), (rule.bounds.high[j],)),
            (rule.step[j],),
            (rule.missing[j],),
        )
        for j in range(len(rule))
    ]


def whole(source: Any) -> np.ndarray:
    """Return all integers that a source yields, and check that they are whole."""
    found = np.concatenate(batches(source))
    assert np.array_equal(found, np.rint(found))
    return found


def apart(X: np.ndarray, rule: Encoding) -> np.ndarray:
    """Return the integers that each column gives alone, through NumPy."""
    parts = [whole(open_source(X[:, j].copy(), one)) for j, one in enumerate(columns(rule))]
    return np.concatenate(parts, axis=1)


def bits(integers: np.ndarray) -> np.ndarray:
    # Minus zero is the same whole number as zero, and sums do not tell them apart.
    return (integers + 0.0).view(np.int64)


@pytest.mark.parametrize("name", ENCODINGS)
@given(rows=TABLES)
@example(rows=[(x, y, z) for x, y, z in zip(SPECIAL, SPECIAL[1:], SPECIAL[2:], strict=False)])
def test_a_table_gives_the_integers_of_its_columns(name, rows):
    rule, X = ENCODINGS[name], np.array(rows)
    together = whole(open_source(X, rule))
    assert np.array_equal(bits(together), bits(apart(X, rule)))
    as_regression = whole(open_regression(X[:, :2], X[:, 2], rule))
    assert np.array_equal(bits(as_regression), bits(together))


@pytest.mark.parametrize("name", ["whole steps", "powers of two", "powers and others"])
@given(rows=TABLES)
def test_powers_of_two_follow_the_rule_exactly(name, rows):
    rule, X = ENCODINGS[name], np.array(rows)
    together = whole(open_source(X, rule))
    for j, step in enumerate(rule.step):
        if step.denominator & (step.denominator - 1) == 0:
            expected = [
                by_rule(x, float(rule.bounds.low[j]), step, rule.last[j], rule.missing[j])
                for x in X[:, j].tolist()
            ]
            assert together[:, j].tolist() == expected


@pytest.mark.parametrize("name", ENCODINGS)
def test_integers_stay_within_their_range(name):
    rule = ENCODINGS[name]
    X = np.array([[x] * 3 for x in SPECIAL])
    together = whole(open_source(X, rule))
    assert np.all(together >= 0)
    assert np.all(together <= np.array(rule.last, dtype=float))
    assert together[0].tolist() == list(rule.missing), "NaN counts as the default"


X0 = np.array((SPECIAL * 3)[:48]).reshape(16, 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_layouts_and_containers_give_the_same_integers(layout, name):
    rule = ENCODINGS[name]
    expected = whole(open_source(X0, rule))
    with np.errstate(all="ignore"):  # as behind the charge
        assert np.array_equal(whole(open_source(LAYOUTS[layout](X0), rule)), expected)


NARROW = {
    "float32": np.array([[0.1, 2.5, 3e38], [np.nan, -np.inf, 1e-45]], dtype=np.float32),
    "float16": np.array([[0.1, 2.5, 6e4], [np.nan, -np.inf, 6e-8]], dtype=np.float16),
    "int64": np.array([[0, -3, 2**62 + 1], [7, 2**53 + 1, -(2**63)]]),
    "int8": np.array([[0, -3, 127], [7, 5, -128]], dtype=np.int8),
    "uint64": np.array([[0, 3, 2**64 - 1], [7, 2**53 + 1, 2**63]], dtype=np.uint64),
    "bool": np.array([[True, False, True], [False, False, True]]),
}


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("name", ENCODINGS)
def test_other_types_are_read_as_the_doubles_they_are(kind, name):
    rule, X = ENCODINGS[name], NARROW[kind]
    expected = whole(open_source(X.astype(np.float64), rule))
    for given_X in (X, X.tolist(), X.astype(object), np.asfortranarray(X), pd.DataFrame(X)):
        assert np.array_equal(whole(open_source(given_X, rule)), expected)
    assert np.array_equal(bits(expected), bits(apart(X, rule)))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_the_cut_into_batches_does_not_matter(size, monkeypatch):
    rule = ENCODINGS["powers and others"]
    expected = whole(open_source(X0, rule))
    monkeypatch.setattr(work, "BATCH_RECORDS", size)
    assert np.array_equal(whole(open_source(X0, rule)), expected)
    assert np.array_equal(whole(open_regression(X0[:, :2], X0[:, 2], rule)), expected)
