"""Markov chains on real space: their steps keep the target, and they arrive.

A chain of fixed length has no law to test. What can be tested without waiting for it:

    invariance   exact draws, moved by some steps of the chain, still have the law
    arrival      chains from 0 end where the target has its mass

False-alarm rate 1e-6 a test, seeds fixed. The first must reject rates that are 20 % off, and steps
for another rate. Lattices are in `samplers/test_hit_and_run.py`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from regression.formulas import Score
from regression.quadrature import (
    ALARM,
    LogDensity,
    cells,
    diamond,
    into_square,
    log_base,
    p_value,
    verdict,
    whole_space,
)
from regression.setting import ADD, NORMS, REPLACE, Array, accepted, field_of, problem, with_ones

from kng.core.bits import SeededBits
from kng.core.plan import DensityPlan
from kng.core.quadratic import AffineGradient
from kng.mechanisms import KNG, Exponential
from kng.samplers.chains.hit_and_run import HitAndRun, _step
from kng.samplers.chains.metropolis import Metropolis
from kng.samplers.chains.target import Target


def records(n: int, d: int, intercept: bool = False) -> tuple[Array, Array]:
    rng = np.random.default_rng(17)
    X = rng.uniform(-1, 1, (n, d - intercept))
    y = np.clip(X @ np.linspace(0.5, -0.3, d - intercept) + 0.2 * rng.normal(size=n), -1, 1)
    return with_ones(X, intercept), y


CASES = {
    # name: dimension, mechanism, norm, radius, relation, intercept
    "whole": (2, KNG(), "coordinate", None, REPLACE, False),
    "whole-l1-add": (2, KNG(), "l1", None, ADD, False),
    "whole-intercept": (2, KNG(), "coordinate", None, REPLACE, True),
    "ball": (2, KNG(), "l2", Fraction(3, 2), REPLACE, False),
    "small-ball": (2, KNG(), "linf", Fraction(1, 2), REPLACE, False),
    "exponential": (2, Exponential(), "linf", Fraction(3, 2), REPLACE, False),
    "exponential-small-ball": (2, Exponential(), "linf", Fraction(1, 2), REPLACE, False),
    "whole-line": (1, KNG(), "coordinate", None, REPLACE, False),
}
EPSILON = 4
N = 24


def build(name: str) -> tuple[DensityPlan, AffineGradient, Array, Array]:
    d, mechanism, norm, radius, relation, intercept = CASES[name]
    Z, y = records(N, d, intercept)
    regression = problem(
        d, n=N, norm=NORMS[norm], radius=radius, relation=relation, intercept=intercept
    )
    return mechanism.plan(regression, Fraction(EPSILON)), field_of(Z, y), Z, y


def log_density_of(name: str, Z: Array, y: Array) -> tuple[LogDensity, float | None]:
    """Return the density in the square, from the oracle."""
    d, mechanism, norm, radius, relation, intercept = CASES[name]
    end = None if radius is None else float(radius)
    slope = 2 if relation == REPLACE else 1
    ridge = 0.0 if end else slope * (d + 1) / (2 * EPSILON)
    score = Score(field_of(Z, y), ridge, norm, intercept, relation, end)

    def log_density(square: Array) -> tuple[Array, Array]:
        theta = whole_space(square) if end is None else end * diamond(square)
        if isinstance(mechanism, KNG):
            return log_base(theta, end), EPSILON / 2 * score(theta)
        losses = sum((target - theta @ z) ** 2 / 2 for z, target in zip(Z, y, strict=True))
        return np.zeros(len(square)), EPSILON / (1 + end) ** 2 * losses

    return log_density, end


def walked(plan: DensityPlan, field: AffineGradient, starts: Array, steps: int) -> Array:
    """Return where so many steps of hit-and-run lead from each point."""
    walk, bits = Target(plan, field), SeededBits(43)
    moved = np.empty_like(starts)
    for i, theta in enumerate(starts):
        height = walk.log_density(theta)
        for _ in range(steps):
            theta, height = _step(walk, theta, height, bits)
        assert height == walk.log_density(theta)
        moved[i] = theta
    return moved


@pytest.mark.parametrize(
    ("name", "draws"), [("whole", 4000), ("small-ball", 4000), ("exponential", 12_000)]
)
def test_a_step_of_hit_and_run_keeps_the_law(name: str, draws: int) -> None:
    plan, field, Z, y = build(name)
    starts = accepted(plan, field, draws, seed=42)
    log_density, end = log_density_of(name, Z, y)
    law = cells(log_density, 2, parts=(4, 3), draws=len(starts))

    def judged(points: Array) -> dict[float, float]:
        counts = law.counts(into_square(points, end))
        return {factor: p_value(counts, mass) for factor, mass in law.mass.items()}

    moved = walked(plan, field, starts, 1)
    assert np.median(np.abs(moved - starts).sum(axis=1)) > 0.05  # it does move
    verdict(judged(moved))
    # Steps for another rate carry such points away.
    slow = replace(plan, epsilon=plan.epsilon / 4)
    assert judged(walked(slow, field, starts[:800], 2))[1.0] < ALARM


def test_the_papers_chain_on_a_line() -> None:
    """In one dimension on a small ball the chain forgets its start within a few steps."""
    Z, y = records(N, 1)
    plan = KNG().plan(problem(1, n=N, norm=NORMS["linf"], radius=1), Fraction(EPSILON))
    field = field_of(Z, y)
    bits = SeededBits(44)
    chain = Metropolis(steps=15, reach=1.0)
    plan = chain.certify(plan)
    points = [chain.draw(plan, field, bits) for _ in range(3500)]
    drawn = np.array([plan.grid.theta(point) for point in points], dtype=float)
    score = Score(field, 0.0, "linf", radius=1.0)
    law = cells(lambda s: (np.zeros(len(s)), EPSILON / 2 * score(s)), 1, parts=(3, 3))
    counts = law.counts(drawn)
    verdict({factor: p_value(counts, mass) for factor, mass in law.mass.items()})


def test_target_is_the_oracles_density() -> None:
    """`Target` serves chains; up to its constant it must be the density of the oracle."""
    rng = np.random.default_rng(45)
    for name in CASES:
        plan, field, Z, y = build(name)
        log_density, end = log_density_of(name, Z, y)
        d = len(field.vector)
        theta = (
            rng.normal(size=(50, d)) if end is None else end * diamond(rng.uniform(-1, 1, (50, d)))
        )
        _, exponent = log_density(into_square(theta, end))
        base = 0.0 if end else -(d + 3) * np.log1p(np.abs(theta).sum(axis=1))
        values = np.array([Target(plan, field).log_density(row) for row in theta])
        constant = values - (base - exponent)
        assert np.ptp(constant) < 1e-9 * np.abs(values).max(), name
        assert np.isneginf(Target(plan, field).log_density(np.full(d, 5.0))) == (end is not None)


def run(chain: Any, n: int, radius: Fraction | None, seed: int) -> tuple[float, float]:
    """Return the exponent where a chain ends, and that of the truth's estimate."""
    Z, y = records(n, 2)
    plan = KNG().plan(problem(2, n=n, norm=NORMS["linf"], radius=radius), Fraction(1))
    field = field_of(Z, y)
    plan = chain.certify(plan)
    point = chain.draw(plan, field, SeededBits(seed))
    theta = np.array(plan.grid.theta(point), dtype=float)
    target = Target(plan, field)
    best = np.linalg.solve(field.matrix + float(plan.ridge) * np.eye(2), field.vector)
    return -target.log_density(theta), -target.log_density(best)


@pytest.mark.parametrize("radius", [None, Fraction(2)], ids=["whole", "ball"])
def test_hit_and_run_arrives(radius: Fraction | None) -> None:
    # The exponent at the end is near Gamma(2, 1): above 25 with probability 4e-10.
    for seed in range(3):
        end, best = run(HitAndRun(), 300, radius, seed)
        assert end - best < 25


def test_hit_and_run_arrives_on_a_ball_with_many_records() -> None:
    end, best = run(HitAndRun(), 10**5, Fraction(2), 5)
    assert end - best < 25
