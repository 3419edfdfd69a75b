"""Draws beside an l1 ball: where the estimate lies outside, and the ball's edge cuts the density.

The exponent c ||A theta - b||_inf is then least at a corner of an epigraph, found by a linear
program: theta has m coordinates other than 0 (S, signs sigma), ||theta||_1 = B, and m rows of the
gradient share the largest size t (signs s). With the program's multipliers, w on those rows and
nu on the ball, duality writes the exponent as its least value and d distances from that corner,

    c ||u||_inf >= least + nu w0 + sum over Z of rate_j |theta_j| + sum_i w_i v_i

    w0  = B - sigma'theta_S - sum over Z of |theta_j|       how far inside the ball, at least
    Z   coordinates that are 0 at the corner, rate_j = nu (1 -+ zeta_j) on either side of 0
    v_i = max_k s_k u_k - s_i u_i                           how far row i falls behind; one is 0

which are linear in theta and independently exponential, so they are drawn, theta is solved for,
and what the inequality lost is the acceptance: 1 in the limit of much data, where both other
proposals never succeed. Distances are cut at what the ball allows, which keeps the law proper when
a rate is 0 (columns that are alike).

Paper    None: its chain crosses the ball's edge by being slow.
Privacy  docs/proofs/samplers/affine.md: a rejection envelope, whatever the data.
Cost     One linear program with 2 d + 1 variables, then d^2 a proposal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.regression import AffineField, BallDomain, CoefficientPlan, Matrix, Vector

# Multipliers and coordinates below this share of their scale are taken for 0.
_ZERO = 1e-9


@dataclass(frozen=True)
class Nearest:
    """Where ||A theta - b||_inf is least on the ball, its value, and the rows that hold it."""

    theta: Vector
    least: float
    multipliers: Vector  # how much each row holds, whatever its sign

    @classmethod
    def of(cls, field: AffineField, radius: float) -> Nearest:
        """Solve the linear program; theta = p - q with p, q >= 0."""
        from scipy.optimize import linprog  # half a second to import, and only a ball needs it

        d = len(field.vector)
        scale = float(np.abs(field.matrix).max()) or 1.0
        a, b, one = field.matrix / scale, field.vector / scale, np.ones((d, 1))
        rows = np.block([[a, -a, -one], [-a, a, -one], [np.ones((1, 2 * d)), np.zeros((1, 1))]])
        found = linprog(
            np.r_[np.zeros(2 * d), 1.0],
            A_ub=rows,
            b_ub=np.r_[b, -b, radius],
            bounds=(0, None),
            method="highs-ds",
        )
        if not found.success or found.x[-1] <= _ZERO * float(np.abs(b).max(initial=0.0)):
            return cls(np.zeros(d), 0.0, np.zeros(d))
        held = np.abs(found.ineqlin.marginals[: 2 * d])
        # The solver's tolerance is 1e-7 of the scale; a floor a little lower is a floor too.
        least = max(0.0, scale * (float(found.x[-1]) - 1e-6 * float(np.abs(b).max())))
        return cls(found.x[:d] - found.x[d : 2 * d], least, held[:d] + held[d:])


@dataclass(frozen=True)
class Edges:
    """Distances from a corner of the ball: w0 inwards, and theta_j along each edge of Z."""

    radius: float
    inward: float  # nu
    up: Vector  # nu (1 - zeta_j)
    down: Vector  # nu (1 + zeta_j)

    @classmethod
    def of(cls, radius: float, inward: float, zeta: Vector) -> Edges:
        """Return the edges with their rates; a rate that rounding made negative is 0."""
        up, down = inward * np.maximum(1 - zeta, 0.0), inward * np.maximum(1 + zeta, 0.0)
        return cls(radius, inward, up, down)

    @property
    def _sides(self) -> Matrix:
        return np.stack([log_mass(self.up, self.radius), log_mass(self.down, self.radius)])

    @property
    def log_mass(self) -> float:
        """Return the log of the integral over all distances."""
        inwards = log_mass(np.array([self.inward]), 2 * self.radius)
        return float(inwards[0] + np.logaddexp(*self._sides).sum())

    def draw(self, bits: Bits, size: int) -> tuple[Vector, Matrix, Vector]:
        """Return w0, theta on the edges, and their share of the exponent."""
        w0 = distances(bits.uniforms(size, 1), np.array([self.inward]), 2 * self.radius)[:, 0]
        up, down = self._sides
        odds = np.exp(up - np.logaddexp(up, down))
        rising = bits.uniforms(size, len(up)) < odds
        rate = np.where(rising, self.up, self.down)
        along = distances(bits.uniforms(size, len(up)), rate, self.radius)
        return w0, np.where(rising, along, -along), self.inward * w0 + (rate * along).sum(axis=1)


@dataclass(frozen=True)
class Corner:
    """The corner of the sup norm's epigraph over a ball, its envelope, and draws from it."""

    matrix: Matrix
    vector: Vector
    rate: float  # c
    least: float  # c t
    rows: NDArray[np.int64]
    signs: Vector
    weights: Vector
    support: NDArray[np.int64]  # S
    edge: NDArray[np.int64]  # Z
    edges: Edges
    reach: float
    solver: Matrix
    offset: Vector
    slopes: Matrix
    log_envelope: float

    @classmethod
    def at(cls, plan: CoefficientPlan, field: AffineField, nearest: Nearest) -> Corner | None:
        """Return the corner, or None where the exponent reaches 0 inside the ball."""
        domain = plan.problem.domain
        assert isinstance(domain, BallDomain)
        radius, rate = float(domain.radius), plan.rate / plan.scale.bound
        matrix, vector, theta = field.matrix, field.vector, nearest.theta
        if not nearest.least:
            return None
        gradient = matrix @ theta - vector
        support = np.flatnonzero(np.abs(theta) > _ZERO * radius)
        edge = np.setdiff1d(np.arange(len(vector)), support)
        # Rows that carry weight first; a degenerate corner is filled up with the largest others.
        m = len(support)
        largest = float(np.abs(gradient).max())
        rows = np.argsort(-nearest.multipliers - _ZERO * np.abs(gradient) / largest)[:m]
        signs = np.sign(gradient[rows])
        sigma = np.sign(theta[support])
        chosen = signs[:, None] * matrix[rows]
        slopes = chosen[1:] - chosen[0]
        offset = signs[1:] * vector[rows[1:]] - signs[0] * vector[rows[0]]
        square = np.vstack([sigma, slopes[:, support]])
        system = np.zeros((m + 1, m + 1))
        system[:m, :m], system[:m, m], system[m, :m] = chosen[:, support].T, sigma, 1.0
        if not m or not (_regular(square) and _regular(system)):
            return None
        solver = np.asarray(np.linalg.inv(square))
        corner = np.zeros(len(vector))
        corner[support] = solver @ np.r_[radius, offset]
        solved = np.linalg.solve(system, np.r_[np.zeros(m), 1.0])
        weights, inward = rate * np.maximum(solved[:m], 0.0), rate * float(solved[m])
        if inward <= 0 or not np.all(np.sign(corner[support]) == sigma):
            return None
        edges = Edges.of(radius, inward, -(rate / inward) * (solved[:m] @ chosen)[edge])
        reach = 2 * float(np.max(np.abs(vector) + radius * np.abs(matrix).max(axis=1)))
        least = rate * float(np.max(chosen @ corner - signs * vector[rows]))
        masses = log_mass(weights, reach)
        log_envelope = edges.log_mass + float(np.logaddexp.reduce(masses.sum() - masses)) - least
        log_envelope -= float(np.linalg.slogdet(square)[1])
        return cls(
            matrix,
            vector,
            rate,
            least,
            rows,
            signs,
            weights,
            support,
            edge,
            edges,
            reach,
            solver,
            offset,
            slopes,
            log_envelope,
        )

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        w0, along, exponent = self.edges.draw(bits, size)
        theta = np.zeros((size, len(self.vector)))
        theta[:, self.edge] = along
        behind = distances(bits.uniforms(size, len(self.rows)), self.weights, self.reach)
        masses = log_mass(self.weights, self.reach)
        share = np.cumsum(np.exp(-masses - np.logaddexp.reduce(-masses)))[:-1]
        leader = np.searchsorted(share, bits.uniforms(size), side="right")
        behind[np.arange(size), leader] = 0.0
        exponent = self.least + exponent + behind @ self.weights
        inner = self.edges.radius - w0 - np.abs(along).sum(axis=1)
        rows = behind[:, :1] - behind[:, 1:] + self.offset - along @ self.slopes[:, self.edge].T
        theta[:, self.support] = np.column_stack([inner, rows]) @ self.solver.T
        inside = np.abs(theta).sum(axis=1) < self.edges.radius
        score = self.rate * np.abs(theta @ self.matrix - self.vector).max(axis=1)
        return theta, np.where(inside, exponent - score, -np.inf)


def _regular(matrix: Matrix) -> bool:
    """Tell whether a matrix can be inverted, whatever units its rows and columns have."""
    across = np.abs(matrix).max(axis=1, keepdims=True)
    scaled = matrix / np.where(across > 0, across, 1.0)
    down = np.abs(scaled).max(axis=0)
    return float(np.linalg.cond(scaled / np.where(down > 0, down, 1.0))) < 1 / _ZERO


def log_mass(rate: Vector, length: float) -> Vector:
    """Return the log of the integral of exp(-rate x) over 0 .. length."""
    x = np.maximum(rate * length, 1e-12)
    return np.asarray(np.log(length) + np.log(-np.expm1(-x) / x))


def distances(uniform: Matrix, rate: Matrix, length: float) -> Matrix:
    """Return x in 0 .. length with density proportional to exp(-rate x), by inversion."""
    x = np.maximum(rate * length, 1e-12)
    return np.asarray(-np.log1p(uniform * np.expm1(-x)) * (length / x))
