"""Expected errors of linear models, from the plan that would be drawn.

With per-record curvature H and variance of the score S of the declared shape, in standard units,

    objective perturbation    A^-1 (n S + Cov u + gamma^2 b b') A^-1,    A = n H + gamma
    density of the gradient   (n H)^-1 (n S + Cov u) (n H)^-1,    u at rate epsilon / (2 Delta)
    without privacy           (n H)^-1 (n S) (n H)^-1

where b is how far theta is from the centre of the ridge. What clipped responses move the estimate
by is added. A density on a box is integrated over it (draws.py), flat tails included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

from kng.core.design import Design
from kng.core.errors import IncompatibleParts
from kng.core.parts import described
from kng.core.perturbed import PerturbedPlan
from kng.core.plan import DensityPlan
from kng.core.regions import Region
from kng.core.shapes import BoxShape
from kng.estimators.planning.declared import Array, Column
from kng.estimators.planning.draws import drawn_moments, spread_evenly
from kng.estimators.planning.expected import Expected
from kng.estimators.planning.present import ALL_COUNT, Counted
from kng.estimators.planning.scores import RESIDUAL, Score, clipped_score, score_of
from kng.estimators.planning.solved import Moves, stretched

# Rows of covariates that scores are averaged over, along rays, and for each draw of noise.
_ROWS, _FEWER, _FEWEST = 2**12, 2**9, 2**5


@dataclass(frozen=True)
class ModelShape:
    """Covariates, the coefficients and how far responses lie from their plane."""

    covariates: tuple[Column, ...]
    coefficients: tuple[float, ...]
    residual: float | None
    counted: Counted = ALL_COUNT

    def rows(self, design: Design, count: int = _ROWS) -> Array:
        """Return standardised rows that are spread evenly, with 1 for an intercept."""
        halves, middles = design.halves[:-1], design.middles[:-1]
        shares = spread_evenly(count, len(self.covariates))
        columns = [
            (column.at(part) - float(m)) / float(h)
            for column, part, h, m in zip(self.covariates, shares.T, halves, middles, strict=True)
        ]
        return np.column_stack([np.ones(count)] * design.intercept + columns)

    def moments(self, design: Design) -> Array:
        """Return E zz', exactly: covariates are independent."""
        halves, middles = design.halves[:-1], design.middles[:-1]
        facts = list(zip(self.covariates, halves, middles, strict=True))
        means = [1.0] * design.intercept + [(c.mean - float(m)) / float(h) for c, h, m in facts]
        spreads = [0.0] * design.intercept + [c.deviation / float(h) for c, h, _ in facts]
        return np.asarray(np.outer(means, means) + np.diag(np.square(spreads)))

    def theta(self, design: Design) -> Array:
        """Return the coefficients in standard units."""
        exact = [Fraction(float(v)) for v in self.coefficients]
        return np.array([float(v) for v in design.units.inverse(exact)])

    def sigma(self, design: Design) -> float | None:
        """Return the deviation of residuals in standard units."""
        return None if self.residual is None else self.residual / float(design.half_y)

    def score(self, loss: Any) -> Score:
        """Return the moments of a loss's score."""
        return score_of(loss, self.sigma(loss.design))

    def estimated(self, loss: Any) -> Array:
        """Return the coefficients that a loss estimates, in standard units."""
        theta = self.theta(loss.design)
        theta[0] += self.score(loss).shift * loss.design.intercept
        return theta


@dataclass(frozen=True, slots=True)
class Curves:
    """Per-record curvature H and variance S of the score, and its mean where y is clipped."""

    curvature: Array
    variance: Array
    clipped: Array


@lru_cache(maxsize=256)
def curves(loss: Any, shape: ModelShape) -> Curves:
    """Return H, S and the mean score of a loss for the declared shape, or refuse."""
    design, score = loss.design, shape.score(loss)
    rows, m = shape.rows(design), shape.moments(design)
    at = rows @ shape.estimated(loss)
    if loss.pointwise.name not in RESIDUAL:
        mean = score.mean(at, at) @ rows / len(rows)
        h = (rows * score.slope(at)[:, None]).T @ rows / len(rows)
        return Curves(h, (rows * score.square(at)[:, None]).T @ rows / len(rows), mean)
    first = at[:1]
    sigma = shape.sigma(design)
    assert sigma is not None
    mean = clipped_score(loss, at, sigma) @ rows / len(rows)
    return Curves(score.slope(first)[0] * m, score.square(first)[0] * m, mean)


def ball_moments(norm: Any, dim: int) -> Array:
    """Return E v_j^2 of a uniform point of a norm's ball, times (d + 1)(d + 2): that of noise."""
    shape = norm.shape
    if isinstance(shape, BoxShape):
        sides = [float(w) for w in shape.half_widths] or [1.0] * dim
        return np.array([(dim + 1) * (dim + 2) / 3 * w * w for w in sides])
    if hasattr(norm, "second_moments"):
        return np.array([(dim + 1) * (dim + 2) * v for v in norm.second_moments(dim)])
    if dim == 1:
        return np.array([2 / float(norm.value((Fraction(1),))) ** 2])
    raise IncompatibleParts(f"the norm {described(norm)} has no formula for its noise.")


