"""Privacy losses of explicit pairs of datasets, computed from their densities.

    loss = max over theta of | log p_D(theta) - log p_D'(theta) |

On the line densities are constant, or exponentials of lines, between finitely many points, and are
integrated piece by piece. In the plane the ball is cut into equal cells.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kng.core.regression import Matrix, Vector

LineScore = Callable[[Vector], Vector]


def step_loss(first: LineScore, second: LineScore, breaks: list[float], rate: float) -> float:
    """Return the loss of exp(-rate score) when both scores are constant between the breaks."""
    edges = np.array(sorted(breaks))
    widths, middles = np.diff(edges), (edges[1:] + edges[:-1]) / 2
    middles, widths = middles[widths > 0], widths[widths > 0]
    return _loss(first(middles), second(middles), widths, rate)


def line_loss(
    first: LineScore,
    second: LineScore,
    ends: tuple[float, float],
    rate: float,
    cells: int = 200_000,
) -> float:
    """Return the loss of exp(-rate score) on an interval, by the midpoint rule."""
    edges = np.linspace(*ends, cells + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    return _loss(first(middles), second(middles), np.diff(edges), rate)


def diamond(cells: int) -> Matrix:
    """Return middles of equal cells of the unit l1 ball in the plane."""
    side = (np.arange(cells) + 0.5) / cells * 2 - 1
    s, t = np.meshgrid(side, side)
    return np.stack([(s + t) / 2, (s - t) / 2], axis=-1).reshape(-1, 2)


def plane_loss(first: Vector, second: Vector, rate: float) -> float:
    """Return the loss for scores at equal cells."""
    return _loss(first, second, np.ones(len(first)), rate)


def _loss(first: Vector, second: Vector, widths: Vector, rate: float) -> float:
    logs = [-rate * score for score in (first, second)]
    p, q = (log - _log_mass(log, widths) for log in logs)
    return float(np.abs(p - q).max())


def _log_mass(log_density: Vector, widths: Vector) -> float:
    top = log_density.max()
    return float(top + np.log((widths * np.exp(log_density - top)).sum()))


def mass(score: LineScore, rate: float, reach: float) -> float:
    """Return the integral of exp(-rate score) over [-reach, reach], on a grid in logarithms."""
    edges = np.concatenate([[0.0], np.geomspace(1e-6, reach, 200_001)])
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    both = np.exp(-rate * score(middles)) + np.exp(-rate * score(-middles))
    return float((widths * both).sum())
