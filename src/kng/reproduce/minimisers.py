"""Minimisers without privacy that experiments measure noise from."""

from __future__ import annotations

import numpy as np

from kng.core.quadratic import Matrix, Vector


def geometric_median(records: Matrix) -> Vector:
    """Return the minimiser of the summed Euclidean distances, by Newton's method.

    From the median of each column; records in general position, none of which is the minimiser.
    """
    theta = np.median(records, axis=0)
    for _ in range(100):
        apart = theta - records
        size = np.linalg.norm(apart, axis=1)
        unit = apart / size[:, None]
        hessian = (np.eye(len(theta)) * (1 / size).sum()) - (unit / size[:, None]).T @ unit
        step = np.linalg.solve(hessian, unit.sum(axis=0))
        theta = theta - step
        if np.linalg.norm(step) < 1e-14:
            break
    return np.asarray(theta)


def kinked_minimiser(records: Vector) -> float:
    """Return the minimiser of  sum (theta - x)^2 / 2 + |theta - x|  on the line.

    The gradient  n theta - sum x + 2 #{x < theta} - n  rises: it crosses 0 between two records, or
    by a jump at one.
    """
    x, n = np.sort(records), len(records)
    below = np.arange(n + 1)
    roots = (x.sum() + n - 2 * below) / n  # of the gradient with so many records below
    left, right = np.concatenate([[-np.inf], x]), np.concatenate([x, [np.inf]])
    inside = np.flatnonzero((left < roots) & (roots < right))
    if len(inside):
        return float(roots[inside[0]])
    jumps = n * x - x.sum() + 2 * below[:-1] + 1 - n  # in the middle of the jump at a record
    return float(x[np.argmin(np.abs(jumps))])