def model_errors(
    plan: PerturbedPlan | DensityPlan,
    shape: ModelShape,
    names: Sequence[str],
    n: int,
    *,
    squares: bool = False,
    wander: float = 0.0,
) -> list[Expected]:
    """Return the errors of coefficients in the caller's units.

    ``squares`` compares with least squares, whatever loss the plan has; ``wander`` is how far the
    centre of the ridge, if it was drawn, lies from the true one, in units of y.
    """
    loss: Any = plan.problem.loss
    design = loss.design
    found, truth = curves(loss, shape), shape.estimated(loss)
    inverse = np.asarray(np.linalg.inv(found.curvature), dtype=float)
    own = inverse @ found.variance @ inverse / n
    if isinstance(plan, PerturbedPlan):
        whole = _perturbed(plan, found, truth, n, wander / float(design.half_y))
        stretch = _stretch(plan, found, shape, truth, n)
        whole = whole * np.outer(stretch, stretch)
    else:
        moved = inverse @ found.clipped
        whole = own + np.outer(moved, moved) + _drawn(plan, found, shape, truth, n)
    plain = _least_squares(design, shape, n) if squares else own
    units = np.array([[float(v) for v in row] for row in design.units.matrix])
    sampling = np.sqrt(np.diag(units @ plain @ units.T))
    total = np.sqrt(np.diag(units @ whole @ units.T))
    noise = np.sqrt(np.maximum(total**2 - sampling**2, 0))
    return [Expected(*each) for each in zip(names, noise.tolist(), sampling.tolist(), strict=True)]


def _least_squares(design: Design, shape: ModelShape, n: int) -> Array:
    assert shape.residual is not None
    sigma = shape.residual / float(design.half_y)
    return np.asarray(sigma**2 * np.linalg.inv(shape.moments(design)) / n)


def _perturbed(plan: PerturbedPlan, found: Curves, truth: Array, n: int, wander: float) -> Array:
    dim = len(truth)
    norm, rate, ridge = plan.problem.norm, float(plan.rate), float(plan.ridge)
    noise = np.diag(ball_moments(norm, dim)) / rate**2
    pull = ridge * (truth - np.array([float(c) for c in plan.centre])) + n * found.clipped
    noise[0, 0] += (ridge * wander) ** 2
    inverse = np.linalg.inv(n * found.curvature + ridge * np.eye(dim))
    return np.asarray(inverse @ (n * found.variance + noise + np.outer(pull, pull)) @ inverse)


def _stretch(plan: PerturbedPlan, found: Curves, shape: ModelShape, truth: Array, n: int) -> Array:
    """Return how much larger errors are than those of a line, where that is known."""
    norm, loss = plan.problem.norm, plan.problem.loss
    dim = len(truth)
    if not isinstance(norm.shape, BoxShape) or loss.pointwise.name == "squared":  # type: ignore[attr-defined]
        return np.ones(dim)
    sides = np.array([float(w) for w in norm.shape.half_widths] or [1.0] * dim)
    root = np.linalg.cholesky(n * found.variance)
    centre = np.array([float(c) for c in plan.centre])
    rows = shape.rows(loss.design, _FEWEST)  # type: ignore[attr-defined]
    by = Moves(sides, float(plan.rate), np.asarray(root), float(plan.ridge), centre)
    return stretched(shape.score(loss), rows, truth, n, by)


def _drawn(plan: DensityPlan, found: Curves, shape: ModelShape, truth: Array, n: int) -> Array:
    """Return the covariance of a draw around the minimiser, flat tails included."""
    if plan.weighs != "gradient":
        raise IncompatibleParts("the exponential mechanism has no formula for its error.")
    dim, problem = len(truth), plan.problem
    at = Region.at(tuple(Fraction(float(v)) for v in truth))
    steady = plan.steady if plan.steady is not None else plan.delta.over(at)
    norm = plan.delta.norm_over(at) if plan.varies else problem.norm
    rate = float(plan.epsilon / (2 * problem.unit.group(steady)))
    noise = np.diag(ball_moments(norm, dim)) / rate**2
    inverse = np.linalg.inv(found.curvature)
    peak = inverse @ noise @ inverse / n**2
    if not problem.domain.bounded:
        return np.asarray(peak)
    rows = shape.rows(problem.loss.design, _FEWER)  # type: ignore[attr-defined]
    found_there = drawn_moments(plan, shape.score(problem.loss), rows, truth, n)
    return np.asarray(peak) if found_there is None else found_there


def root_mean(errors: Sequence[Sequence[Expected]], weights: Sequence[float]) -> list[Expected]:
    """Return errors averaged over plans that may be made, in squares."""
    shares = np.array(weights) / sum(weights)
    found = []
    for column in zip(*errors, strict=True):
        noise = sqrt(float(sum(w * e.noise**2 for w, e in zip(shares, column, strict=True))))
        found.append(Expected(column[0].name, noise, column[0].sampling))
    return found
