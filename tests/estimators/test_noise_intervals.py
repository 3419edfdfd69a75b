"""`Release.noise_interval`: how often it holds the answer without noise, and how it is shown."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import kng
from kng import Release
from kng.core.errors import SpecError
from kng.estimators.planning.plain_fits import plain_fit

LEVEL, REPEATS, FEWER = 0.8, 600, 100
# Three standard deviations of a share of REPEATS.
DOUBT = 3 * (LEVEL * (1 - LEVEL) / REPEATS) ** 0.5
VALUES = [0, 0, 1, 3, 8, 10, 10, 10] * 3
PAIRS = np.array([[v, 10 - v / 2] for v in VALUES])
TABLE = pd.DataFrame({"a": VALUES, "b": VALUES[::-1]})

# No cell is missing, so that the number of records that count is public.
FILLED = {"missing": 0}

# Calls, the answers without noise, and whether the interval is the law itself (not a bound).
MEANS = {
    "one column": (VALUES, {"bounds": (0, 10), **FILLED}, [np.mean(VALUES)], True),
    "in steps": (VALUES, {"bounds": (0, 10), "granularity": 1, **FILLED}, [np.mean(VALUES)], False),
    "box": (PAIRS, {"bounds": ([0, 0], [10, 10]), **FILLED}, PAIRS.mean(0), True),
    "l1": (PAIRS, {"bounds": ([0, 0], [10, 10]), "norm": "l1", **FILLED}, PAIRS.mean(0), True),
    "l2": (PAIRS, {"bounds": ([0, 0], [10, 10]), "norm": "l2", **FILLED}, PAIRS.mean(0), True),
    "ball": (PAIRS - 5, {"bounds": kng.domains.L2Ball(8), **FILLED}, PAIRS.mean(0) - 5, True),
    "a person's": (
        VALUES,
        {"bounds": (0, 10), "records_per_person": 2, **FILLED},
        [np.mean(VALUES)],
        True,
    ),
}
QUOTIENTS = {
    "private count": (VALUES, {"bounds": (0, 10), "neighbours": "add-remove"}, [np.mean(VALUES)]),
    "two columns": (
        PAIRS,
        {"bounds": ([0, 0], [10, 10]), "neighbours": "add-remove"},
        PAIRS.mean(0),
    ),
    "l1": (
        PAIRS,
        {"bounds": ([0, 0], [10, 10]), "neighbours": "add-remove", "norm": "l1"},
        PAIRS.mean(0),
    ),
    "where": (
        TABLE,
        {"bounds": {"a": (0, 10)}, "where": "b > 0"},
        [TABLE.a[TABLE.b > 0].mean()],
    ),
}


def covered(data, options, truth, epsilon, repeats=REPEATS):
    """Return how often intervals hold each answer."""
    held = np.zeros((repeats, len(truth)))
    for seed in range(repeats):
        release = kng.mean(data, epsilon=epsilon, random_state=seed, **options)
        low, high = (np.atleast_1d(side) for side in release.noise_interval(LEVEL))
        held[seed] = (low - 1e-6 <= truth) & (truth <= high + 1e-6)
    return held.mean(axis=0)


@pytest.mark.parametrize("name", MEANS)
def test_exact_intervals_of_means_cover_as_their_law_says(name):
    data, options, truth, law = MEANS[name]
    # At this epsilon the answer is seldom moved into its bounds, which only adds coverage.
    share = covered(data, options, truth, 5)
    assert (share >= LEVEL - DOUBT).all()
    assert not law or (share <= LEVEL + DOUBT + 0.01).all()


@pytest.mark.parametrize("name", QUOTIENTS)
@pytest.mark.parametrize("epsilon", [1, 8])
def test_intervals_over_a_private_count_cover(name, epsilon):
    data, options, truth = QUOTIENTS[name]
    share = covered(data, options, truth, epsilon, FEWER)
    assert (share >= LEVEL - DOUBT * (REPEATS / FEWER) ** 0.5).all()


def test_the_hull_of_absent_records_has_its_own_law():
    options = {"bounds": {"a": (0, 10), "b": (0, 10)}, "where": "a > 0", "epsilon": 1}
    noise = json.loads(kng.mean(TABLE, **options).to_json())["noise"]
    assert {c["law"] for c in noise["coordinates"]} == {"hull"}
    assert len(noise["noisy"]) == 3


@pytest.mark.parametrize(
    "options",
    [{"q": 0.5}, {"q": 0.9}, {"q": [0.2, 0.5, 0.7]}, {"q": [0.2, 0.7], "sampler": "order"}],
    ids=str,
)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_ranks_hold_at_least_their_level(options, neighbours):
    # Hundreds of equal records are nearly the worst case.
    data, n = np.repeat([2, 3, 6], [120, 300, 180]), 600
    held = []
    for seed in range(300):
        release = kng.quantile(
            data, bounds=(0, 10), granularity=1, epsilon=0.05, neighbours=neighbours,
            random_state=seed, **options,
        )  # fmt: skip
        interval = release.noise_interval(LEVEL)
        assert interval.kind == "ranks"
        answers = np.atleast_1d(release.value)
        low, high = np.atleast_1d(interval.low), np.atleast_1d(interval.high)
        if neighbours == "add-remove":
            q = np.atleast_1d(options["q"])
            low, high = q + low / n, q + high / n
        below = np.array([np.mean(data < v) for v in answers])
        upto = np.array([np.mean(data <= v) for v in answers])
        held.append(((below <= high) & (upto >= low)).all())
    assert np.mean(held) >= LEVEL - 3 * (LEVEL * (1 - LEVEL) / 300) ** 0.5


def test_a_receipt_can_be_asked_too():
    for release in (
        kng.mean(VALUES, bounds=(0, 10), epsilon=1),
        kng.mean(VALUES, bounds=(0, 10), epsilon=1, neighbours="add-remove"),
        kng.median(VALUES, bounds=(0, 10), epsilon=1),
    ):
        back = Release.from_json(release.to_json())
        assert back == release
        assert back.noise_interval(0.9) == release.noise_interval(0.9)
        raw = json.loads(release.to_json())
        del raw["noise"]
        old = Release.from_json(json.dumps(raw))
        assert old.noise is None
        assert old.value == release.value
        with pytest.raises(SpecError, match="says nothing about its noise"):
            old.noise_interval()


@pytest.mark.parametrize(
    "damage",
    [
        {"form": "other"},
        {"coordinates": []},
        {"widened": ["-1"]},
        {"coordinates": [{"law": "box", "scale": "0", "step": "1", "coordinates": 1}]},
        {"coordinates": [{"law": "hull", "scale": "1", "step": "1", "coordinates": 1}]},
    ],
    ids=str,
)
def test_damaged_noise_is_no_release(damage):
    raw = json.loads(kng.mean(VALUES, bounds=(0, 10), epsilon=1, missing=0).to_json())
    raw["noise"] |= damage
    with pytest.raises(SpecError):
        Release.from_json(json.dumps(raw))


@pytest.mark.parametrize("level", [0, 1, -1, 2, float("nan")])
def test_a_level_lies_between_0_and_1(level):
    with pytest.raises(SpecError, match="level must lie"):
        kng.mean(VALUES, bounds=(0, 10), epsilon=1).noise_interval(level)


def test_no_digit_is_shown_that_is_only_noise():
    release = kng.mean(VALUES * 50, bounds=(0, 10), epsilon=1, missing=0, random_state=1)
    shown = dict(release.rows())["mean"]
    found = re.fullmatch(r"(\d\.\d{3}) ± (0\.0\d\d) \(privacy noise, 95 %\)", shown)
    assert found
    margin = release.noise_interval().margin
    assert margin <= float(found[2]) < margin + 0.001
    assert abs(float(found[1]) - release.value) <= 0.0005
    assert shown in release._repr_html_()
    assert len(repr(release.value)) > 8


def test_ranks_are_shown_beside_the_value():
    release = kng.median(VALUES, bounds=(0, 10), epsilon=100, missing=0, random_state=1)
    assert re.search(r"\(rank ± 0\.\d+ of the records: privacy noise, 95 %\)", repr(release))
    private = kng.median(VALUES, bounds=(0, 10), epsilon=9, neighbours="add-remove")
    assert re.search(r"\(rank ± [\d.]+ records: privacy noise, 95 %\)", repr(private))


@pytest.mark.parametrize(
    "options",
    [{"mechanism": "exponential"}, {"base": "gaussian"}, {"domain": kng.domains.Box(3, 5)}],
    ids=str,
)
def test_nothing_is_said_where_the_law_says_nothing_of_ranks(options):
    release = kng.median(VALUES, bounds=(0, 10), epsilon=1, **options)
    assert release.noise is None
    assert "noise" not in repr(release).split("\n")[0]


def test_every_group_has_its_interval():
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0] * 300, "g": ["a", "b", "a"] * 300})
    release = kng.mean(table, bounds={"x": (0, 4)}, by={"g": ["a", "b"]}, epsilon=4)
    interval = release.noise_interval(0.9)
    assert len(interval.low) == 2
    # Fewer records in a group, more noise.
    assert interval.margin[1] > interval.margin[0] > 0
    assert repr(release).count("±") == 2
    assert Release.from_json(release.to_json()).noise_interval(0.9) == interval


def test_coefficients_have_predictions_of_the_right_size():
    rng = np.random.default_rng(2)
    model = kng.HuberRegressor(epsilon=1, bounds_X=(-1, 1), threshold=1)
    held = []
    for seed in range(40):
        X = rng.uniform(-1, 1, (2000, 1))
        y = 0.5 + X[:, 0] + rng.normal(size=2000)
        release = model.set_params(random_state=seed).fit(X, y).release_
        interval = release.noise_interval(LEVEL)
        plain = plain_fit(model, X, y)
        held.append((np.array(interval.low) <= plain) & (plain <= np.array(interval.high)))
    assert interval.kind == "predicted"
    assert "(predicted privacy noise, 95 %)" in repr(release)
    assert Release.from_json(release.to_json()) == release
    assert (np.abs(np.mean(held, axis=0) - LEVEL) <= 0.2).all()


def test_predictions_of_quantile_planes_know_that_scores_jump():
    # At a large epsilon jumps at records are most of the noise.
    rng = np.random.default_rng(3)
    model = kng.QuantileRegressor(epsilon=8, bounds_X=(-1, 1), bounds_y=(-5, 5))
    held = []
    for seed in range(60):
        X = rng.uniform(-1, 1, (300, 1))
        y = 0.3 * X[:, 0] + rng.normal(0, 10 / 6, 300)
        interval = model.set_params(random_state=seed).fit(X, y).release_.noise_interval(0.9)
        plain = plain_fit(model, X, y)
        held.append((np.array(interval.low) <= plain) & (plain <= np.array(interval.high)))
    assert (np.mean(held, axis=0) >= 0.9 - 3 * (0.09 / 60) ** 0.5).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", ["1e-30", "1e-6", 1, 1e6])
@pytest.mark.parametrize("bounds", [(0, 10), (0, 1e-300), (-1e300, 1e300), (1e15, 1e15 + 1)])
@pytest.mark.parametrize(
    "options", [{}, {"missing": None}, {"neighbours": "add-remove"}], ids=["drop", "filled", "n"]
)
def test_extreme_numbers_have_finite_intervals_or_are_refused(epsilon, bounds, options):
    stated = {"missing": bounds[0]} if "missing" in options else options
    for statistic in (kng.mean, kng.sum, kng.variance, kng.median):
        try:
            release = statistic(VALUES, bounds=bounds, epsilon=epsilon, **stated)
        except SpecError as error:
            # Before the charge: the answer could be one that no float can hold.
            assert "float64 cannot hold" in str(error)  # noqa: PT017
            assert bounds[1] == 1e300
            continue
        assert Release.from_json(release.to_json()) == release
        if release.noise is None:
            continue
        for level in (1e-12, 0.5, 0.999999):
            interval = release.noise_interval(level)
            assert np.isfinite([interval.low, interval.high, interval.margin]).all()
            assert interval.low <= interval.high


def test_no_level_is_promised_that_floats_cannot_tell():
    release = kng.histogram([1, 2, 3], edges=[0, 2, 4], epsilon=1)
    assert release.noise_interval(1 - 1e-8).margin[0] < 60
    with pytest.raises(SpecError, match="level must be at most"):
        release.noise_interval(1 - 1e-15)


def test_means_that_are_pulled_into_a_ball_have_an_interval_around_where_they_were():
    options = {"bounds": kng.domains.L2Ball(8), "epsilon": 0.2, **FILLED}
    for seed in range(60):
        release = kng.mean(PAIRS - 5, random_state=seed, **options)
        interval = release.noise_interval(0.5)
        for low, high, margin, value in zip(
            interval.low, interval.high, interval.margin, release.value, strict=True
        ):
            assert -8 <= low <= high <= 8
            assert margin == pytest.approx(max(value - low, high - value))
