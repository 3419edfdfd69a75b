"""Quantiles drawn together have their law: every tuple of small lattices, then draws."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations_with_replacement, pairwise
from math import exp

import numpy as np
import pytest
from samplers.walks import QUARTILES, brute, field_of, law_of_attempt, plan_of, thetas
from scipy.stats import chisquare

from kng.core.bits import SeededBits
from kng.core.parts import Point
from kng.domains import Ordered
from kng.samplers.exact.range_sums import range_sums
from kng.samplers.exact.together import Attempts, multiset

# A right law fails a test of draws once in a million; seeds are fixed.
ALARM = 1e-6


CASES = {
    "spread": (QUARTILES, 7, [0, 1, 3, 3, 6, 7], 6, 1),
    "all equal": (QUARTILES, 7, [4] * 5, 5, 1),
    "no records": (QUARTILES, 5, [], None, 1),
    "one record": (QUARTILES, 6, [2], None, 3),
    "two records": ((F(1, 3), F(2, 3)), 9, [2, 9], 2, 2),
    "odd quantiles": ((F(1, 7), F(2, 7), F(1, 2)), 6, [1, 1, 2, 3, 5, 5, 5], 7, 2),
    "large epsilon": (QUARTILES, 6, [0, 1, 1, 4, 5, 6], None, 60),
    "small epsilon": (QUARTILES, 6, [0, 1, 1, 4, 5, 6], 6, F(1, 100)),
    "ends": ((F(1, 100), F(99, 100)), 8, [0, 0, 3, 8, 8, 8], 6, 2),
    "five": ((F(1, 6), F(1, 3), F(1, 2), F(2, 3), F(5, 6)), 4, [0, 1, 1, 2, 4, 4], 6, 3),
}


@pytest.mark.parametrize("case", CASES)
def test_an_attempt_has_the_law(case):
    taus, last, data, n, epsilon = CASES[case]
    plan = plan_of(taus, last, n, epsilon)
    delta = 1 if n is not None else 1 - min(b - a for a, b in pairwise([F(0), *taus, F(1)]))
    found = law_of_attempt(plan, data)
    weights = {t: exp(-F(epsilon) * brute(taus, data, t) / (2 * delta)) for t in thetas(plan)}
    total = sum(weights.values())
    scale = sum(found.values())
    assert set(found) == set(weights)
    assert scale > 0.1  # what `_MISS` promises
    for theta, weight in weights.items():
        assert found[theta] / scale == pytest.approx(weight / total, rel=1e-9)


@pytest.mark.parametrize("epsilon", ["1/50", "1/4", 3, 40])
def test_an_attempt_has_the_law_where_runs_are_joined_and_ties_are_wide(epsilon):
    rng = np.random.default_rng(3)
    data = [*rng.integers(0, 12, 60).tolist(), *[5] * 90]
    taus = (F(1, 5), F(1, 2), F(9, 10))
    plan = plan_of(taus, 12, len(data), F(epsilon))
    found = law_of_attempt(plan, data)
    weights = {t: exp(-F(epsilon) * brute(taus, data, t) / 2) for t in thetas(plan)}
    assert sum(found.values()) > 0.1
    for theta, weight in weights.items():
        expected = weight / sum(weights.values())
        assert found[theta] / sum(found.values()) == pytest.approx(expected, rel=1e-9)


def test_blocks_are_joined_and_ties_have_cells():
    """The cases above reach what they are for."""
    rng = np.random.default_rng(3)
    data = [*rng.integers(0, 12, 60).tolist(), *[5] * 90]
    for epsilon, joined in ((F(1, 50), True), (F(3), False)):
        plan = plan_of(QUARTILES, 12, len(data), epsilon)
        envelope = Attempts(plan, field_of(plan, data)).paths
        assert envelope.blocks.several.any() == joined
        assert max(stage.cells.max() for stage in envelope.stages) > 1


@pytest.mark.parametrize("fault", ["a gap left out", "delta halved", "ties on one side"])
def test_a_wrong_law_is_told_from_the_right_one(fault):
    """Planted faults of the score move the law by more than the comparison lets pass."""
    taus, last, data, n, epsilon = CASES["odd quantiles"]
    plan = plan_of(taus, last, n, epsilon)
    found = law_of_attempt(plan, data)

    def wrong(theta: Point) -> F:
        counts = [sum(x <= t for x in data) - tau * n for t, tau in zip(theta, taus, strict=True)]
        chain = [F(0), *counts, F(0)]
        if fault == "a gap left out":
            return brute(taus, data, theta) - abs(brute(taus[-1:], data, theta[-1:])) / 2
        if fault == "delta halved":
            return 2 * brute(taus, data, theta)
        return sum((abs(b - a) for a, b in pairwise(chain)), F(0)) / 2

    weights = {t: exp(-F(epsilon) * wrong(t) / 2) for t in found}
    scale, total = sum(found.values()), sum(weights.values())
    assert max(abs(found[t] / scale - weights[t] / total) for t in found) > 1e-3


def test_draws_have_the_law_and_not_one_whose_rate_is_off_by_a_fifth():
    taus, last, data, draws = (F(1, 4), F(3, 4)), 5, [0, 1, 1, 3, 5, 5, 5], 4000
    plan, bits = plan_of(taus, last, len(data), 2), SeededBits(11)
    attempts = Attempts(plan, field_of(plan, data))
    found = [t for t in (attempts.one(bits) for _ in range(2 * draws)) if t is not None][:draws]
    tuples = list(thetas(plan))
    counts = np.array([found.count(t) for t in tuples])
    assert counts.sum() == draws

    def alarm(epsilon: F) -> float:
        weights = np.array([exp(-epsilon * brute(taus, data, t) / 2) for t in tuples])
        return float(chisquare(counts, draws * weights / weights.sum()).pvalue)

    assert alarm(F(2)) > ALARM
    assert alarm(F(12, 5)) < ALARM
    assert plan.certificate.sampler.draw(plan, field_of(plan, data), bits) in tuples


def test_records_outside_the_domain_count_as_at_its_ends():
    taus, data = QUARTILES, [0, 0, 2, 4, 5, 9, 9, 9]
    plan = plan_of(taus, 9, len(data), 2, domain=Ordered(2, 6))
    field, held = field_of(plan, data), [min(max(x, 2), 6) for x in data]
    for theta in thetas(plan):
        assert field.score(theta) == brute(taus, held, theta)
    found = law_of_attempt(plan, data)
    weights = {t: exp(-brute(taus, held, t)) for t in thetas(plan)}
    for theta, weight in weights.items():
        expected = weight / sum(weights.values())
        assert found[theta] / sum(found.values()) == pytest.approx(expected, rel=1e-9)


def test_one_quantile_has_the_law_of_one():
    data = [0, 1, 1, 1, 4, 7, 7]
    for tau in (F(1, 10), F(1, 2), F(4, 5)):
        field = field_of(plan_of((tau,), 7, len(data), 1), data)
        for t in range(8):
            below, upto = sum(x < t for x in data), sum(x <= t for x in data)
            distance = max(below - tau * len(data), tau * len(data) - upto, 0)
            assert field.score((t,)) == distance


def test_range_sums_keep_small_sums():
    rng = np.random.default_rng(5)
    for size in (1, 2, 3, 17, 64, 100):
        numbers = np.exp(rng.uniform(-200, 200, size))
        first, end = np.sort(rng.integers(0, size + 1, (2, 300)), axis=0)
        found = range_sums(numbers, first, end)
        exact = [float(sum(map(F, numbers[a:b].tolist()))) for a, b in zip(first, end, strict=True)]
        np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_multisets_are_alike():
    bits, draws = SeededBits(3), 4000
    found = [tuple(multiset(bits, 3, 3)) for _ in range(draws)]
    counts = [found.count(t) for t in combinations_with_replacement(range(3), 3)]
    assert sum(counts) == draws
    assert chisquare(counts).pvalue > ALARM
    assert chisquare([*counts[:-1], 1.8 * counts[-1]]).pvalue < ALARM
