"""Privacy losses of explicit pairs of datasets, computed from their densities.

    loss = max over theta of | log p_D(theta) - log p_D'(theta) |

On the line scores are constant, or lines, between finitely many points: densities are integrated
piece by piece without error, and the loss is largest at an end of a piece. In the plane the ball is
cut into equal cells; a density is integrated at their middles, and the loss taken at their corners.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kng.core.quadratic import Matrix, Vector

LineScore = Callable[[Vector], Vector]
PlaneScore = Callable[[Matrix], Vector]


def step_loss(first: LineScore, second: LineScore, breaks: list[float], rate: float) -> float:
    """Return the loss of exp(-rate score) when both scores are constant between the breaks."""
    edges = np.array(sorted(breaks))
    widths, inner = np.diff(edges), (edges[1:] + edges[:-1]) / 2

    def log_density(score: LineScore) -> Vector:
        log = -rate * score(inner)
        return np.asarray(log - _log_sum(log + np.log(widths)))

    return _largest(log_density(first), log_density(second))


def line_loss(first: LineScore, second: LineScore, breaks: list[float], rate: float) -> float:
    """Return the loss of exp(-rate score) when both scores are lines between the breaks."""
    edges = np.array(sorted(breaks))

    def log_density(score: LineScore) -> Vector:
        log = -rate * score(edges)
        return np.asarray(log - _log_sum(np.log(np.diff(edges)) + _log_mean(log[:-1], log[1:])))

    return _largest(log_density(first), log_density(second))


def plane_loss(first: PlaneScore, second: PlaneScore, rate: float, cells: int = 400) -> float:
    """Return the loss of exp(-rate score) on the unit l1 ball in the plane."""
    inner, corners = diamond(middles(cells)), diamond(np.linspace(-1, 1, cells + 1))

    def log_density(score: PlaneScore) -> Vector:
        return np.asarray(-rate * score(corners) - _log_sum(-rate * score(inner)))

    return _largest(log_density(first), log_density(second))


def middles(cells: int) -> Vector:
    """Return the middles of equal cells of [-1, 1]."""
    return (np.arange(cells) + 0.5) / cells * 2 - 1


def diamond(side: Vector) -> Matrix:
    """Return a square grid with these coordinates in [-1, 1], turned onto the unit l1 ball."""
    s, t = np.meshgrid(side, side)
    return np.stack([(s + t) / 2, (s - t) / 2], axis=-1).reshape(-1, 2)


def mass(score: LineScore, rate: float, reach: float) -> float:
    """Return the integral of exp(-rate score) over [-reach, reach], on a grid in logarithms."""
    edges = np.concatenate([[0.0], np.geomspace(1e-6, reach, 200_001)])
    inner, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    both = np.exp(-rate * score(inner)) + np.exp(-rate * score(-inner))
    return float((widths * both).sum())


def _largest(first: Vector, second: Vector) -> float:
    return float(np.abs(first - second).max())


def _log_mean(a: Vector, b: Vector) -> Vector:
    """Return the log of the mean of exp over a line from a to b: (e^b - e^a) / (b - a)."""
    rise = -np.abs(b - a)
    flat = rise > -1e-9  # there the mean is e^a (1 + rise / 2 + ..)
    safe = np.where(flat, -1.0, rise)
    return np.asarray(np.maximum(a, b) + np.where(flat, rise / 2, np.log(np.expm1(safe) / safe)))


def _log_sum(logs: Vector) -> float:
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum()))
