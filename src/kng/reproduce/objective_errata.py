"""Departures in what is said of objective perturbation, each with a pair of datasets."""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, inf

import numpy as np

from kng.core.quadratic import Matrix, Vector
from kng.reproduce.constants import EPSILON
from kng.reproduce.erratum import Erratum

_HALF = float(EPSILON) / 2


def objective_condition() -> Erratum:
    """Show that strong convexity is neither enough for objective perturbation nor needed."""
    gamma = 1 / expm1(_HALF)
    # x = 0 is the minimiser while |b| <= 1, the jump of the gradient; Delta = 3 on [0, 1].
    atom = -expm1(-_HALF / 3)
    return Erratum(
        "Sections 1, 4.5",
        "objective perturbation requires ℓ to be strongly convex and twice differentiable almost "
        "everywhere",
        "neither enough nor needed: a gradient with a Lipschitz constant is; the ridge makes the "
        "sum strongly convex",
        "strongly convex with a kink: ℓ = (θ-x)²/2 + |θ-x|, n = 1, x = 0 replaced by 1: θ~ = 0 has "
        f"probability {atom:.3f} before and 0 after (printed); not strongly convex: Huber's loss "
        "with threshold 1, n = 3, records 10, 10 and 0, the last replaced by 10, γ = "
        f"{gamma:.3f} (ours)",
        inf,
        "a gradient with a Lipschitz constant, for every record",
        _huber_loss(gamma),
    )


def _huber_loss(gamma: float) -> float:
    """Return the loss of a pair under Huber's loss: density of b, times curvature plus ridge."""
    theta = np.linspace(-12, 22, 340_001)

    def log_density(records: tuple[float, ...]) -> Vector:
        residuals = [theta - y for y in records]
        slope = sum(np.clip(r, -1, 1) for r in residuals) + gamma * theta
        bend = sum((np.abs(r) < 1).astype(float) for r in residuals) + gamma
        return np.asarray(-_HALF / 2 * np.abs(slope) + np.log(bend))  # Delta = 2

    first, second = log_density((10.0, 10.0, 0.0)), log_density((10.0, 10.0, 10.0))
    return float(np.abs(first - second).max())


def objective_domain() -> Erratum:
    """Show what is lost if noise is for ||theta||_1 <= B and the search goes up to 1."""
    bound = 0.5
    return Erratum(
        "Section 4.3, supplement",
        "argmin over ‖θ‖₁ ≤ 1, with noise for ‖θ‖₁ ≤ B",
        "a slip: over B. The same set at B = 1, which is run; part of Θ is never searched for B > "
        "1, and a privacy violation for B < 1, where the gradient changes by more than 4(1+B)",
        f"d = 2, B = {bound:g}, θ = (0, 1) (printed) and (0, B) (ours): (x₁, x₂, y) = (1, 1, -1) "
        "replaced by (-1, 1, -1), beside a million × (1, -1, y) whose residual at θ is 0 and some "
        "thousand records with small x that bring the gradient there to 0",
        _edge_loss(1.0, bound),
        "argmin over ‖θ‖₁ ≤ B",
        _edge_loss(bound, bound),
    )


@dataclass(frozen=True, slots=True)
class _Records:
    """Some records x, y, each so many times."""

    x: Matrix
    y: Vector
    times: Vector

    def slope(self, theta: Vector) -> Vector:
        """Return the gradient of the summed squares."""
        return np.asarray(2 * (self.times * (self.x @ theta - self.y)) @ self.x)

    def bend(self) -> Matrix:
        """Return their Hessian."""
        return np.asarray(2 * (self.times[:, None] * self.x).T @ self.x)


def _edge_loss(edge: float, bound: float) -> float:
    """Return the loss of the pair just inside theta = (0, edge), with noise for the bound."""
    theta, small, many = np.array([0.0, edge * (1 - 1e-9)]), 1e-3, 1e6
    gamma, rate = 4 / expm1(_HALF), _HALF / (4 * (1 + bound))
    pair = [
        _Records(np.array([[side, 1.0]]), np.array([-1.0]), np.array([1.0])) for side in (1.0, -1.0)
    ]
    wanted = -(pair[0].slope(theta) + gamma * theta)
    # each record with x = small along one axis and y = 1 adds -2 small (1 - small theta_j)
    count = np.rint(-wanted / (2 * small * (1 - small * theta)))
    rest = _Records(
        np.array([[1.0, -1.0], [small, 0.0], [0.0, small]]),
        np.array([theta[0] - theta[1], 1.0, 1.0]),
        np.array([many, *count]),
    )

    def log_density(record: _Records) -> float:
        noise = -(rest.slope(theta) + record.slope(theta) + gamma * theta)
        hessian = rest.bend() + record.bend() + gamma * np.eye(2)
        return float(-rate * np.abs(noise).max() + np.linalg.slogdet(hessian)[1])

    return abs(log_density(pair[0]) - log_density(pair[1]))
