"""A hull that cannot be fitted at some theta is refused when it is put together with its loss.

These were charged and then failed, whatever the records were: facets of asymmetric boxes in six
coordinates, and a direction along which nothing can change.
"""

from __future__ import annotations

import numpy as np
import pytest

import kng
from kng.losses import Expectile, Linear, Location, Squared

SIX = np.linspace(0, 1, 60).reshape(10, 6)
PRIVATE_N = {"epsilon": 1, "neighbours": "add-remove", "n_max": 100, "random_state": 1}


@pytest.mark.parametrize(
    ("low", "high"), [(-1, 2), (0, 1), (3, 4)], ids=["around", "between", "beyond"]
)
@pytest.mark.parametrize("function", [Squared(), Expectile(0.7)], ids=str)
def test_a_hull_of_a_location_in_six_coordinates(function, low, high):
    mechanism = kng.KNG(
        Location(function),
        norm=kng.norms.Hull(),
        domain=kng.domains.Box(low, high),
        sampler="hit-and-run",
    )
    with pytest.raises(kng.KngError, match="Hull finds facets in up to 5 coordinates"):
        mechanism.release(SIX, bounds=(np.zeros(6), np.ones(6)), granularity=0.125, **PRIVATE_N)


@pytest.mark.parametrize(
    "domain", [kng.domains.Box(-1, 1), kng.domains.Box(0, 1), kng.domains.Simplex(1)], ids=str
)
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no intercept"])
def test_a_hull_of_a_linear_model_in_six_coordinates(intercept, domain):
    mechanism = kng.KNG(
        Linear(Expectile(0.7), intercept=intercept),
        norm=kng.norms.Hull(),
        domain=domain,
        sampler="hit-and-run",
    )
    with pytest.raises(kng.KngError, match="Hull finds facets in up to 5 coordinates"):
        mechanism.release(SIX, SIX[:, 0], bounds_X=(-1, 1), bounds_y=(-1, 1), **PRIVATE_N)


def test_a_direction_that_is_0():
    with pytest.raises(kng.KngError, match="direction of Hull is 0"):
        kng.norms.Hull([[1, 0], [0, 0], [0, 1]])
