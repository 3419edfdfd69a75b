"""Coefficients in an l1 ball: themselves, or the whole space drawn into the unit ball.

phi = theta / (1 + ||theta||_1),     d theta = (1 + ||theta||_1)^(d + 1) d phi
"""

from __future__ import annotations

import numpy as np

from kng.core.regression import AffineField, BallDomain, CoefficientPlan, Vector
from kng.samplers.chains.target import Target


class Chart:
    """A ball in which a chain walks; its base measure is uniform."""

    def __init__(self, plan: CoefficientPlan, field: AffineField) -> None:
        domain = plan.problem.domain
        self.flat = isinstance(domain, BallDomain)
        self.radius = float(domain.radius) if isinstance(domain, BallDomain) else 1.0
        self._target = Target(plan, field)

    def theta(self, phi: Vector) -> Vector:
        """Return the coefficients of a point of the chart."""
        return phi if self.flat else phi / (1 - np.abs(phi).sum())

    def exponent(self, phi: Vector) -> float:
        """Return minus the log density in the chart."""
        if np.abs(phi).sum() >= self.radius:
            return np.inf
        theta = self.theta(phi)
        log_density = self._target.log_density(theta)
        if self.flat:
            return -log_density
        return -log_density - (len(theta) + 1) * float(np.log1p(np.abs(theta).sum()))

    def chord(self, phi: Vector, direction: Vector) -> tuple[float, float]:
        """Return how far it is to the ball's boundary, both ways."""
        return -self._reach(phi, -direction), self._reach(phi, direction)

    def _reach(self, phi: Vector, direction: Vector) -> float:
        """Return the t at which ||phi + t direction||_1, convex in t, passes the radius."""
        with np.errstate(divide="ignore", invalid="ignore"):
            turns = -phi / direction
        turns = np.sort(turns[turns > 0])
        t, size = 0.0, float(np.abs(phi).sum())
        for turn in [*turns.tolist(), np.inf]:
            middle = t + 1.0 if np.isinf(turn) else (t + turn) / 2
            slope = float(direction @ np.sign(phi + middle * direction))
            if slope > 0 and t + (self.radius - size) / slope <= turn:
                return t + (self.radius - size) / slope
            if np.isinf(turn):
                break
            size += slope * (turn - t)
            t = turn
        return t
