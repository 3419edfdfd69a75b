"""Designs on a ball, every way to propose on them, and points at which an envelope must hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.bounds import Bounds
from kng.core.design import Design, across, from_zero
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.quadratic import AffineGradient
from kng.core.solve.pivots import pivots
from kng.data import open_regression
from kng.domains import L1Ball
from kng.losses import Linear, Squared
from kng.losses.linear_encoding import encoded
from kng.mechanisms import KNG, Exponential
from kng.norms import LInf
from kng.samplers.real.envelopes.gaussian_at_edge import anchors
from kng.samplers.real.envelopes.gaussian_inside import Form, GaussianInside
from kng.samplers.real.envelopes.linear_programs import Sup, guesses
from kng.samplers.real.envelopes.sup_at_edge import SupAtEdge
from kng.samplers.real.envelopes.sup_inside import SupInside
from kng.samplers.real.space import Scale

Array = np.ndarray
MECHANISMS: dict[str, Any] = {"kng": KNG(), "exponential": Exponential()}


def problem(
    columns: int, records: int, radius: Fraction, norm: Any = None, *, intercept: bool = True
) -> Problem:
    cut = across if intercept else from_zero
    span = cut(Fraction(-1), Fraction(1), 2**16)
    covariates = Bounds((Fraction(-1),) * columns, (Fraction(1),) * columns)
    design = Design(encoded(covariates, span, cut), intercept)
    unit, domain = PrivacyUnit(ReplaceOne(records)), L1Ball(radius, dim=design.dim)
    loss = Linear(Squared(), intercept=intercept).over(design, design.lattice)
    return Problem(loss, norm or LInf(), domain, design.records, design.lattice, unit)


@dataclass(frozen=True)
class Setting:
    """One dataset on one ball; ``copies`` of every record."""

    X: Array
    y: Array
    radius: Fraction
    epsilon: Fraction = Fraction(1)
    intercept: bool = True
    copies: float = 1.0

    def build(self, mechanism: str) -> tuple[DensityPlan, AffineGradient]:
        posed = problem(self.X.shape[1], len(self.X), self.radius, intercept=self.intercept)
        plan = MECHANISMS[mechanism].plan(posed, self.epsilon)
        [once] = plan.read(open_regression(self.X, self.y, posed.records), [plan])
        return plan, AffineGradient(once.matrix * self.copies, once.vector * self.copies)


def exponent(plan: DensityPlan, field: AffineGradient, theta: Array) -> Array:
    """Return the plan's exponent, written out from the paper and not from the sampler."""
    rate = float(plan.rate) / Scale.of(plan).bound
    if plan.weighs == "gradient":
        return rate * np.abs(theta @ field.matrix - field.vector).max(axis=-1)
    form = ((theta @ field.matrix) * theta).sum(axis=-1) / 2 - theta @ field.vector
    return rate * form


def offers(plan: DensityPlan, field: AffineGradient) -> Iterator[Any]:
    """Yield every way to propose that the samplers compare."""
    if plan.weighs == "gradient":
        sup = Sup.of(plan, field)
        found = guesses(sup)
        floor = max([0.0, *(sup.level(guess.weights) for guess in found)])
        order, usable = pivots(sup.matrix)
        for k in range(usable + 1):
            yield from SupInside.splits(sup, order[:k], floor)
        for guess in found:
            corner = SupAtEdge.at(sup, guess)
            if corner is not None:
                yield corner
                yield from corner.with_rooms(guess.theta)
        return
    rate = float(plan.rate) / Scale.of(plan).bound
    given = rate * field.matrix, rate * field.vector, float(plan.problem.domain.radius)  # type: ignore[attr-defined]
    points = anchors(*given)
    order, usable = pivots(given[0])
    inside = [Form(*given, center) for center in (0 * given[1], *(a.point for a in points[:1]))]
    for form in (Form.around_the_estimate(*given), *inside):
        start = min((2 * form.least(points)) ** 0.5, 30.0)
        for k in range(usable + 1):
            yield from GaussianInside.splits(form, order[:k], start)
    for anchor in points:
        yield from anchor.proposals()


def points_of_the_ball(rng: np.random.Generator, d: int, radius: float, near: Array) -> Array:
    """Return uniform points, points of the surface, all vertices, and points around another."""

    def uniform(size: int, inside: int) -> Array:
        parts = rng.exponential(size=(size, d + inside))
        return rng.choice([-1, 1], (size, d)) * parts[:, :d] / parts.sum(axis=1, keepdims=True)

    inner = uniform(60, 1)
    vertices = np.concatenate([np.eye(d), -np.eye(d)])
    sparse = uniform(60, 0) * (rng.uniform(size=(60, d)) < 0.4)
    around = [near / radius * (1 - s) + s * inner for s in (1e-1, 1e-3, 1e-5)]
    rows = np.concatenate([inner, uniform(60, 0), sparse, vertices, *around])
    size = np.abs(rows).sum(axis=1, keepdims=True)
    # A little inside, so that rounding leaves none of them outside.
    return radius * rows / np.maximum(size, 1.0) * (1 - 1e-12)


LEVELS = ([-1.0, 1.0], [0.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, -0.5, 0.0, 0.5, 1.0])


def discrete(seed: int) -> Setting:
    """Return a design with few distinct values: factorials, dummies, one column twice."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(1, 7)), int(rng.integers(1, 12))
    values = LEVELS[rng.integers(len(LEVELS))]
    X = rng.choice(values, (n, p))
    if rng.uniform() < 0.2:
        X = np.eye(p)[rng.integers(p, size=n)]
    if p > 1 and rng.uniform() < 0.3:
        X[:, 0] = X[:, 1] * rng.choice([-1, 1])
    slopes = rng.choice([0, 1, -1, 0.5], p)
    y = [
        rng.choice(values, n),
        np.sign(X @ slopes),
        np.clip(X @ slopes, -1, 1),
        np.full(n, rng.choice([-1.0, 1.0])),
    ][rng.integers(4)]
    radius = Fraction(str(rng.choice(["1/1000", "1/50", "1/10", "1/5", "1/2", "1", "2"])))
    epsilon = Fraction(str(rng.choice(["1/10", "1", "10"])))
    return Setting(X, y, radius, epsilon, bool(rng.integers(2)), 10.0 ** rng.integers(0, 5))
