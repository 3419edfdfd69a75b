"""`Release.noise_interval` of counts and of what is read off sums: how often it holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kng
from kng import Release

REPEATS = 400
TABLE = pd.DataFrame({"a": [1, 2, 3, 3, 3, 2, 1, 3] * 25, "f": [1, 0, 0, 0] * 50})
CODES = TABLE["a"].to_numpy()
BINS = [50, 50, 100]
STEPS = {"bounds": {"a": (0, 4)}, "granularity": 1}

CALLS = {
    "count": (lambda **o: kng.count(TABLE, where="a = 3", **o), [100]),
    "count of all": (lambda **o: kng.count(TABLE, neighbours="add-remove", **o), [200]),
    "sum": (lambda **o: kng.sum(CODES, bounds=(0, 4), granularity=1, **o), [CODES.sum()]),
    "sum of a public number": (
        lambda **o: kng.sum(CODES, bounds=(1, 3), granularity=1, missing=1, **o),
        [CODES.sum()],
    ),
    "histogram": (lambda **o: kng.histogram(CODES, levels=[1, 2, 3], **o), BINS),
    "histogram of a public number": (
        lambda **o: kng.histogram(CODES, levels=[1, 2], other="x", missing=1, **o),
        BINS,
    ),
    "histogram, add-remove": (
        lambda **o: kng.histogram(CODES, levels=[1, 2, 3], neighbours="add-remove", **o),
        BINS,
    ),
    "proportion": (lambda **o: kng.proportion(TABLE, of="f = 1", **o), [0.25]),
    "proportion, add-remove": (
        lambda **o: kng.proportion(TABLE, of="f = 1", neighbours="add-remove", **o),
        [0.25],
    ),
    "variance": (lambda **o: kng.variance(TABLE, **STEPS, **o), [np.var(CODES, ddof=1)]),
    "variance, ddof=0": (
        lambda **o: kng.variance(TABLE, ddof=0, where="f = 0", **STEPS, **o),
        [np.var(CODES[TABLE["f"] == 0])],
    ),
    "variance, add-remove": (
        lambda **o: kng.variance(TABLE, neighbours="add-remove", **STEPS, **o),
        [np.var(CODES, ddof=1)],
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("level", [0.6, 0.9])
def test_intervals_hold_the_answer_at_least_as_often_as_they_say(name, level):
    call, truth = CALLS[name]
    held = np.zeros(len(truth))
    for seed in range(REPEATS):
        interval = call(epsilon=0.5, random_state=seed).noise_interval(level)
        low, high = np.atleast_1d(interval.low), np.atleast_1d(interval.high)
        held += (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    assert (held / REPEATS >= level - 3 * (level * (1 - level) / REPEATS) ** 0.5).all()
    assert interval.kind == "exact"


def test_a_count_at_epsilon_1_is_within_2_and_3_as_its_law_says():
    draws = [CALLS["count"][0](epsilon=1, random_state=seed) for seed in range(2000)]
    off = np.abs(np.array([release.value for release in draws]) - 100)
    for reach, share in ((2, 0.927), (3, 0.973)):
        assert np.mean(off <= reach) == pytest.approx(
            share, abs=3 * (share * (1 - share) / 2000) ** 0.5
        )
    assert draws[0].noise_interval(0.92).margin == 2
    assert draws[0].noise_interval(0.97).margin == 3


@pytest.mark.parametrize("name", CALLS)
def test_receipts_keep_it(name):
    release = CALLS[name][0](epsilon=1, random_state=1)
    back = Release.from_json(release.to_json())
    assert back == release
    assert back.noise_interval(0.9) == release.noise_interval(0.9)
    assert "privacy noise, 95 %" in repr(release)


def test_two_bins_of_a_public_number_are_off_by_the_same():
    release = kng.histogram(["F", "M"] * 20, levels=["F"], other="M", missing="F", epsilon=1)
    assert release.noise_interval(0.95).margin == (3, 3)
