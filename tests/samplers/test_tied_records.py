"""Records as surveys have them: few covariates, whole numbers, heaps. None may take many boxes.

Time and memory of a draw are in proportion to boxes, and neither may run out because of what
records say. The datasets go through the estimator, shifts of the responses included.
"""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

import kng
from kng.samplers.exact import boxes as sampler


def rng(n: int) -> np.random.Generator:
    return np.random.default_rng(n)


def yes_no(n: int, bounds=(0, 1), bounds_y=(0, 1)):
    X = rng(n).uniform(-1, 1, (n, 2))
    y = X @ [1, -1] + 0.1 * rng(n + 1).normal(size=n)
    return (X > 0).astype(float), (y > 0).astype(float), bounds, bounds_y


def questionnaire(n: int, steps: int, tied: float):
    X = rng(n).choice([-1.0, 1.0], (n, 2))
    y = rng(n).integers(-steps, steps + 1, n) / steps if steps else rng(n).choice([-1.0, 1.0], n)
    y[: int(tied * n)] = 0
    return X, y, (-1, 1), (-1, 1)


def survey(n: int, response: str):
    """Return sex, education and age; costs with many zeros, or visits."""
    sex, education, age = (rng(n).integers(a, b, n) for a, b in ((0, 2), (1, 6), (18, 90)))
    if response == "costs":
        none = rng(n).random(n) < 0.3 + 0.3 * sex
        y, bounds_y = np.where(none, 0, rng(n).exponential(800, n).round()), (0, 5000)
    else:
        y, bounds_y = rng(n).poisson(1.2 + 0.8 * sex), (0, 50)
    return np.column_stack([sex, education, age]), y, ([0, 1, 18], [1, 5, 90]), bounds_y


def rare(n: int, columns: int):
    X = (rng(n).random((n, columns)) < 0.02).astype(float)
    return X, rng(n).poisson(2, n), (0, 1), (0, 20)


def one_by_one(n: int, *where: tuple[int, int]):
    """Return indicators that are 1 for single records."""
    X = np.zeros((n, 2))
    for place in where:
        X[place] = 1
    return X, rng(n).poisson(1, n), (0, 1), (0, 20)


def counts(n: int):
    X = rng(n).integers(0, 2, (n, 3))
    return X, rng(n).poisson(2 + X.sum(axis=1)), (0, 1), (0, 20)


def doctors(*columns: str):
    """Return visits to a doctor of 20,190 people."""
    data = sm.datasets.randhie.load_pandas().data
    wide = {"lpi": (0, 8), "disea": (0, 60)}
    bounds = [wide.get(name, (0, 1)) for name in columns]
    return (
        data[[*columns]].to_numpy(),
        data["mdvis"].to_numpy(),
        tuple(zip(*bounds, strict=True)),
        (0, 100),
    )


# dataset, quantile, boxes it may take
CASES = {
    "yes or no": (yes_no(300), 0.5, 2**15),
    "yes or no, wide bounds": (yes_no(300, (-1, 1), (-3, 3)), 0.5, 2**15),
    "yes or no, many": (yes_no(2000), 0.5, 2**15),
    "yes or no, outer": (yes_no(1000), 0.75, 2**15),
    "two values": (questionnaire(10_000, 0, 0), 0.5, 2**13),
    "eleven steps, outer": (questionnaire(10_000, 5, 0), 0.9, 2**13),
    "heap": (questionnaire(3000, 5, 0.6), 0.5, 2**13),
    "costs": (survey(1000, "costs"), 0.5, 2**16),
    "costs, many": (survey(20_000, "costs"), 0.5, 2**16),
    "visits": (survey(1000, "visits"), 0.5, 2**16),
    "rare": (rare(1000, 2), 0.5, 2**14),
    "rare, outer": (rare(100_000, 2), 0.9, 2**14),
    "one record": (one_by_one(1000, (0, 0)), 0.5, 2**18),
    "two records": (one_by_one(1000, (0, 0), (1, 1)), 0.5, 2**14),
    "counts": (counts(1000), 0.75, 2**16),
    "counts, many": (counts(100_000), 0.75, 2**16),
    "doctors": (doctors("lpi", "physlm"), 0.5, 2**15),
    "doctors, outer": (doctors("idp", "hlthp"), 0.9, 2**14),
    "doctors, four": (doctors("hlthg", "hlthf", "hlthp"), 0.75, 2**16),
    "doctors, four more": (doctors("idp", "physlm", "hlthp"), 0.75, 2**17),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("case", CASES)
def test_a_draw_takes_few_boxes(case, monkeypatch):
    (X, y, bounds_X, bounds_y), tau, most = CASES[case]
    made, original = [], sampler.accepted_of

    def counted(plan, covers, bits, late):
        accepted = original(plan, covers, bits, late)
        made.append(sum(cover.boxes.made for cover in covers))
        return accepted

    monkeypatch.setattr(sampler, "accepted_of", counted)
    kng.QuantileRegressor(
        quantile=tau, epsilon=1, bounds_X=bounds_X, bounds_y=bounds_y, random_state=1
    ).fit(X, y)
    assert 0 < made[0] <= most, made


def test_bounds_that_are_far_too_wide_take_few_boxes(monkeypatch):
    """On e301d72 attempts waited for a certificate, and boxes were halved for 94 s."""
    made, original = [], sampler.accepted_of

    def counted(plan, covers, bits, late):
        accepted = original(plan, covers, bits, late)
        made.append(sum(cover.boxes.made for cover in covers))
        return accepted

    monkeypatch.setattr(sampler, "accepted_of", counted)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (10_000, 3))
    y = X.sum(axis=1) + 0.3 * rng.normal(size=len(X))
    kng.QuantileRegressor(
        quantile=0.5, epsilon=1, bounds_X=(-100, 100), bounds_y=(-300, 300), random_state=1
    ).fit(X, y)
    assert 0 < made[0] <= 2**14, made
