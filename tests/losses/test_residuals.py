"""Residuals of a plane as whole numbers: each record's own, near the exact ones, and private."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest

from kng.core.bounds import Bounds
from kng.core.design import Design, across, design_of, from_zero
from kng.core.lattice import Lattice
from kng.core.privacy import ReplaceOne
from kng.losses.fields.ranked_line import RankField
from kng.losses.kernels.held import Held
from kng.losses.kernels.ranks import Wanted, read_ranks
from kng.losses.linear_encoding import encoded
from kng.losses.mapped import MappedRecords
from kng.losses.pointwise.pinball import Pinball
from kng.losses.residuals import LAST, RADII, STEPS, FromPlane, Residuals, residual_losses


def design(columns: int, intercept: bool = True) -> Design:
    bounds = Bounds((Fraction(-1, 3),) * columns, (Fraction(7, 10),) * columns)
    cut = across if intercept else from_zero
    return design_of(encoded(bounds, cut(Fraction(-2), Fraction(5), 2**32), cut), intercept)


def batch(of: Design, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, last + 1, n) for last in of.records.last]).astype(float)


def exactly(theta, of: Design, record) -> Fraction:
    """Return the position before it is rounded and cut off."""
    facts = zip(record, of.offsets, of.spans, strict=True)
    *z, y = (Fraction(2 * int(k) - offset, span) for k, offset, span in facts)
    row = [Fraction(1), *z] if of.intercept else z
    pairs = zip(row, theta, strict=True)
    return (y - sum(a * Fraction(t) for a, t in pairs)) * STEPS + LAST // 2


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("size", [0.1, 1.0, 1000.0])
def test_positions_are_those_of_exact_residuals(intercept, size):
    of = design(4, intercept)
    records = batch(of, 200)
    theta = tuple((np.random.default_rng(1).uniform(-1, 1, of.dim) * size).tolist())
    found = Residuals(theta, of)(records)[:, 0]
    for at, record in zip(found, records, strict=True):
        expected = min(max(exactly(theta, of, record), 0), LAST)
        assert abs(Fraction(at) - expected) <= Fraction(1, 2) + Fraction(1, 100)
        assert at == int(at)


def test_a_record_has_its_position_wherever_it_stands():
    of = design(7)
    records = batch(of, 4097)
    each = Residuals(tuple(np.random.default_rng(2).normal(size=8).tolist()), of)
    whole = each(records)
    turned = np.random.default_rng(3).permutation(len(records))
    assert np.array_equal(each(np.asfortranarray(records))[turned], each(records[turned]))
    for i in (0, 1, 5, 4096):
        assert np.array_equal(each(records[i : i + 1]), whole[i : i + 1])
    assert np.array_equal(pickle.loads(pickle.dumps(each))(records), whole)


def law(tau: Fraction, kernel, last: int, points, records: np.ndarray, epsilon: float):
    """Return the law of a quantile of what a map makes of records, at some points."""
    source = MappedRecords(Held(records), kernel)
    ranks = read_ranks(source, ReplaceOne(len(records)), 0, last, [Wanted(tau, Fraction(99))])[0]
    scores = [float(RankField(tau, ranks).score((k,))) for k in points]
    weights = np.exp(-epsilon / 2 * np.array(scores))
    return weights / weights.sum()


@pytest.mark.parametrize("tau", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("which", [0, 1], ids=["centre", "radius"])
def test_all_neighbours_of_three_records_lose_no_more_than_epsilon(tau, which):
    of, epsilon = design(1), 1.0
    plane = FromPlane(of, Lattice((Fraction(-4),) * 2, (Fraction(1, 8),) * 2, (64, 64)), 0)
    loss = residual_losses(Pinball(tau), Pinball(Fraction(1, 2)), plane)[which]
    drawn = [(35, 27), (LAST // 2 + 9,)]
    each, last = loss.rule.given(drawn), loss.encoding.last[0]
    level = loss.pointwise.tau
    ends = of.records.last
    universe = list(product((0, ends[0]), (0, ends[1] // 3, ends[1] // 2, ends[1])))
    numbers = sorted({int(each(np.array([r], dtype=float))[0, 0]) for r in universe})
    points = sorted({p for k in numbers for p in (k - 1, k, k + 1) if 0 <= p <= last} | {0, last})
    laws = {
        r: law(level, each, last, points, np.array(r, dtype=float), epsilon)
        for r in combinations_with_replacement(universe, 3)
    }
    worst = 0.0
    for records, mine in laws.items():
        for at, other in product(range(3), universe):
            near = tuple(sorted((*records[:at], *records[at + 1 :], other)))
            worst = max(worst, float(np.log(mine / laws[near]).max()))
    assert 0.4 * epsilon < worst <= epsilon + 1e-9


def test_radii_of_residuals_are_close():
    radii = RADII.radii
    assert radii[0] == 16
    assert radii[-1] >= LAST
    assert max(b / a for a, b in pairwise(radii)) <= 17 / 16
