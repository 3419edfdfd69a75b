"""The auditor's own formulas for private regression, written down a second time.

Nothing here is taken from the code under test: widths come from the definition of a record's
gradient, and constants are spelled out. Half convention throughout: gradient A theta - b,
Delta at most 2 (1 + ||theta||_1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from regression.setting import ADD, REPLACE, Array

from kng.core.quadratic import AffineGradient


def widths(theta: Array, *, intercept: bool, relation: str) -> Array:
    """Return Delta_j for rows of theta, from the definition of a record's gradient.

    Coordinate j of one record's gradient is a t^2 + w t, where t = z_j and w is anything of size at
    most T = 1 + sum of the other |theta_k|. Over |t| <= 1 its largest value is a + T and its least
    is that of a t^2 - T t; replacing a record moves it by the difference, and adding one by the
    larger of the two sizes. The intercept has t = 1 always.
    """
    theta = np.asarray(theta, dtype=float)
    a = np.abs(theta)
    rest = 1 + a.sum(axis=-1, keepdims=True) - a
    top = a + rest
    if relation == ADD:
        return top
    t = np.minimum(rest / (2 * np.maximum(a, 1e-300)), 1.0)
    result = top - (a * t * t - rest * t)
    if intercept:
        result[..., 0] = 2 * rest[..., 0]
    return result


def widest(radius: float, dim: int, relation: str) -> float:
    """Return the largest Delta_j over an l1 ball; one coefficient has its own, at the ball's end.

    With several, z_j = 0 and the ball's whole length elsewhere give 2 (1 + B).
    """
    if relation == ADD:
        return 1 + radius
    if dim == 1:
        return float(widths(np.array([[radius]]), intercept=False, relation=relation)[0, 0])
    return 2 * (1 + radius)


def length(rows: Array, norm: str) -> Array:
    """Return the norm of each row."""
    sizes = np.abs(rows)
    if norm == "l1":
        return sizes.sum(axis=-1)
    if norm == "l2":
        return np.sqrt((sizes**2).sum(axis=-1))
    return sizes.max(axis=-1)


@dataclass(frozen=True)
class Score:
    """||(A theta + ridge theta - b) / Delta(theta)||_K, with the constant Delta of a ball."""

    field: AffineGradient
    ridge: float
    norm: str
    intercept: bool = False
    relation: str = REPLACE
    radius: float | None = None

    def __call__(self, theta: Array) -> Array:
        A, b = self.field.matrix, self.field.vector
        gradient = theta @ A + self.ridge * theta - b
        if self.radius is not None:
            corner = length(np.ones((1, len(b))), self.norm)[0]
            return length(gradient, self.norm) / (
                corner * widest(self.radius, len(b), self.relation)
            )
        by = widths(theta, intercept=self.intercept, relation=self.relation)
        if self.norm == "coordinate":
            return np.abs(gradient / by).max(axis=-1)
        return length(gradient, self.norm) / length(by, self.norm)


# Rows of theta to gradient rows and to the upper triangle of the Hessian, ridge included.
Derivatives = Callable[[Array], tuple[Array, tuple[Array, ...]]]


def determinant(upper: tuple[Array, ...]) -> Array:
    """Return determinants of symmetric matrices from their upper triangles, d = 1 or 2."""
    return upper[0] if len(upper) == 1 else upper[0] * upper[2] - upper[1] ** 2


def noise_constant(dim: int, rate: float, norm: str) -> float:
    """Return the constant that makes exp(-rate ||u||) a density: 1 / (d! vol rate^-d)."""
    volume = {"linf": 2.0**dim, "l1": 2.0**dim / math.factorial(dim), "l2": [0, 2, math.pi][dim]}
    ball = volume["linf" if norm == "coordinate" else norm]
    return rate**dim / (math.factorial(dim) * ball)


def derivatives_of(Z: Array, y: Array, ridge: float, threshold: float) -> Derivatives:
    """Return gradient and Hessian of Huber's loss, record by record; infinity gives the squared."""
    d = Z.shape[1]
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    if threshold == np.inf:  # no record differs from another, so the sums come first
        A = Z.T @ Z + ridge * np.eye(d)
        return lambda theta: (theta @ A - Z.T @ y, tuple(np.full(len(theta), A[k]) for k in pairs))

    def derivatives(theta: Array) -> tuple[Array, tuple[Array, ...]]:
        gradient = [ridge * theta[:, j] for j in range(d)]
        upper = [np.full(len(theta), ridge * (i == j)) for i, j in pairs]
        for z, target in zip(Z, y, strict=True):
            residual = theta @ z - target
            inlier = np.abs(residual) <= threshold
            psi = np.clip(residual, -threshold, threshold)
            for j in range(d):
                gradient[j] += z[j] * psi
            for entry, (i, j) in zip(upper, pairs, strict=True):
                entry += z[i] * z[j] * inlier
        return np.column_stack(gradient), tuple(upper)

    return derivatives
