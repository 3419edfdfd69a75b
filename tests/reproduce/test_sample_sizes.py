"""Sample-size ratios on curves that are known, with errors that are known."""

from __future__ import annotations

from math import isnan, log, sqrt

import numpy as np
import pytest

from kng.reproduce.experiment import Measured, Task
from kng.reproduce.sample_sizes import needs
from kng.reproduce.versus import versus

SIZES, REPLICATES = (10**2, 10**3, 10**4, 10**5), 100
METHODS = ("plain", "twice", "faster", "worse")


def curves(spread=0.0):
    """n^-1/2; the same with twice its height; n^-1 from above; and one that never gets there."""
    generator, found = np.random.default_rng(3), {}
    for n in SIZES:
        for k in range(REPLICATES):
            noise = np.exp(spread * generator.normal(size=4))
            heights = np.array([n**-0.5, 2 * n**-0.5, 100 / n, 50.0]) * noise
            found[Task(n, k)] = Measured(dict(zip(METHODS, heights.tolist(), strict=True)), {})
    return found


def rows(found, reference="plain"):
    return {(row.method, row.n): row for row in needs(found, (reference,), METHODS)}


def test_a_curve_twice_as_high_needs_four_times_the_records():
    found = rows(curves())
    for n in SIZES[:-1]:
        assert found["twice", n].ratio == pytest.approx(4)
        assert found["twice", n].records == pytest.approx(4 * n)
        # 100 / n' = n^-1/2
        assert found["faster", n].ratio == pytest.approx(100 / sqrt(n))
    assert isnan(found["twice", SIZES[-1]].ratio)  # beyond the last size
    assert all(isnan(found["worse", n].ratio) for n in SIZES)
    assert ("plain", SIZES[0]) not in found
    # and back: with fewer records than were tried, there is nothing to say
    back = rows(curves(), "twice")
    assert isnan(back["plain", SIZES[0]].ratio)
    assert back["plain", SIZES[1]].ratio == pytest.approx(1 / 4)


def test_standard_errors_are_those_of_repeated_experiments():
    """On n^-1/2 a log ratio is twice a difference of log heights, each known to s / sqrt(k)."""
    spread = 0.3
    found = rows(curves(spread))["twice", 10**3]
    relative = found.se / found.ratio
    # the target's error, and those of the two points that the curve is interpolated between
    share = log(4) / log(10)
    between = sqrt((1 - share) ** 2 + share**2)
    assert relative == pytest.approx(2 * spread / sqrt(REPLICATES) * sqrt(1 + between**2), rel=0.25)
    assert abs(found.ratio / 4 - 1) < 5 * relative


def test_a_ratio_on_the_same_records_has_the_error_of_the_difference():
    generator = np.random.default_rng(5)
    shared, own = generator.uniform(1, 3, 400), generator.normal(0, 0.1, 400)
    pairs = zip(shared, own, strict=True)
    found = {
        Task(100, k): Measured({"a": 0.8 * s + e, "b": s}, {}) for k, (s, e) in enumerate(pairs)
    }
    [row] = versus(found, ("a",), "b")
    assert row.ratio == pytest.approx(0.8, abs=5 * row.se)
    assert row.se == pytest.approx(0.1 / sqrt(400) / 2, rel=0.2)  # and not that of the shared part
    assert row.wins > 0.95
    assert (row.n, row.replicates, row.over) == (100, 400, "b")
