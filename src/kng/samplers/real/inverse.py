"""Where a monotone gradient has a given value: Newton's steps that cannot run away.

For u = G(theta) one minimises  F(theta) - u'theta,  which is convex. A full step is taken if it
halves the least gap  G - u  so far, in a fixed norm; that happens finitely often. Any other step
goes along Newton's direction to a place where the loss still falls, but by less than before:

    -0.9 a  <=  p'(G(theta + s p) - u)  <=  0,      a = -p'(G(theta) - u) > 0

so that it has fallen by a share of what it can. docs/proofs/samplers/push_forward.md, lemma 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kng.core.quadratic import Matrix, Vector
from kng.core.sloped import SlopedField

# More steps than Newton's method ever takes here; what is reached then is what float64 can reach.
_STEPS, _HALVINGS, _DOUBLINGS = 80, 40, 8
# A step so small, in parts of theta, is one of rounding.
_ROUNDING = 2.0**-44
# Beyond this no domain reaches.
_FAR = 2.0**20
# In parts of the mean curvature: keeps directions finite where the data say nothing.
_RIDGE = 1e-12


@dataclass(frozen=True, slots=True)
class Place:
    """A theta with the gradient and its derivative there."""

    theta: Vector
    gradient: Vector
    hessian: Matrix


def minimiser(field: SlopedField, dim: int, length: float) -> Place:
    """Return a place near the least loss, from 0; any place is good enough for the law.

    Slopes are first taken over as much of the prediction as there is, and over half of it each
    time, so that kinks do not upset the steps.
    """
    theta = np.zeros(dim)
    for k in range(12):
        gradient, hessian = field.curvature(theta, length * 2.0**-k)
        step = _direction(gradient, hessian)
        found = field.gradients((theta + step)[None, :])[0]
        # Beyond the least loss along the step by a half or more: a shorter one.
        overshot = float(step @ found) > -0.5 * float(step @ gradient)
        theta = np.clip(theta + step * (0.5 if overshot else 1.0), -_FAR, _FAR)
    return solved(field, theta, np.zeros(dim), np.eye(dim), 0.0)


def solved(
    field: SlopedField, start: Vector, target: Vector, metric: Matrix, tolerance: float
) -> Place:
    """Return theta with G(theta) = target, up to a gap of ``tolerance`` in the metric's norm."""
    at = _place(field, start)
    least = _gap(at, target, metric)
    for _ in range(_STEPS):
        step = _direction(at.gradient - target, at.hessian)
        rounding = _ROUNDING * (1 + _largest(at.theta))
        if least <= tolerance * tolerance or not _largest(step) > rounding:
            return at
        following = _place(field, at.theta + step)
        gap = _gap(following, target, metric)
        if gap <= least / 4:
            least = gap
        else:
            following = _falling(field, at, step, target, following)
            least = min(least, _gap(following, target, metric))
        at = following
        if not _largest(at.theta) < _FAR:
            return at
    return at


def _falling(
    field: SlopedField, at: Place, step: Vector, target: Vector, following: Place
) -> Place:
    """Return a place along the step where the loss still falls, but by less than at its start."""
    fall = -float(step @ (at.gradient - target))
    low, high, length = 0.0, np.inf, 1.0
    for tried in range(_HALVINGS):
        slope = float(step @ (following.gradient - target))
        if -0.9 * fall <= slope <= 0:
            break
        if slope > 0:
            high = length
        elif tried >= _DOUBLINGS and high == np.inf:
            break
        else:
            low = length
        length = 2 * low if high == np.inf else (low + high) / 2
        following = _place(field, at.theta + length * step)
    return following


def _largest(theta: Vector) -> float:
    """Return how far the farthest coordinate is from 0."""
    return max(float(theta.max()), -float(theta.min()))


def _place(field: SlopedField, theta: Vector) -> Place:
    return Place(theta, *field.curvature(theta, 0.0))


def _gap(at: Place, target: Vector, metric: Matrix) -> float:
    """Return the square of the gap."""
    gap = at.gradient - target
    return float(gap @ metric @ gap)


def _direction(gap: Vector, hessian: Matrix) -> Vector:
    """Return Newton's step, or a unit step downhill where nothing is curved."""
    mean = float(np.trace(hessian)) / len(gap)
    if not mean > 0:
        size = float(np.sqrt(gap @ gap))
        return -gap / size if size > 0 else gap
    return -np.asarray(np.linalg.solve(hessian + _RIDGE * mean * np.eye(len(gap)), gap))
