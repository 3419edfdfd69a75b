"""The law of one count whose noise is drawn in the norm `Exchange`, beside sums over all points."""

from __future__ import annotations

import numpy as np
import pytest

from kng.core.noise.exchange import exchange_steps, exchange_tail
from kng.core.noise.tails import laplace_steps


def _chances(dim, rate, reach):
    """Return the entries of all points within reach, and the chance of each."""
    axis = np.arange(-reach, reach + 1)
    points = np.array(np.meshgrid(*[axis] * dim)).reshape(dim, -1)
    grown, shrunk = np.maximum(points, 0).sum(axis=0), np.maximum(-points, 0).sum(axis=0)
    weights = np.exp(-rate * np.maximum(grown, shrunk))
    return points, weights / weights.sum()


@pytest.mark.parametrize(("dim", "rate", "reach"), [(1, 1.0, 40), (2, 0.7, 60), (3, 1.3, 35)])
def test_tails_are_sums_over_all_points(dim, rate, reach):
    points, chances = _chances(dim, rate, reach)
    for k in (1, 2, 5, 8):
        found = exchange_tail(dim, rate, k)
        assert found == pytest.approx(chances[np.abs(points[0]) >= k].sum(), rel=1e-6)
        # The rest of a public number has the same law.
        assert found == pytest.approx(chances[np.abs(points.sum(axis=0)) >= k].sum(), rel=1e-6)


@pytest.mark.parametrize("rate", [0.001, 0.02, 0.5, 3.0])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_one_count_has_the_law_of_laplace(rate, level):
    found, known = exchange_steps(1, rate, level), laplace_steps(rate, level)
    assert known <= found <= known * 1.002 + 1


@pytest.mark.parametrize("dim", [2, 9])
def test_long_sums_in_steps_are_not_below_those_term_by_term(dim, monkeypatch):
    rate, k = 0.003, 1200
    coarse = exchange_tail(dim, rate, k)
    monkeypatch.setattr("kng.core.noise.exchange._PARTS", 10**6)  # a step is one term
    fine = exchange_tail(dim, rate, k)
    assert fine <= coarse <= 1.0011 * fine


def test_many_counts_are_each_off_by_twice_as_much_as_one():
    assert 0.1 * exchange_steps(200, 0.1, 0.95) == pytest.approx(2 * np.log(20), rel=0.03)
