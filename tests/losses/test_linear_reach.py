"""How far scores of least squares reach along a direction: attacked by records, and attained."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from kng.core.regions import Region
from kng.losses.linear_reach import LinearReach

F = Fraction
ONE = F(1)
BOXES = {
    "two-sided": (((-ONE, ONE), (-ONE, ONE)), (-ONE, ONE)),
    "one-sided": (((F(0), ONE), (F(0), ONE)), (F(0), ONE)),
    "intercept": (((ONE, ONE), (-ONE, ONE)), (-ONE, ONE)),
    "mixed": (((-F(1, 3), ONE), (F(1, 5), ONE), (-ONE, F(0))), (-ONE, F(1, 2))),
}
THETAS = [(0, 0, 0), (1, -2, F(1, 3)), (F(1, 10), 3, -3), (-2, -2, 5)]
DIRECTIONS = [(1, 0, 0), (1, 1, 1), (1, -1, 2), (0, 3, -1)]


def reach_of(name: str) -> LinearReach:
    rows, response = BOXES[name]
    return LinearReach(rows, response, ONE)


def cases():
    for name in BOXES:
        d = len(BOXES[name][0])
        for theta, v in product(THETAS, DIRECTIONS):
            if any(v[:d]):
                yield name, tuple(map(F, theta[:d])), tuple(map(F, v[:d]))


def projected(reach: LinearReach, theta, v, rng, size: int) -> np.ndarray:
    """Return v'score of random records, many of them on the border of the box."""
    columns = [*reach.rows, reach.response]
    low, high = (np.array([float(c[i]) for c in columns]) for i in (0, 1))
    share = np.clip(rng.uniform(-0.5, 1.5, (size, len(columns))), 0, 1)
    records = low + share * (high - low)
    z, y = records[:, :-1], records[:, -1]
    return (z @ np.array(theta, float) - y) * (z @ np.array(v, float))


@pytest.mark.parametrize(("name", "theta", "v"), list(cases()), ids=str)
def test_no_record_reaches_farther_and_some_reach_as_far(name, theta, v):
    reach = reach_of(name)
    least, most = map(float, reach.along(v, theta))
    found = projected(reach, theta, v, np.random.default_rng(1), 40_000)
    scale = 1e-9 * (1 + abs(least) + abs(most))
    assert found.min() >= least - scale
    assert found.max() <= most + scale
    room = most - least
    assert found.min() <= least + 0.02 * room
    assert found.max() >= most - 0.02 * room


def test_record_corners_are_not_enough():
    """One coefficient, theta = 3: corners give 2, the truth is 49/12 (4.083)."""
    reach = LinearReach(((-ONE, ONE),), (-ONE, ONE), ONE)
    least, most = reach.along((ONE,), (F(3),))
    corners = [z * (3 * z - y) for z in (-1, 1) for y in (-1, 1)]
    assert max(corners) - min(corners) == 2
    assert most - least == F(49, 12)


@pytest.mark.parametrize("name", BOXES)
def test_over_a_region_it_is_largest_at_a_vertex(name):
    reach, rng = reach_of(name), np.random.default_rng(2)
    d = len(reach.rows)
    v = tuple(map(F, (1, -2, 1)[:d]))
    box = Region.between((-ONE,) * d, (F(2),) * d)
    ball = Region.ball(F(3), d)
    for region, radius in ((box, None), (ball, 3.0)):
        apart, each = reach.apart_over(v, region), reach.each_over(v, region)
        largest = [F(0), F(0)]
        for _ in range(200):
            theta = rng.uniform(-1, 2, d)
            if radius is not None:
                theta = rng.dirichlet(np.ones(d)) * 0.999 * radius * rng.choice([-1, 1], d)
            low, high = reach.along(v, tuple(F(t) for t in theta.tolist()))
            assert high - low <= apart
            assert max(-low, high) <= each
            largest = [max(largest[0], high - low), max(largest[1], max(-low, high))]
        assert largest[0] > apart / 2
        assert largest[1] > each / 2


@pytest.mark.parametrize("name", BOXES)
def test_bounds_over_boxes_hold(name):
    reach, rng = reach_of(name), np.random.default_rng(3)
    d = len(reach.rows)
    directions = rng.normal(size=(5, d))
    centre, half = rng.normal(size=(60, d)) * 2, rng.exponential(size=(60, d)) * 0.1
    half[:20] = 0
    least, most, doubt = reach.bounds(directions, centre - half, centre + half)
    for i in range(60):
        region = Region.between(
            tuple(F(t) for t in (centre - half)[i].tolist()),
            tuple(F(t) for t in (centre + half)[i].tolist()),
        )
        for k, v in enumerate(directions):
            exact = tuple(F(x) for x in v.tolist())
            theta = tuple(F(t) for t in (centre[i] + half[i] * rng.uniform(-1, 1, d)).tolist())
            low, high = map(float, reach.along(exact, theta))
            assert least[i, k] - doubt[i, k] <= low <= least[i, k] + doubt[i, k]
            assert most[i, k] - doubt[i, k] <= high <= most[i, k] + doubt[i, k]
            assert reach.apart_under(exact, region) <= F(high - low) + F(1, 10**12)
            assert reach.each_under(exact, region) <= F(max(-low, high)) + F(1, 10**12)
    assert (doubt[:20] < 1e-9).all()


@pytest.mark.parametrize("fault", ["corners only", "one end of y"])
def test_faults_are_seen(fault, monkeypatch):
    reach = reach_of("one-sided")
    theta, v = (F(3), F(-1)), (ONE, ONE)
    right = reach.along(v, theta)
    if fault == "corners only":
        monkeypatch.setattr("kng.losses.linear_reach._turning", lambda a, b: [a, b])
        assert LinearReach(((-ONE, ONE),), (-ONE, ONE), ONE).along((ONE,), (F(3),)) != (
            F(-1, 12),
            F(4),
        )
        return
    wrong = LinearReach(reach.rows, (reach.response[0],) * 2, ONE).along(v, theta)
    assert wrong != right
