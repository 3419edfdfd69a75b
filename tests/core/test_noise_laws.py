"""Laws of noise: tails against exact sums, against integrals, and against simulation."""

from __future__ import annotations

from fractions import Fraction as F
from math import exp

import numpy as np
import pytest
from scipy import integrate, stats

from kng.core.noise.ranks import RankNoise
from kng.core.noise.ratio import box_sum_tail, hull_sum_tail
from kng.core.noise.tails import Tail, box_tail, laplace_steps, upper_gamma
from kng.mechanisms.noise_tails import tails_of
from kng.norms import L1, L2, Hull, LInf, Polytope


def _laplace(rate, k):
    return sum(exp(-rate * abs(j)) for j in range(-k, k + 1)) / (
        1 + 2 * exp(-rate) / (1 - exp(-rate))
    )


@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_whole_steps_are_the_fewest_that_hold_the_level(rate, level):
    k = laplace_steps(rate, level)
    assert _laplace(rate, k) >= level - 1e-12
    assert k == 0 or _laplace(rate, k - 1) < level


def test_a_count_at_epsilon_1():
    assert _laplace(1.0, 2) == pytest.approx(0.927, abs=5e-4)
    assert _laplace(1.0, 3) == pytest.approx(0.973, abs=5e-4)
    assert (laplace_steps(1.0, 0.92), laplace_steps(1.0, 0.95)) == (2, 3)


def test_gamma_tails_are_those_of_scipy():
    for shape in (1, 2, 7, 200):
        x = np.linspace(0, 3 * shape, 7)
        assert upper_gamma(shape, x) == pytest.approx(stats.gamma(shape).sf(x), abs=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_a_coordinate_in_a_box(dim):
    def integrand(v):
        return stats.gamma(dim + 1).sf(2.5 / v)

    assert box_tail(dim, 2.5) == pytest.approx(integrate.quad(integrand, 0, 1)[0], abs=1e-9)


@pytest.mark.parametrize("law", ["box", "round", "radius"])
@pytest.mark.parametrize("dim", [2, 3, 6])
def test_quantiles_hold_their_level_in_simulation(law, dim):
    rng = np.random.default_rng(dim)
    radius, normal = rng.gamma(dim, size=200_000), rng.normal(size=(200_000, dim))
    if law == "box":
        noise = rng.gamma(dim + 1, size=200_000) * rng.uniform(-1, 1, size=200_000)
    else:
        noise = radius * normal[:, 0] / np.sqrt((normal**2).sum(axis=1))
    inside = np.mean(np.abs(noise) <= Tail(law, F(1), F(1, 10**9), dim).within(0.9))
    assert inside >= 0.897
    assert law == "radius" or inside <= 0.903


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (1.0, 0.4), (1.0, 1.0), (0.2, 1.0)])
@pytest.mark.parametrize("dim", [2, 4])
def test_sums_less_a_multiple_of_the_count(dim, a, b):
    rng, size = np.random.default_rng(3), 400_000
    radius = rng.gamma(dim + 1, size=size)
    box = np.abs(radius * (a * rng.uniform(-1, 1, size) + b * rng.uniform(-1, 1, size)))
    # The hull: c by inverting its distribution function on a fine grid, then s.
    grid = np.linspace(0, 1, 4001)
    cumulated = 2**dim - (2 - grid) ** dim
    c = np.interp(rng.uniform(0, cumulated[-1], size), cumulated, grid)
    c *= rng.choice([-1, 1], size)
    hull = np.abs(radius * (a * (2 - np.abs(c)) * rng.uniform(-1, 1, size) + b * c))
    for t in (0.5, 3.0, 8.0):
        assert box_sum_tail(dim, a, b, t) == pytest.approx(np.mean(box > t), abs=0.004)
        assert hull_sum_tail(dim, a, b, t) == pytest.approx(np.mean(hull > t), abs=0.004)


def test_laws_are_read_off_the_norm():
    steps = (F(1, 8), F(1, 4))
    laws = {
        "laplace": L1((1, 2)),
        "box": LInf((1, 2)),
        "round": L2((1, 2)),
        "radius": Polytope([(1, 0), (F(1, 2), F(3, 2))]),
    }
    for law, norm in laws.items():
        first, second = tails_of(norm, F(1, 3), steps)
        assert (first.law, first.scale, first.step, first.dim) == (law, 3, F(1, 8), 2)
        # The parallelogram |v_0| <= 1, |v_0 / 2 + 3 v_1 / 2| <= 1 reaches v_1 = 1.
        assert second.scale == (3 if law == "radius" else F(3, 2))
    assert tails_of(Hull(), F(1), (F(1),) * 2) is None


@pytest.mark.parametrize("points", [2, 5, 40])
@pytest.mark.parametrize("rate", [F(1, 20), F(1, 2), F(3)])
def test_tied_records_reach_the_bound_on_ranks_and_none_exceed_it(points, rate):
    """All of n records at one point, and every other way to put them on a small lattice."""
    noise = RankNoise((F(1, 2),), 10**9, rate, float(np.log(points - 1)), 1)
    t = noise.within(0.95)
    bad = (points - 1) * exp(-float(rate) * t)
    assert t == 0 or bad / (1 + bad) == pytest.approx(0.05, rel=1e-6)
    rng = np.random.default_rng(points)
    for _ in range(200):
        counts = rng.integers(0, 2 + int(2 * t), points) * (rng.random(points) < rng.random())
        upto = np.cumsum(counts)
        below, half = upto - counts, upto[-1] / 2
        score = np.maximum(np.maximum(below - half, half - upto), 0)
        weight = np.exp(-float(rate) * score)
        assert weight[score >= t].sum() / weight.sum() <= 0.05 + 1e-9 or t == 0
