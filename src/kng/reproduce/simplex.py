"""Quantile regression without privacy, solved exactly: walk from vertex to vertex.

    minimise  sum rho_tau(y_i - x_i'theta)

A vertex fits d records exactly. Letting go of one of them moves theta along an edge, and the loss
along it is convex and piecewise linear: its minimiser is a weighted median, found by sorting, and
is the next vertex. A vertex from which every edge rises is the minimiser.
"""

from __future__ import annotations

import numpy as np

from kng.core.quadratic import Matrix, Vector


def quantile_regression(X: Matrix, y: Vector, tau: float) -> Vector:
    """Return the minimiser, for records in general position."""
    basis = _first_vertex(X, y)
    while True:
        inverse = np.linalg.inv(X[basis])
        theta = inverse @ y[basis]
        residual = y - X @ theta
        residual[basis] = 0.0
        gradient = np.where(residual <= 0, 1 - tau, -tau)
        gradient[basis] = 0.0
        pull = inverse.T @ (gradient @ X)  # slope along each edge, but for the records on it
        # Along +edge the record let go has x'edge = 1 and residual -t: slope pull + (1 - tau).
        slopes = np.concatenate([pull + (1 - tau), -pull + tau])
        steepest = int(np.argmin(slopes))
        if slopes[steepest] >= -1e-12 * len(y):
            return np.asarray(theta)
        leaving = steepest % len(basis)
        direction = inverse[:, leaving] * (1.0 if steepest < len(basis) else -1.0)
        basis[leaving] = _stop(X @ direction, residual, float(slopes[steepest]), basis)


def _first_vertex(X: Matrix, y: Vector) -> list[int]:
    """Return records that the least-squares fit passes near, enough of them to fix a point."""
    near = np.argsort(np.abs(y - X @ np.linalg.lstsq(X, y)[0]), kind="stable")
    basis: list[int] = []
    for i in near:
        trial = [*basis, int(i)]
        if np.linalg.matrix_rank(X[trial]) == len(trial):
            basis = trial
        if len(basis) == X.shape[1]:
            break
    return basis


def _stop(speed: Vector, residual: Vector, slope: float, basis: list[int]) -> int:
    """Return the record at whose crossing the loss along the edge stops falling."""
    speed = speed.copy()
    speed[basis] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        time = residual / speed
    ahead = np.flatnonzero((speed != 0) & (time > 0))
    order = ahead[np.argsort(time[ahead], kind="stable")]
    climbs = slope + np.cumsum(np.abs(speed[order]))
    return int(order[np.flatnonzero(climbs >= 0)[0]])
