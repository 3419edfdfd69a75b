"""Drawn samples follow the law of their cell, and a rate that is 20 % off would be seen."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from product.cells import Cell, Dataset
from product.chosen import FULL, ON_LATTICES
from product.table import recorded
from samplers.laws import ALARM, p_value
from scipy.stats import norm

from kng.core.bits import Bits, SeededBits
from kng.core.boxes.covering import ShiftedField
from kng.samplers.exact.boxes import BoxEnvelope, covers_of

DRAWS = 1800
# Points in the order of the lattice, in so many groups of about the same probability.
GROUPS = 25
# How far off a rate is that must be seen, and in how many samples.
OFF, POWER = 0.2, 0.99
FALSE_ALARM = 1e-4

# Densities in real numbers are rounded to a lattice: their law is not that of its points.
_LATTICE = [cell for cell in ON_LATTICES if recorded()[cell] in "obt" and len(cell.points) > 5]
_LINES = [cell for cell in _LATTICE if recorded()[cell] == "o"]
DRAWN = [*_LATTICE[:: 29 if FULL else 23], *_LINES[:: 29 if FULL else 10]]

Law = np.ndarray[Any, Any]


def exponents(cell: Cell, dataset: Dataset, epsilon: int) -> Law:
    """Return the exponents of all points, in plain arithmetic."""
    found = cell.exponents(dataset, Fraction(epsilon))
    return np.array([float(gamma) for gamma in found.values()])


def law(gamma: Law, rate: float = 1.0) -> Law:
    """Return the law of the points at a rate."""
    weights = np.exp(-rate * (gamma - gamma.min()))
    return np.asarray(weights / weights.sum())


def groups(gamma: Law) -> Law:
    """Return the group of each point."""
    before = np.cumsum(law(gamma)) - law(gamma) / 2
    return np.minimum(before * GROUPS, GROUPS - 1).astype(int)


def spread(gamma: Law, rate: float = 1.0) -> tuple[float, float]:
    """Return mean and standard deviation of the mean exponent of all draws, at a rate."""
    chance = law(gamma, rate)
    mean = float(chance @ gamma)
    return mean, float(np.sqrt(chance @ (gamma - mean) ** 2 / DRAWS))


def power(gamma: Law, rate: float) -> float:
    """Return the probability that draws at another rate are rejected by their mean exponent."""
    (mine, wide), (other, theirs) = spread(gamma), spread(gamma, rate)
    limit = float(norm.isf(FALSE_ALARM / 2)) * wide
    return float(norm.sf((limit - abs(other - mine)) / theirs)) if theirs else 0.0


def telling(cell: Cell) -> tuple[float, int, Dataset]:
    """Return how well rates are told apart, by which epsilon and which records."""
    universe = cell.row.universe
    choices = [(universe[0], universe[0]), (universe[0], universe[-1]), (universe[1], universe[2])]

    def seen(epsilon: int, dataset: Dataset) -> float:
        gamma = exponents(cell, dataset, epsilon)
        return min(power(gamma, 1 + OFF), power(gamma, 1 - OFF))

    return max((seen(e, dataset), e, dataset) for e, dataset in product((4, 8, 16), choices))


def draws(plan: Any, field: Any, bits: Bits) -> Iterator[Any]:
    """Yield draws; on boxes accepted attempts of one cover, which every draw would make anew."""
    sampler = plan.certificate.sampler
    if sampler.name != "branch-and-bound":
        while True:
            yield sampler.draw(plan, field, bits)
    for _ in range(10):
        yield sampler.draw(plan, field, bits)
    if isinstance(field, ShiftedField):
        field = field.shifted(bits)
    cover = covers_of(plan, field)[0][0]
    cover.refine(2**8)
    envelope = BoxEnvelope(plan, cover)
    while True:
        point = envelope.attempt(bits)
        if point is not None:
            yield point


@pytest.mark.every(3)
@pytest.mark.parametrize("cell", DRAWN, ids=str)
def test_draws_follow_the_law_and_not_one_that_is_20_percent_off(cell):
    seen, epsilon, dataset = telling(cell)
    plan = cell.plan(len(dataset), Fraction(epsilon))
    made = draws(plan, cell.read(plan, dataset), SeededBits(7))
    drawn = [next(made) for _ in range(DRAWS)]
    gamma = exponents(cell, dataset, epsilon)
    at = dict(zip(cell.points, gamma, strict=True))
    assert set(drawn) <= set(at)
    parts = dict(zip(cell.points, groups(gamma).tolist(), strict=True))
    chances = np.bincount(list(parts.values()), weights=law(gamma))
    fitting = p_value([parts[k] for k in drawn], {i: p for i, p in enumerate(chances) if p})
    assert fitting > ALARM

    def fit(rate: float) -> float:
        mean, wide = spread(gamma, rate)
        return float(2 * norm.sf(abs(np.mean([at[k] for k in drawn]) - mean) / wide))

    if seen > POWER:
        assert fit(1.0) > FALSE_ALARM
        assert max(fit(1 - OFF), fit(1 + OFF)) < FALSE_ALARM


def test_most_samples_tell_rates_apart():
    """Some laws are so flat, or so narrow, that 1,800 draws do not tell."""
    assert sum(telling(cell)[0] > POWER for cell in DRAWN) >= len(DRAWN) / 3
