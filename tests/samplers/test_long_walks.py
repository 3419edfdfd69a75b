"""Walks weighed in logarithms: the law of every tuple, sums that float64 cannot hold, memory."""

from __future__ import annotations

from fractions import Fraction as F
from math import comb, exp, lgamma, log

import numpy as np
import pytest
from samplers.walks import QUARTILES, brute, field_of, law_of_attempt, plan_of, thetas

from kng.core.bits import SeededBits
from kng.core.errors import IncompatibleParts
from kng.samplers.exact import long_walks, together
from kng.samplers.exact.long_walks import LongWalks
from kng.samplers.exact.together import Attempts, Together, in_logarithms, memory
from kng.samplers.exact.walks import WalkEnvelope


@pytest.fixture
def logarithms(monkeypatch):
    """Weigh everything in logarithms."""
    monkeypatch.setattr(together, "_ROWS", 0)
    LongWalks.load()


CASES = {
    "spread": (QUARTILES, 7, [0, 1, 3, 3, 6, 7], 6, 1),
    "all equal": (QUARTILES, 7, [4] * 5, 5, 1),
    "no records": (QUARTILES, 5, [], None, 1),
    "one record": (QUARTILES, 6, [2], None, 3),
    "odd quantiles": ((F(1, 7), F(2, 7), F(1, 2)), 6, [1, 1, 2, 3, 5, 5, 5], 7, 2),
    "large epsilon": (QUARTILES, 6, [0, 1, 1, 4, 5, 6], None, 60),
    "small epsilon": (QUARTILES, 6, [0, 1, 1, 4, 5, 6], 6, F(1, 100)),
    "five": (tuple(F(k, 6) for k in range(1, 6)), 4, [0, 1, 1, 2, 4, 4], 6, 3),
    "eight": (tuple(F(k, 9) for k in range(1, 9)), 3, [0, 1, 1, 3], 4, 3),
    "wide ties": (QUARTILES, 6, [0, 2, 2, 5, *[3] * 60], 64, 2),
    "joined": (QUARTILES, 12, list(range(12)) * 8, 96, F(1, 40)),
}


def compare(found, taus, data, n, epsilon, plan):
    delta = 1 if n is not None else 1 - min(np.diff([F(0), *taus, F(1)]))
    weights = {t: exp(-F(epsilon) * brute(taus, data, t) / (2 * delta)) for t in thetas(plan)}
    total, scale = sum(weights.values()), sum(found.values())
    assert set(found) == set(weights)
    for theta, weight in weights.items():
        assert found[theta] / scale == pytest.approx(weight / total, rel=1e-9)
    return scale


@pytest.mark.usefixtures("logarithms")
@pytest.mark.parametrize("case", CASES)
def test_an_attempt_has_the_law(case):
    taus, last, data, n, epsilon = CASES[case]
    plan = plan_of(taus, last, n, epsilon)
    found = law_of_attempt(plan, data)
    assert compare(found, taus, data, n, epsilon, plan) > 0.1  # what `_MISS` promises


@pytest.mark.usefixtures("logarithms")
@pytest.mark.parametrize("case", ["wide ties", "spread", "joined"])
def test_coarse_cells_change_how_often_and_not_what(monkeypatch, case):
    """Fine cells end near 0 and nobody asks how much goes through coarse ones."""
    monkeypatch.setattr(long_walks, "_NEAR", 0.5)
    monkeypatch.setattr(long_walks, "_COARSE", 1.0)
    taus, last, data, n, epsilon = CASES[case]
    plan = plan_of(taus, last, n, epsilon)
    envelope = Attempts(plan, field_of(plan, data)).paths
    if case == "wide ties":  # the case reaches what it is for
        assert any(stage.lift.max() > 0.1 for stage in map(envelope._stage, range(3)))
    compare(law_of_attempt(plan, data), taus, data, n, epsilon, plan)


