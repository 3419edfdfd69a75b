"""Expected errors of linear models, from the plan that would be drawn.

With per-record curvature H and variance of the score S of the declared shape, in standard units,

    objective perturbation    A^-1 (n S + Cov u + gamma^2 b b') A^-1,    A = n H + gamma
    density of the gradient   (n H)^-1 (n S + Cov u) (n H)^-1,    u at rate epsilon / (2 Delta)
    without privacy           (n H)^-1 (n S) (n H)^-1

where b is how far theta is from the centre of the ridge. A density on a box has flat tails too: far
away the score is at least  n m,  and all of the box outside the peak has the weight exp(-c n m).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, lgamma, log, pi, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from kng.core.bits import simulator
from kng.core.design import Design
from kng.core.errors import IncompatibleParts
from kng.core.parts import described
from kng.core.perturbed import PerturbedPlan
from kng.core.plan import DensityPlan
from kng.core.regions import Region
from kng.core.shapes import BoxShape
from kng.estimators.planning.declared import Array, Column
from kng.estimators.planning.expected import Expected

_NORMAL = NormalDist()
# Simulated rows of covariates for what has no formula; the seed is fixed, so plans repeat.
_ROWS, _SEED = 2**14, 5
# Directions in which a plane may lie far away.
_DIRECTIONS = 400


@dataclass(frozen=True)
class ModelShape:
    """Covariates, the coefficients and how far responses lie from their plane."""

    covariates: tuple[Column, ...]
    coefficients: tuple[float, ...]
    residual: float | None

    def rows(self, design: Design) -> Array:
        """Return simulated standardised rows, with 1 for an intercept."""
        rng = simulator(_SEED)
        halves, middles = design.halves[:-1], design.middles[:-1]
        columns = [
            (column.draw(rng, _ROWS) - float(m)) / float(h)
            for column, h, m in zip(self.covariates, halves, middles, strict=True)
        ]
        return np.column_stack([np.ones(_ROWS)] * design.intercept + columns)

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


@dataclass(frozen=True, slots=True)
class Curves:
    """Per-record curvature H and variance S of the score."""

    curvature: Array
    variance: Array


def curves(loss: Any, shape: ModelShape) -> Curves:
    """Return H and S of a loss for the declared shape, or refuse."""
    design, pointwise = loss.design, loss.pointwise
    name, m = pointwise.name, shape.moments(design)
    if name == "logistic":
        rows = shape.rows(design)
        tail = np.exp(-np.abs(rows @ shape.theta(design)))
        h = (rows * (tail / (1 + tail) ** 2)[:, None]).T @ rows / len(rows)
        return Curves(h, h)
    if shape.residual is None:
        raise IncompatibleParts("a residual spread is needed.")
    sigma = shape.residual / float(design.half_y)
    if name == "squared":
        return Curves(m, sigma**2 * m)
    if name == "huber":
        inside = 2 * _NORMAL.cdf(1 / sigma) - 1
        second = sigma**2 * (inside - 2 * _NORMAL.pdf(1 / sigma) / sigma) + 1 - inside
        return Curves(inside * m, second * m)
    if name in ("pinball", "smoothed pinball"):
        tau = float(pointwise.tau)
        return Curves(_NORMAL.pdf(_NORMAL.inv_cdf(tau)) / sigma * m, tau * (1 - tau) * m)
    raise IncompatibleParts(f"{described(loss)} has no formula for its error.")


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
    squares: bool = False,
) -> list[Expected]:
    """Return the errors of coefficients in the caller's units.

    ``squares`` compares with least squares, whatever loss the plan has.
    """
    loss: Any = plan.problem.loss
    design = loss.design
    found, truth = curves(loss, shape), shape.theta(design)
    inverse = np.asarray(np.linalg.inv(found.curvature), dtype=float)
    own = inverse @ found.variance @ inverse / n
    if isinstance(plan, PerturbedPlan):
        whole = _perturbed(plan, found, truth, n)
    else:
        whole = own + _drawn(plan, found, shape, truth, n)
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


def _perturbed(plan: PerturbedPlan, found: Curves, truth: Array, n: int) -> Array:
    dim = len(truth)
    norm, rate, ridge = plan.problem.norm, float(plan.rate), float(plan.ridge)
    noise = np.diag(ball_moments(norm, dim)) / rate**2
    pull = ridge * (truth - np.array([float(c) for c in plan.centre]))
    inverse = np.linalg.inv(n * found.curvature + ridge * np.eye(dim))
    return np.asarray(inverse @ (n * found.variance + noise + np.outer(pull, pull)) @ inverse)


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
    region = problem.domain.region()
    if not problem.domain.bounded or problem.loss.pointwise.name != "pinball":  # type: ignore[attr-defined]
        return np.asarray(peak)
    sides = [(float(a), float(b)) for a, b in region.sides()]
    far = rate * n * _far_score(problem, norm, shape)
    box = sum(log(b - a) for a, b in sides)
    # The integral of exp(-c ||n H z||): d! times the volume of the ball, over (c n)^d det H.
    volume = _log_volume(norm, dim)
    width = lgamma(dim + 1) + volume - dim * log(rate * n) - np.linalg.slogdet(found.curvature)[1]
    odds = exp(min(box - far - width, 700.0))
    share = odds / (1 + odds)
    spread = np.diag(
        [
            ((b - a) ** 2 / 12 + ((a + b) / 2 - t) ** 2)
            for (a, b), t in zip(sides, truth, strict=True)
        ]
    )
    return np.asarray((1 - share) * peak + share * spread)


def _far_score(problem: Any, norm: Any, shape: ModelShape) -> float:
    """Return the least norm of the mean score far away, over directions."""
    rng = simulator(_SEED)
    design, tau = problem.loss.design, float(problem.loss.pointwise.tau)
    rows = shape.rows(design)[:4096]
    directions = np.concatenate(
        [np.eye(rows.shape[1]), rng.normal(size=(_DIRECTIONS, rows.shape[1]))]
    )
    signs = np.concatenate([directions, -directions])
    scores = ((rows @ signs.T > 0) - tau).T @ rows / len(rows)
    low, _ = norm.bounds(scores, scores)
    return float(low.min())


def _log_volume(norm: Any, dim: int) -> float:
    """Return the logarithm of the volume of the unit ball, that of an ellipsoid if unknown."""
    if isinstance(norm.shape, BoxShape):
        sides = [float(w) for w in norm.shape.half_widths] or [1.0] * dim
        return sum(log(2 * w) for w in sides)
    squares = ball_moments(norm, dim) / (dim + 1)  # of an ellipsoid with these moments
    return dim / 2 * log(pi) - lgamma(dim / 2 + 1) + 0.5 * float(np.log(squares).sum())


def root_mean(errors: Sequence[Sequence[Expected]], weights: Sequence[float]) -> list[Expected]:
    """Return errors averaged over plans that may be made, in squares."""
    shares = np.array(weights) / sum(weights)
    found = []
    for column in zip(*errors, strict=True):
        noise = sqrt(float(sum(w * e.noise**2 for w, e in zip(shares, column, strict=True))))
        found.append(Expected(column[0].name, noise, column[0].sampling))
    return found
