"""`Release.noise_interval` of a variance: how often it holds, and how wide it is."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import kng
from kng import Release
from kng.core.errors import SpecError
from kng.core.noise import moments
from kng.core.noise.moments import MomentNoise
from kng.core.noise.parabola import CHANGES, corners, dimension, facets, named
from kng.core.solve.linear_program import farthest

LEVELS = (0.5, 0.95, 0.999)
REPEATS = 250
BOUNDS = {"bounds": (0, 8), "granularity": 1}
PUBLIC, ADDED = {"missing": 0}, {"neighbours": "add-remove"}
OPTIONS = {"public": PUBLIC, "absent": {}, "add-remove": ADDED}
# Floats can be missing, so that the number of records that count is private.
MANY = np.array([0, 8, 1, 3, 4, 4, 7, 8, 8, 2] * 5, dtype=float)
# At a bound, at both, and in between: the mean and the square are then cut off in their own ways.
DATA = {
    "one": [5],
    "two": [0, 8],
    "equal": [8, 8, 8],
    "eight": [0, 8, 1, 7, 8, 8, 0, 3],
    "fifty": MANY,
    "two values": [0, 8] * 25,
}


def held(call, truth, repeats=REPEATS):
    """Return the share of intervals that hold the truth, for each level."""
    found = np.zeros(len(LEVELS))
    for seed in range(repeats):
        release = call(random_state=seed)
        for at, level in enumerate(LEVELS):
            low, high = release.noise_interval(level)
            found[at] += low <= truth * (1 + 1e-12) and truth <= high * (1 + 1e-12)
    return found / repeats


def enough(shares, repeats=REPEATS):
    """Whether shares are at least the levels, up to three standard deviations."""
    return all(
        share >= level - 3 * (level * (1 - level) / repeats) ** 0.5
        for share, level in zip(shares, LEVELS, strict=True)
    )


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 6])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", DATA)
def test_intervals_hold_at_least_as_often_as_they_say(name, options, epsilon):
    data = np.array(DATA[name], dtype=float)
    for ddof in (0, 1):
        if len(data) <= ddof:
            continue

        def call(**seed):
            return kng.variance(
                data, ddof=ddof, epsilon=epsilon, **BOUNDS, **OPTIONS[options], **seed  # noqa: B023
            )  # fmt: skip

        assert enough(held(call, np.var(data, ddof=ddof)))


@pytest.mark.parametrize("epsilon", [0.7, 6])
def test_records_that_are_left_out_and_people_are_covered(epsilon):
    table = pd.DataFrame({"x": MANY, "f": np.arange(50) % 3, "id": np.arange(50) // 2})
    steps = {"bounds": {"x": (0, 8)}, "granularity": 1, "epsilon": epsilon}
    kept = np.var(MANY[table["f"] > 0], ddof=1)
    assert enough(held(lambda **s: kng.variance(table, where="f > 0", **steps, **s), kept, 150))
    several = {"records_per_person": 2, **steps}
    assert enough(
        held(lambda **s: kng.variance(table, **several, **s), np.var(MANY, ddof=1), 150), 150
    )


def test_every_group_has_its_interval():
    table = pd.DataFrame({"x": np.tile(MANY, 8), "g": ["a", "b", "b", "b"] * 100})
    truth = [np.var(table["x"][table["g"] == g], ddof=1) for g in ("a", "b")]
    ask = {"bounds": {"x": (0, 8)}, "by": {"g": ["a", "b"]}, "granularity": 1, "epsilon": 2}
    for neighbours in ("replace-one", "add-remove"):
        found = np.zeros(2)
        for seed in range(150):
            release = kng.variance(table, neighbours=neighbours, random_state=seed, **ask)
            interval = release.noise_interval(0.8)
            found += (np.array(interval.low) <= truth) & (truth <= np.array(interval.high))
        assert (found / 150 >= 0.8 - 3 * (0.16 / 150) ** 0.5).all()
        assert interval.margin[0] > interval.margin[1] > 0
        assert repr(release).count("±") == 2
        assert Release.from_json(release.to_json()).noise_interval(0.8) == interval


@pytest.mark.parametrize(
    ("options", "most"), [("public", 1.6), ("absent", 1.9), ("add-remove", 2.5)]
)
def test_intervals_are_not_much_wider_than_the_noise(options, most):
    data = np.round(np.clip(np.random.default_rng(1).normal(3, 2, 1000), 0, 8))
    truth, errors, widths = np.var(data, ddof=1), [], []
    for seed in range(600):
        release = kng.variance(data, epsilon=1, random_state=seed, **BOUNDS, **OPTIONS[options])
        interval = release.noise_interval()
        errors.append(abs(release.value - truth))
        widths.append((interval.high - interval.low) / 2)
    assert 1 < np.median(widths) / np.quantile(errors, 0.95) < most


def test_half_the_reach_of_the_noise_would_be_noticed(monkeypatch):
    monkeypatch.setattr(moments, "corners", lambda change: corners(change) / 2)
    ask = {"epsilon": 0.7, **BOUNDS, **PUBLIC}
    assert not enough(held(lambda **s: kng.variance(MANY, **ask, **s), np.var(MANY, ddof=1)))


@pytest.mark.parametrize("change", CHANGES)
def test_corners_reach_as_far_as_the_facets_let_them(change):
    dim, points = dimension(change), corners(change)
    rows = [list(row) for row in facets(change)]
    rows += [[-v for v in row] for row in rows]
    for direction in np.random.default_rng(0).integers(-20, 21, (20, dim)):
        exact = float(farthest(rows, [1] * len(rows), direction.tolist()).value)
        assert exact <= (points[:, :dim] @ direction).max() <= exact * (1 + 1e-7)
    assert named(tuple(facets(change))) == change
    assert named(tuple(facets(change))[1:]) is None


@pytest.mark.parametrize("radius", [0.3, 1, 5])
@pytest.mark.parametrize("options", OPTIONS)
def test_ends_are_the_least_and_the_largest_variance_within_reach(options, radius):
    # Noise that is found by chance reaches no farther, and nearly as far.
    noise = kng.variance(MANY, epsilon=9, random_state=3, **BOUNDS, **OPTIONS[options]).noise
    low, high = noise.within(radius)
    hull, last = corners(noise.change), noise.last
    noisy = np.array([noise.parts[0] / last, noise.parts[1] / last**2, [*noise.parts, 50][2]])
    rng = np.random.default_rng(0)
    shares = np.vstack([rng.dirichlet(np.full(len(hull), a), 20000) for a in (0.02, 0.1)])
    u = radius * np.vstack([shares @ hull, hull])
    # Whole steps of a count are rounded by a half.
    moved = np.array([0.5, 0.5, 0.5]) * [1 / last, 1 / last**2, noise.records is None]
    corner = np.minimum(moved, radius * hull.max(axis=0)) * rng.choice([-1, 1], u.shape)
    s, q, n = (noisy - u - corner).T
    found = (q - s * s / n) / (n - 1) * 16
    assert low <= found.min()
    assert found.max() <= high
    assert high - low < 1.25 * (found.max() - found.min())


def test_where_all_records_may_be_absent_nothing_is_said():
    release = kng.variance([1, 8], epsilon=0.05, bounds=(0, 8), neighbours="add-remove")
    # Half the records at either bound, of two records.
    assert tuple(release.noise_interval()) == (0, 32)


@pytest.mark.parametrize("options", OPTIONS)
def test_at_a_large_epsilon_hardly_anything_is_left(options):
    release = kng.variance(MANY, epsilon=1e9, **BOUNDS, **OPTIONS[options])
    low, high = release.noise_interval(0.99)
    assert low <= np.var(MANY, ddof=1) <= high
    assert high - low < 1e-6


@pytest.mark.parametrize("options", OPTIONS)
def test_receipts_keep_it(options):
    release = kng.variance(MANY, epsilon=1, random_state=1, **BOUNDS, **OPTIONS[options])
    assert isinstance(release.noise, MomentNoise)
    assert release.noise.change == dict(zip(OPTIONS, CHANGES, strict=True))[options]
    back = Release.from_json(release.to_json())
    assert back == release
    assert back.noise_interval(0.9) == release.noise_interval(0.9)
    assert "privacy noise, 95 %" in repr(release)
    raw = json.loads(release.to_json())
    raw["noise"] = None  # as in receipts of earlier versions
    with pytest.raises(SpecError, match="says nothing about its noise"):
        Release.from_json(json.dumps(raw)).noise_interval()


@pytest.mark.parametrize(
    "damage",
    [
        {"noisy": [1]},
        {"noisy": [1, 2, 3]},
        {"noisy": [1.5, 2]},
        {"noisy": [True, 2]},
        {"change": "other"},
        {"change": "absent"},
        {"rate": "0"},
        {"rate": "1e999999999"},
        {"rate": 1},
        {"steps": 0},
        {"steps": 1.5},
        {"records": None},
        {"records": 1},
        {"records": 50.0},
        {"ddof": -1},
        {"ddof": "1"},
        {"half_range": "-1"},
        {"half_range": "1" + "0" * 200},
    ],
    ids=str,
)
def test_damaged_noise_is_no_release(damage):
    raw = json.loads(kng.variance(MANY, epsilon=1, **BOUNDS, **PUBLIC).to_json())
    raw["noise"] |= damage
    with pytest.raises(SpecError):
        Release.from_json(json.dumps(raw))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("damage", [{"rate": "1/1" + "0" * 320}, {"noisy": [10**400, 0, 10**400]}])
def test_numbers_that_no_float_holds_say_nothing(damage):
    raw = json.loads(kng.variance(MANY, epsilon=1, **BOUNDS).to_json())
    raw["noise"] |= damage
    assert tuple(Release.from_json(json.dumps(raw)).noise_interval()) == (0, 32)
