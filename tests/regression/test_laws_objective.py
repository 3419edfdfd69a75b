"""Objective perturbation is drawn from its own density, d = 1 and 2, boundary included.

    inside       C exp( -rate ||gradient|| ) det(Hessian)
    on a ball    what falls into the normal cone of each edge and vertex, atoms included

The density comes with its constant, so it also has to integrate to one. False-alarm rate 1e-6 a
test, seeds fixed, and every test must reject rates that are 20 % off.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from regression.formulas import (
    Derivatives,
    derivatives_of,
    determinant,
    length,
    noise_constant,
    widest,
)
from regression.quadrature import ALARM, cells, diamond, into_square, p_value, verdict
from regression.setting import ADD, NORMS, REPLACE, Array, field_of, problem, with_ones
from regression.surface import surface, surface_counts

from kng.bases import Uniform
from kng.core.bits import SeededBits
from kng.core.perturbed import PerturbedPlan
from kng.core.quadratic import AffineGradient, Quadratic
from kng.data import open_regression
from kng.domains import Whole
from kng.losses import Huber
from kng.mechanisms import ObjectivePerturbation
from kng.samplers.exact.objective import Perturbed


def line(n: int, d: int, size: float = 0.6) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, d))
    return X, np.clip(X @ np.linspace(size, -size / 2, d) + 0.2 * rng.normal(size=n), -1, 1)


def floats(points: Any) -> Array:
    return np.array(points, dtype=float)


def drawn(plan: PerturbedPlan, field: Any, seed: int, size: int) -> Array:
    """Return draws in standardised units."""
    bits = SeededBits(seed)
    return floats([plan.lattice.units(Perturbed().draw(plan, field, bits)) for _ in range(size)])


def judge(
    draws: Array,
    derivatives: Derivatives,
    rate: float,
    norm: str,
    *,
    reach: float,
    ball: bool,
    crowded: bool = False,
) -> dict[float, float]:
    """Return p-values of draws against the law, and check that the law integrates to one.

    ``reach`` is the radius of the ball, or of a diamond that holds all draws; on a ``crowded`` ball
    the surface carries a good part of the mass.
    """
    d = draws.shape[1]

    def log_density(square: Array) -> tuple[Array, Array]:
        gradient, upper = derivatives(reach * diamond(square))
        return np.log(determinant(upper)), rate * length(gradient, norm)

    law = cells(log_density, d, parts=(6, 5), draws=len(draws))
    on = np.abs(draws).sum(axis=1) > reach * (1 - 1e-9)
    assert ball or not on.any()
    inside = law.counts(into_square(draws[~on], reach))
    # d theta = reach^d d phi, and the turned square has twice the area of the diamond
    volume = reach**d * (0.5 if d == 2 else 1.0)
    found = {}
    for factor, mass in law.mass.items():
        edge = surface(derivatives, d, reach, factor * rate, norm) if ball else {}
        interior = mass * volume * noise_constant(d, factor * rate, norm)
        total = interior.sum() + sum(edge.values())
        assert total == pytest.approx(1, abs=3e-3), total
        assert 0.05 < sum(edge.values()) < 0.95 or not crowded, edge
        counts = surface_counts(draws, reach, edge) if ball else {}
        found[factor] = p_value(
            np.append(inside, list(counts.values())), np.append(interior, list(edge.values()))
        )
    return found


OBJECTIVE = {
    # name: dimension, records, radius, norm, epsilon, share, relation, intercept
    "d1-inside": (1, 30, 3, "linf", 4, None, REPLACE, False),
    "d1-surface": (1, 12, Fraction(1, 4), "linf", 2, None, REPLACE, False),
    "d2-inside": (2, 60, 3, "linf", 4, None, REPLACE, False),
    "d2-surface": (2, 20, Fraction(1, 2), "linf", 2, None, REPLACE, False),
    "d2-surface-l2": (2, 20, Fraction(1, 2), "l2", 2, Fraction(1, 2), REPLACE, False),
    "d2-surface-l1": (2, 20, Fraction(1, 2), "l1", 2, None, ADD, True),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", OBJECTIVE)
def test_objective_perturbation_of_least_squares(name: str) -> None:
    d, n, radius, norm, epsilon, share, relation, intercept = OBJECTIVE[name]
    X, y = line(n, d - intercept)
    Z = with_ones(X, intercept)
    regression = problem(
        d, n=n, norm=NORMS[norm], radius=radius, relation=relation, intercept=intercept
    )
    plan = ObjectivePerturbation(share).plan(regression, Fraction(epsilon))
    # The constants once more: noise q epsilon / Delta and ridge d / (exp((1 - q) epsilon) - 1).
    corner = length(np.ones((1, d)), norm)[0]
    q = float(plan.share)
    rate = q * epsilon / (corner * widest(float(radius), d, relation))
    ridge = d / np.expm1((1 - q) * epsilon)
    draws = drawn(plan, field_of(Z, y), 31, 4000)
    found = judge(
        draws,
        derivatives_of(Z, y, ridge, np.inf),
        rate,
        norm,
        reach=float(radius),
        ball=True,
        crowded="surface" in name,
    )
    verdict(found)


CENTRE = (Fraction(2), Fraction(-3))


@pytest.mark.every(3)
@pytest.mark.parametrize(("d", "radius"), [(1, 3), (2, 3), (2, Fraction(1, 2))])
def test_a_ridge_with_a_centre_has_its_law(d: int, radius: Fraction) -> None:
    """The density of a loss with a linear term; without the centre it is rejected."""
    X, y = line(12, d)
    regression = problem(d, n=12, norm=NORMS["linf"], radius=radius)
    plan = ObjectivePerturbation(Fraction(1, 2), CENTRE[:d]).plan(regression, Fraction(2))
    rate, ridge = 1 / widest(float(radius), d, REPLACE), d / np.expm1(1.0)
    draws = drawn(plan, field_of(X, y), 35, 4000)

    def judged(centre: Array) -> dict[float, float]:
        # (ridge / 2) ||theta - c||^2 is that of 0 and the linear term -ridge c'theta
        def derivatives(theta: Array) -> tuple[Array, tuple[Array, ...]]:
            gradient, upper = derivatives_of(X, y, ridge, np.inf)(theta)
            return gradient - ridge * centre, upper

        return judge(draws, derivatives, rate, "linf", reach=float(radius), ball=True)

    verdict(judged(floats(CENTRE[:d])))
    assert judged(np.zeros(d))[1.0] < ALARM


class Plain:
    """Huber's loss by the oracle's own sums, so that thousands of draws stay cheap."""

    def __init__(self, Z: Array, y: Array) -> None:
        self.Z, self.y = Z, y

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:
        residual, reach = self.Z @ floats(theta) - self.y, float(width)
        within = np.abs(residual) <= reach
        inlier = self.Z[within]
        vector = self.y[within] @ inlier / reach - np.sign(residual[~within]) @ self.Z[~within]
        return AffineGradient(inlier.T @ inlier / reach, vector).piece(theta, width)


def outliers(n: int, d: int) -> tuple[Array, Array]:
    """Responses in units of the threshold, some of them far outside it."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (n, d))
    y = X @ np.linspace(2, -1, d) + rng.standard_t(2, size=n)
    return X, np.clip(y, -8, 8)


