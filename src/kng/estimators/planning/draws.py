"""The law of a draw from a box of coefficients, for records that follow the declared shape exactly.

    p(theta) proportional to exp( -gamma(n s(theta)) ),     s(theta) = E psi z per record

integrated along rays from the true coefficients, which are scaled so that all directions of the
peak are alike. The exponent is the plan's own: with its norm, its Delta at each theta and its base
measure. A bounded score leaves flat tails, whose weight is what makes few records hopeless.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.plan import DensityPlan
from kng.core.privacy import ReplaceOne
from kng.core.regions import Region
from kng.estimators.planning.declared import Array, normal_quantile

# Rays, and places along each at which scores are found, from the nearest outwards.
_RAYS, _PLACES, _NEAREST = 256, 40, 1e-5
# Places at which Delta is asked for where it depends on theta, and rays then: it takes long.
_ASKED, _FEWER = np.array([1e-3, 0.05, 0.2, 0.5, 1.0]), 96
# Places at which densities are summed: scores are linear within the nearest one.
_FINE = np.geomspace(1e-9, 1, 600)
_KEPT, _SHARP = 32, 0.1


@dataclass(frozen=True)
class Rays:
    """Exponents per record and unit of epsilon along rays, and what each place stands for."""

    points: Array  # rays x places x d, from the truth
    exponents: Array  # rays x places
    base: Array
    volumes: Array  # logarithms


_known: dict[Any, Rays] = {}


def drawn_moments(plan: DensityPlan, score: Any, rows: Array, truth: Array, n: int) -> Array | None:
    """Return E (theta - truth)(theta - truth)' of a draw; None where it is sharper than places."""
    key = _key(plan, rows, truth)
    if key not in _known:
        if len(_known) >= _KEPT:
            _known.clear()
        _known[key] = _rays(plan, score, rows, truth)
    rays = _known[key]
    if n * float(plan.epsilon) * rays.exponents[:, 0].max() > _SHARP:
        return None
    weights = rays.volumes - n * float(plan.epsilon) * rays.exponents - rays.base
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    return np.asarray(np.einsum("rp,rpi,rpj->ij", weights, rays.points, rays.points))


def _key(plan: DensityPlan, rows: Array, truth: Array) -> Any:
    problem = plan.problem
    unit = problem.unit
    relation = isinstance(unit.neighbours, ReplaceOne), unit.presence, unit.rows
    return (problem.loss, problem.norm, problem.domain, plan.weighs, relation,
            rows.tobytes(), truth.tobytes())  # fmt: skip


def _rays(plan: DensityPlan, score: Any, rows: Array, truth: Array) -> Rays:
    dim, at = len(truth), rows @ truth
    steady = plan.steady is not None and not plan.varies
    curved = (rows * score.slope(at)[:, None]).T @ rows / len(rows)
    scaled = np.linalg.inv(np.linalg.cholesky(curved)).T
    directions = _sphere(_RAYS if steady else _FEWER, dim) @ scaled.T
    reach = _reach(plan, directions, truth)
    directions, reach = directions[reach > 0], reach[reach > 0]
    parts = np.geomspace(_NEAREST, 1, _PLACES)
    outer = directions[:, None, :] * (reach[:, None] * parts)[:, :, None]
    means = np.array([_score(score, rows, at, ray) for ray in outer])
    norm, size = _measure(plan, truth)
    known = norm.bounds(*[means.reshape(-1, dim)] * 2)[1].reshape(means.shape[:2]) / (2 * size)
    exponents = np.array([_along(_FINE, parts, ray) for ray in known])
    points = directions[:, None, :] * (reach[:, None] * _FINE)[:, :, None]
    if not steady:
        near = np.searchsorted(parts, _ASKED * (1 - 1e-9))
        places = outer[:, near].reshape(-1, dim) + truth
        asked = _asked(plan, means[:, near].reshape(-1, dim), places)
        ratios = asked.reshape(len(known), -1) / known[:, near]
        exponents *= np.array([np.interp(_FINE, parts[near], ray) for ray in ratios])
    bounds, corners = plan.base_bounds, _corners(plan, points.reshape(-1, dim) + truth)
    base = np.zeros(len(corners)) if bounds is None else bounds(corners, corners)[0]
    volumes = dim * np.log(_FINE * reach[:, None]) + np.log(np.gradient(np.log(_FINE)))
    return Rays(points, exponents, base.reshape(volumes.shape), volumes)


def _reach(plan: DensityPlan, directions: Array, truth: Array) -> Array:
    """Return how far the domain reaches along each ray."""
    sides = np.array([[float(v) for v in side] for side in plan.problem.domain.region().sides()])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(directions > 0, sides[:, 1] - truth, sides[:, 0] - truth) / directions
    return np.asarray(np.min(np.where(directions == 0, np.inf, np.maximum(room, 0)), axis=1))


def _measure(plan: DensityPlan, truth: Array) -> tuple[Any, float]:
    """Return the norm and Delta of the whole unit at the truth."""
    at = Region.at(tuple(Fraction(float(v)) for v in truth))
    steady = plan.steady if plan.steady is not None else plan.delta.over(at)
    norm = plan.delta.norm_over(at) if plan.varies else plan.problem.norm
    return norm, float(plan.problem.unit.group(steady))


def _asked(plan: DensityPlan, scores: Array, places: Array) -> Array:
    """Return the plan's own exponents per unit of epsilon, without the base measure's part."""
    corners, bounds = _corners(plan, places), plan.base_bounds
    base = 0.0 if bounds is None else bounds(corners, corners)[0]
    exponents = plan.exponent_bounds(scores, scores, corners, corners)[1]
    return np.asarray((exponents - base) / float(plan.epsilon))


def _corners(plan: DensityPlan, thetas: Array) -> Array:
    """Return the lattice points nearest to thetas."""
    grid = plan.problem.grid
    origin, step = (np.array([float(v) for v in each]) for each in (grid.origin, grid.step))
    return np.asarray(np.rint((thetas - origin) / step))


def _along(fine: Array, parts: Array, known: Array) -> Array:
    """Return exponents between the known ones, and proportional to the distance within them."""
    return np.where(fine < parts[0], known[0] * fine / parts[0], np.interp(fine, parts, known))


def _score(score: Any, rows: Array, at: Array, ray: Array) -> Array:
    """Return the mean score at places along a ray."""
    moved = at[:, None] + rows @ ray.T
    return np.asarray(
        score.mean(np.repeat(at[:, None], len(ray), axis=1), moved).T @ rows / len(at)
    )


def _sphere(count: int, dim: int) -> Array:
    """Return directions that are spread evenly, each with its opposite."""
    if dim == 1:
        return np.array([[1.0], [-1.0]])
    half = normal_quantile(spread_evenly(count // 2, dim))
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    return np.concatenate([half, -half])


def spread_evenly(count: int, dim: int) -> Array:
    """Return points of the unit cube by the lattice of the generalised golden ratio."""
    ratio = 2.0
    for _ in range(50):
        ratio = (1 + ratio) ** (1 / (dim + 1))
    shares = ratio ** -np.arange(1.0, dim + 1)
    points = np.outer(np.arange(1, count + 1), shares) + 0.5
    return np.asarray(np.clip(points - np.floor(points), 1e-9, 1 - 1e-9))