@pytest.mark.usefixtures("logarithms")
@pytest.mark.parametrize("fault", ["the oldest left out", "ways", "another landing"])
def test_a_wrong_path_is_caught(monkeypatch, fault):
    crowd, stage = long_walks._Crowd, long_walks.Stage
    terms, landing = crowd.terms, stage.landing
    if fault == "the oldest left out":
        monkeypatch.setattr(crowd, "terms", lambda *a: terms(*a)[: max(len(terms(*a)) - 1, 1)])
    elif fault == "ways":  # as if each coordinate in a block had all its points
        monkeypatch.setattr(long_walks, "comb", lambda top, b: (top - b + 1) ** b)
    else:
        monkeypatch.setattr(stage, "landing", lambda s, z, at, grid: landing(s, -z, at, grid))
    taus, last, data, n, epsilon = CASES["one record"]
    plan = plan_of(taus, last, n, epsilon)
    with pytest.raises((AssertionError, ValueError, RuntimeWarning)):
        compare(law_of_attempt(plan, data), taus, data, n, epsilon, plan)


@pytest.mark.usefixtures("logarithms")
def test_both_ways_to_weigh_agree():
    rng = np.random.default_rng(4)
    taus = tuple(F(k, 10) for k in range(1, 10))
    for data in (rng.integers(0, 400, 300), rng.integers(0, 12, 300), np.full(300, 7)):
        plan = plan_of(taus, 400, 300, 1)
        field = field_of(plan, data.tolist())
        logs, floats = LongWalks(field, F(1, 2), 20.0), WalkEnvelope(field, F(1, 2), 20.0)
        # Both lie between the sum of all weights and e^(9/4) times it.
        assert abs(logs.log_mass - floats.log_mass) < 2.25
        assert logs.mass > 0


@pytest.mark.parametrize("m", [40, 99, 200])
def test_sums_beyond_float64_keep_their_digits(m):
    """Without records every tuple weighs 1, so that the sum is their number."""
    taus, last = tuple(F(k, m + 1) for k in range(1, m + 1)), 2**20
    plan = plan_of(taus, last, None, 1)
    paths = Attempts(plan, field_of(plan, [])).paths
    ways = lgamma(last + 1 + m) - lgamma(m + 1) - lgamma(last + 1)
    assert paths.log_mass == pytest.approx(log(comb(last + m, m)), abs=1e-8)
    assert paths.log_mass == pytest.approx(ways, abs=1e-4)
    assert log(paths.mass.numerator) - log(paths.mass.denominator) == pytest.approx(paths.log_mass)


@pytest.mark.parametrize(
    "data", [[], [5], [0] * 3, [2**20] * 500, list(range(0, 2**20, 999)), [7] * 10**4]
)
@pytest.mark.parametrize("epsilon", ["1e-6", "1", "1e5"])
def test_any_records_are_accepted_often_enough(data, epsilon):
    """No acceptance exceeds 1, which `accepts` would say, and one in ten attempts succeeds."""
    m = 60
    taus = tuple(F(k, m + 1) for k in range(1, m + 1))
    plan = plan_of(taus, 2**20, None, F(epsilon))
    assert in_logarithms(plan)
    attempts, bits = Attempts(plan, field_of(plan, data)), SeededBits(3)
    drawn = [attempts.one(bits) for _ in range(12)]
    answers = [d for d in drawn if d is not None]
    assert answers  # 0.9**12 would be 0.28; fixed seeds
    assert all(list(d) == sorted(d) for d in answers)


def plan_of_many(m, n, epsilon):
    return plan_of(tuple(F(k, m + 1) for k in range(1, m + 1)), 2**20, n, F(epsilon))


@pytest.mark.parametrize(("m", "n", "epsilon"), [(99, 10**6, "1/100"), (200, 10**4, 1)])
def test_hundreds_of_quantiles_have_room(m, n, epsilon):
    assert Together().refusal(plan_of_many(m, n, epsilon)) is None


def test_more_than_memory_may_hold_is_refused_from_public_facts(monkeypatch):
    with pytest.raises(IncompatibleParts, match=r"with epsilon 0\.001 might take more than"):
        plan_of_many(150, None, "1/1000")
    monkeypatch.setattr(together, "_COORDINATES", 30)
    with pytest.raises(IncompatibleParts, match="31 quantiles on a lattice of 1,048,577 points"):
        plan_of_many(31, 100, 1)


def test_nodes_stay_within_what_is_said():
    rng = np.random.default_rng(0)
    n = 3000
    plan = plan_of_many(60, n, F(1, 4))
    for data in (rng.integers(0, 2**20, n), rng.integers(0, 50, n), np.full(n, 9)):
        paths = Attempts(plan, field_of(plan, data.tolist())).paths
        used = sum(w.nbytes for w in paths._weights) + 2 * paths._crowd._entered.nbytes
        assert used < memory(plan)