HUBER = {
    # name: dimension, records, radius, norm, epsilon, share, relation
    "d1": (1, 10, None, "linf", 4, None, REPLACE),
    "d1-half": (1, 10, None, "linf", 4, Fraction(1, 2), ADD),
    "d1-ball": (1, 10, Fraction(1), "linf", 4, None, REPLACE),
    "d2": (2, 12, None, "linf", 6, Fraction(3, 4), REPLACE),
    "d2-l2": (2, 12, None, "l2", 6, Fraction(3, 4), REPLACE),
    "d2-ball": (2, 12, Fraction(3, 2), "linf", 6, Fraction(3, 4), ADD),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", HUBER)
def test_objective_perturbation_of_huber(name: str) -> None:
    d, n, radius, norm, epsilon, share, relation = HUBER[name]
    X, y = outliers(n, d)
    domain = Whole(d, base=Uniform()) if radius is None else None
    regression = problem(
        d,
        n=n,
        norm=NORMS[norm],
        radius=radius,
        relation=relation,
        pointwise=Huber(1),
        domain=domain,
        unit=8,
    )
    plan = ObjectivePerturbation(share).plan(regression, Fraction(epsilon))
    corner = length(np.ones((1, d)), norm)[0]
    q = float(plan.share)
    rate = q * epsilon / (corner * (2 if relation == REPLACE else 1))
    ridge = d / np.expm1((1 - q) * epsilon)
    draws = drawn(plan, Plain(X, y), 32, 3000)
    reach = float(radius or 0) or 1.5 * float(np.abs(draws).sum(axis=1).max())
    found = judge(
        draws, derivatives_of(X, y, ridge, 1.0), rate, norm, reach=reach, ball=radius is not None
    )
    verdict(found)


def test_huber_draws_from_records_have_the_law() -> None:
    """The production field, read from records, in a smaller run."""
    X, y = outliers(40, 1)
    regression = problem(
        1, n=40, norm=NORMS["linf"], pointwise=Huber(1), domain=Whole(1, base=Uniform()), unit=8
    )
    plan = ObjectivePerturbation(Fraction(1, 2)).plan(regression, Fraction(1))
    [field] = plan.read(open_regression(X, y, regression.records), [plan])
    draws = drawn(plan, field, 33, 2500)
    found = judge(
        draws,
        derivatives_of(X, y, 1 / np.expm1(0.5), 1.0),
        1 / 4,
        "linf",
        reach=1.5 * float(np.abs(draws).max()),
        ball=False,
    )
    verdict(found)


def test_a_law_without_the_determinant_is_rejected() -> None:
    """The Jacobian is what objective perturbation has beyond KNG, and it shows."""
    X, y = outliers(4, 1)
    regression = problem(
        1, n=4, norm=NORMS["linf"], pointwise=Huber(1), domain=Whole(1, base=Uniform()), unit=8
    )
    plan = ObjectivePerturbation(Fraction(1, 2)).plan(regression, Fraction(2))
    draws = drawn(plan, Plain(X, y), 34, 3000)
    reach = 1.5 * float(np.abs(draws).max())
    derivatives = derivatives_of(X, y, float(plan.ridge), 1.0)

    def judged(power: int) -> float:
        def log_density(square: Array) -> tuple[Array, Array]:
            gradient, upper = derivatives(reach * square)
            return power * np.log(determinant(upper)), float(plan.rate) * length(gradient, "linf")

        law = cells(log_density, 1, factors=(1.0,), parts=(6, 5), draws=len(draws))
        return p_value(law.counts(into_square(draws, reach)), law.mass[1.0])

    assert judged(power=1) > ALARM > judged(power=0)
