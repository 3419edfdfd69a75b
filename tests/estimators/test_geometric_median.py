"""kng.geometric_median: accurate, in the caller's units, and clear about what is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kng
from kng.core.errors import IncompatibleParts, SchemaError, SpecError, SpecTypeError


def minimiser(x):
    point = np.median(x, axis=0)
    for _ in range(100):
        root = np.linalg.norm(x - point, axis=1)
        point = (x / root[:, None]).sum(axis=0) / (1 / root).sum()
    return point


def test_in_three_columns_privacy_costs_less_than_a_tenth():
    rng = np.random.default_rng(0)
    private, plain = 0.0, 0.0
    for seed in range(25):
        x = rng.normal(size=(10_000, 3))
        answer = kng.geometric_median(x, bounds=(-10, 10), epsilon=1, random_state=seed)
        private += float((np.asarray(answer.value) ** 2).sum())
        plain += float((minimiser(x) ** 2).sum())
    assert (private / plain) ** 0.5 < 1.1


def test_the_scale_decides_what_a_distance_is():
    rng = np.random.default_rng(1)
    # a skewed cloud, whose geometric median changes with the units
    x = np.exp(rng.normal(size=(20_000, 2))) @ np.array([[1.0, 0.5], [0.0, 40.0]])
    for scale, units in [(None, [1, 1]), ([1, 80], [1, 80]), ("bounds", [20, 800])]:
        answer = kng.geometric_median(
            x, bounds=([0, 0], [20, 800]), scale=scale, epsilon=4, random_state=3
        )
        clipped = np.clip(x, 0, [20, 800]) / units
        assert np.allclose(np.asarray(answer.value) / units, minimiser(clipped), rtol=0.03)
        shown = "1 (2 times)" if scale is None else ", ".join(map(str, units))
        assert answer.details["unit of distance"] == shown


def test_ties_are_answered_exactly_on_the_grid_of_the_data():
    x = np.array([[3, 4]] * 700 + [[9, 1]] * 400)
    answer = kng.geometric_median(
        x, bounds=([0, 0], [10, 10]), granularity=1, epsilon=1, random_state=1
    )
    assert list(answer.value) == [3.0, 4.0]


def test_frames_files_and_lists_give_the_same(tmp_path):
    x = np.random.default_rng(2).normal(size=(500, 2))
    frame = pd.DataFrame(x, columns=["east", "north"])
    frame.to_csv(tmp_path / "x.csv", index=False)
    bounds = {"east": (-5, 5), "north": (-5, 5)}
    asked = {"epsilon": 1, "random_state": 4}
    values = [
        kng.geometric_median(frame, bounds=bounds, **asked).value,
        kng.geometric_median(tmp_path / "x.csv", bounds=bounds, **asked).value,
        kng.geometric_median(x, bounds=(-5, 5), **asked).value,
        kng.geometric_median(x.tolist(), bounds=([-5, -5], [5, 5]), **asked).value,
    ]
    assert all(np.array_equal(values[0], value) for value in values)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "x",
    [
        np.array([[0.5, 0.5]]),
        np.full((1000, 2), 0.5),
        np.full((10, 2), np.nan),
        np.array([[np.inf, -np.inf]] * 10),
    ],
    ids=["one record", "equal", "missing", "infinite"],
)
def test_any_contents_are_answered(x, neighbours):
    answer = kng.geometric_median(
        x, bounds=(0, 1), epsilon=1, neighbours=neighbours, random_state=5
    )
    assert np.all((np.asarray(answer.value) >= 0) & (np.asarray(answer.value) <= 1))


CASES = {
    "no bounds": ({"bounds": None}, SpecError, "bounds are missing"),
    "one column": ({"bounds": (0, 1), "data": np.ones((5, 1))}, SpecError, "kng.median"),
    "a vector": ({"bounds": (0, 1), "data": np.ones(5)}, SpecError, "kng.median"),
    "wrong width": ({"bounds": ([0] * 3, [1] * 3)}, SchemaError, "columns"),
    "nine columns": ({"data": np.ones((5, 9))}, IncompatibleParts, "up to 8 columns"),
    "six columns": ({"data": np.ones((5, 6))}, IncompatibleParts, "hit-and-run"),
    "scale of zero": ({"scale": [1, 0]}, SpecError, "scale"),
    "scale in words": ({"scale": "feet"}, SpecError, "scale"),
    "scale for three": ({"scale": [1, 1, 1]}, SpecError, "one per column"),
    "nan scale": ({"scale": [1, float("nan")]}, SpecError, "scale"),
    "ranges apart": ({"bounds": ([0, 0], [1, 10**6])}, SpecError, "scale='bounds'"),
    "too fine": ({"granularity": "1e-9"}, SpecError, "2\\*\\*25"),
    "too coarse": ({"granularity": 2}, SpecError, "not exceed the range.*got 2 for a range of 1"),
    "too coarse for one": (
        {"granularity": 2, "bounds": ([0, 0], [9, 1])},
        SpecError,
        "got 2 for a range of 1.*another scale",
    ),
    "two pairs": ({"bounds": [(0, 1), (10, 20)]}, SpecError, "^bounds may be"),
    "no data": ({"data": None}, SchemaError, "data are missing"),
    "no file": ({"data": "nowhere.csv"}, SchemaError, "cannot read 'nowhere.csv'"),
    "granularities": ({"granularity": [1, 1]}, SpecTypeError, "granularity"),
    "nan bounds": ({"bounds": (0, float("nan"))}, SpecError, "bounds"),
    "no epsilon": ({"epsilon": None}, SpecError, "epsilon"),
    "other mechanism": ({"mechanism": "k-norm"}, SpecError, "mechanism"),
    "other sampler": ({"sampler": "order"}, SpecError, "sampler"),
    "no record": ({"data": np.ones((0, 2))}, SchemaError, "The data are empty"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_answered_is_refused(case):
    changed, error, words = CASES[case]
    asked = {"data": np.ones((5, 2)), "bounds": (0, 1), "epsilon": 1, **changed}
    with pytest.raises(error, match=words):
        kng.geometric_median(asked.pop("data"), **asked)


def test_the_chain_is_approximate_and_a_ledger_is_told(tmp_path):
    x = np.random.default_rng(6).normal(size=(200, 2))
    answer = kng.geometric_median(x, bounds=(-5, 5), epsilon=1, sampler="hit-and-run")
    assert answer.event.guarantee.value == "approximate"
    exact = kng.geometric_median(x, bounds=(-5, 5), epsilon=1)
    assert exact.event.guarantee.value == "exact"
