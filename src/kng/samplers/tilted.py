"""Gaussian draws beside an l1 ball that leaves their middle out.

At the nearest point m of the ball, with gradient -nu zeta, |zeta_j| <= 1, and delta = theta - m,

    exponent = least + nu w0 + sum over E of rate_j |theta_j| + delta'P delta / 2

where E is some of the coordinates that are 0 at m, and w0 = B - zeta'theta over the others - sum
over E of |theta_j| is positive inside the ball. So w0 and theta_E are drawn as exponentials, the
rest of delta is Gaussian given them, and what the quadratic form costs beyond its least, given w0
and theta_E, is the acceptance.

Paper    None: its chain crosses the ball's edge by being slow.
Privacy  docs/proofs/samplers/affine.md: a rejection envelope, whatever the data.
Cost     d proposals to choose from, d^3 each; then d^2 a draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.regression import Matrix, Vector
from kng.samplers.corner import Edges
from kng.samplers.perturbed import on_the_sphere

_ZERO = 1e-9


@dataclass(frozen=True)
class Anchor:
    """The nearest point of the ball, and the slope there."""

    precision: Matrix
    radius: float
    point: Vector
    least: float
    inward: float  # nu
    zeta: Vector

    @classmethod
    def beside(cls, precision: Matrix, vector: Vector, radius: float) -> Anchor | None:
        """Minimise theta'P theta / 2 - v'theta over the ball; None if the minimum is inside."""
        d = len(vector)
        # A touch of ridge, and a slight preference among columns that are alike.
        ridge = 1e-12 * float(np.trace(precision)) + np.finfo(float).tiny
        nudged = precision + ridge * np.eye(d), vector * (1 - _ZERO * np.arange(d))
        if float(np.abs(np.linalg.solve(*nudged)).sum()) <= radius:
            return None
        nearest = on_the_sphere(*nudged, radius)
        support = np.flatnonzero(np.abs(nearest) > _ZERO * radius)
        sigma, m = np.sign(nearest[support]), len(support)
        system = np.zeros((m + 1, m + 1))
        system[:m, :m] = nudged[0][np.ix_(support, support)]
        system[:m, m] = system[m, :m] = sigma
        solved = np.linalg.solve(system, np.r_[vector[support], radius])
        inward, point = float(solved[m]), np.zeros(d)
        point[support] = solved[:m]
        if inward <= 0:
            return None
        zeta = np.clip((vector - precision @ point) / inward, -1.0, 1.0)
        zeta[support] = sigma
        least = float(point @ (precision @ point) / 2 - vector @ point)
        return cls(precision, radius, point, least, inward, zeta)

    def proposals(self) -> list[Tilted]:
        """Return a proposal for each number of edges, the steepest edges first."""
        idle = np.flatnonzero(self.point == 0.0)
        idle = idle[np.argsort(np.abs(self.zeta[idle]))]
        tilted = [Tilted.along(self, idle[:count]) for count in range(len(idle) + 1)]
        return [proposals for proposals in tilted if proposals is not None]


@dataclass(frozen=True)
class Tilted:
    """Proposals with one choice of edges."""

    anchor: Anchor
    edge: NDArray[np.int64]
    edges: Edges
    lift: Vector  # delta for each unit of w0 and of |theta_E|
    basis: Matrix  # directions in which w0 and theta_E stay
    log_envelope: float

    @classmethod
    def along(cls, anchor: Anchor, chosen: NDArray[np.int64]) -> Tilted | None:
        """Return the proposals with these edges, or None if the rest is not held by the data."""
        d, zeta, precision = len(anchor.zeta), anchor.zeta, anchor.precision
        edge = np.sort(chosen)
        rest = np.setdiff1d(np.arange(d), edge)
        edges = Edges.of(anchor.radius, anchor.inward, zeta[edge])
        normal = zeta[rest]
        length = float(normal @ normal)
        lift, basis = np.zeros(d), np.zeros((d, len(rest) - 1))
        lift[rest] = -normal / length
        basis[rest] = np.linalg.svd(normal[None, :])[2][1:].T
        log_envelope = edges.log_mass - anchor.least - log(length) / 2
        if len(rest) > 1:
            form = basis.T @ precision @ basis
            if np.linalg.eigvalsh(form)[0] <= _ZERO * float(np.trace(precision)) / d:
                return None
            log_envelope += (len(rest) - 1) / 2 * log(2 * pi)
            log_envelope -= float(np.linalg.slogdet(form)[1]) / 2
        return cls(anchor, edge, edges, lift, basis, float(log_envelope))

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        w0, along, _ = self.edges.draw(bits, size)
        delta = (w0 + np.abs(along).sum(axis=1))[:, None] * self.lift
        delta[:, self.edge] = along
        pushed = delta @ self.anchor.precision
        excess = (pushed * delta).sum(axis=1)
        if self.basis.shape[1]:
            form = self.basis.T @ self.anchor.precision @ self.basis
            pull = (pushed @ self.basis).T
            middle = np.linalg.solve(form, pull)
            excess -= (pull * middle).sum(axis=0)
            normal = normals(bits, size, len(form)).T
            spread = np.linalg.solve(np.linalg.cholesky(form).T, normal)
            delta += (spread - middle).T @ self.basis.T
        theta = self.anchor.point + delta
        inside = np.abs(theta).sum(axis=1) < self.anchor.radius
        return theta, np.where(inside, -excess / 2, -np.inf)


def normals(bits: Bits, rows: int, columns: int) -> Matrix:
    """Return independent standard normal variables, by Box and Muller."""
    pairs = (columns + 1) // 2
    angle = 2 * np.pi * bits.uniforms(rows, pairs)
    radius = np.sqrt(-2 * np.log(bits.uniforms(rows, pairs)))
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return np.asarray(both[:, :columns])
