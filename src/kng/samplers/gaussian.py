"""Draws from a Gaussian cut to the l1 ball: least squares by the exponential mechanism.

    density proportional to exp( -(rate / 2 Delta) (theta - theta_hat)' A (theta - theta_hat) )

Given the weak coordinates, which are proposed uniformly, the strong ones are Gaussian; what the
weak ones cost beyond that is a quadratic form that is never negative, and is the acceptance.
Where the ball leaves the estimate out, its nearest corner is the better place to start from.

Paper    Proposition 2.2 in the linear regression of section 4.3, drawn without a chain.
Privacy  docs/proofs/samplers/affine.md: rejection from an envelope, in real arithmetic.
Cost     d^3 once, then d^2 a proposal, in batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import ClassVar

import numpy as np

from kng.core.bits import Bits
from kng.core.errors import IncompatibleParts
from kng.core.plan import Certificate
from kng.core.privacy import Guarantee
from kng.core.regression import AffineField, BallDomain, CoefficientPlan, Matrix, Vector
from kng.samplers.affine import (
    FIRST_BATCH,
    LAST_BATCH,
    REAL_ASSUMPTIONS,
    Indices,
    l1_ball,
    log_l1_volume,
    pivots,
)
from kng.samplers.tilted import Anchor, Tilted, normals


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Rejection with uniform weak and Gaussian strong coordinates."""

    name: ClassVar[str] = "gaussian"

    def certify(self, plan: CoefficientPlan) -> CoefficientPlan:
        """Promise a draw that is exact in real arithmetic."""
        if plan.score != "value" or not isinstance(plan.problem.domain, BallDomain):
            raise IncompatibleParts(
                "The gaussian sampler draws the exponential mechanism on a ball; "
                "use sampler='affine' for KNG."
            )
        return plan.certified(Certificate(self.name, Guarantee.IDEAL, REAL_ASSUMPTIONS))

    def draw(self, plan: CoefficientPlan, field: AffineField, bits: Bits) -> Vector:
        """Return coefficients in standardised units."""
        proposals = best(plan, field)
        size = FIRST_BATCH
        while True:
            theta, log_accept = proposals.batch(bits, size)
            accepted = np.flatnonzero(np.log(bits.uniforms(size)) < log_accept)
            if len(accepted):
                return np.asarray(theta[accepted[0]])
            size = min(2 * size, LAST_BATCH)


def best(plan: CoefficientPlan, field: AffineField) -> GaussianProposals | Tilted:
    """Return the proposals with the smallest envelope, a ball's corner among them."""
    split = GaussianProposals.best(plan, field)
    found: list[GaussianProposals | Tilted] = [split]
    anchor = Anchor.beside(split.precision, split.vector, split.radius)
    if anchor is not None:
        found += anchor.proposals()
    return min(found, key=lambda proposals: proposals.log_envelope)


@dataclass(frozen=True)
class GaussianProposals:
    """One split of the coordinates; ``precision`` and ``vector`` are those of the exponent.

    Completing the square over the strong coordinates leaves -w'Cw/2 + w'h for the weak ones, with
    C the Schur complement and h = b_W - A_WS A_SS^-1 b_S. An upper bound on it over the ball is
    ``peak``, so that the acceptance stays below one.
    """

    radius: float
    precision: Matrix
    vector: Vector
    strong: Indices
    weak: Indices
    schur: Matrix
    pull: Vector
    peak: float
    log_envelope: float

    @classmethod
    def best(cls, plan: CoefficientPlan, field: AffineField) -> GaussianProposals:
        """Return the split with the smallest envelope."""
        domain = plan.problem.domain
        assert isinstance(domain, BallDomain)
        factor = plan.rate / plan.scale.bound
        precision, vector = factor * field.matrix, factor * field.vector
        order, usable = pivots(precision)
        splits = [
            cls._split(float(domain.radius), precision, vector, order[:k])
            for k in range(usable + 1)
        ]
        return min(splits, key=lambda split: split.log_envelope)

    @classmethod
    def _split(
        cls, radius: float, precision: Matrix, vector: Vector, chosen: list[int]
    ) -> GaussianProposals:
        d, k = len(vector), len(chosen)
        s = np.array(sorted(chosen), dtype=np.int64)
        w = np.array(sorted(set(range(d)) - set(chosen)), dtype=np.int64)
        square = precision[np.ix_(s, s)]
        ratio = np.linalg.solve(square, precision[np.ix_(s, w)]) if k else np.zeros((0, d))
        schur = precision[np.ix_(w, w)] - precision[np.ix_(w, s)] @ ratio
        pull = vector[w] - ratio.T @ vector[s]
        peak = radius * float(np.abs(pull).max(initial=0.0))
        if len(w) and np.linalg.eigvalsh(schur)[0] > 1e-9 * np.trace(precision):
            peak = min(peak, float(pull @ np.linalg.solve(schur, pull)) / 2)
        gain = float(vector[s] @ np.linalg.solve(square, vector[s])) / 2 if k else 0.0
        log_mass = log_l1_volume(d - k) + (d - k) * log(radius) + k / 2 * log(2 * pi)
        log_mass += gain + peak - float(np.linalg.slogdet(square)[1]) / 2
        return cls(radius, precision, vector, s, w, schur, pull, peak, log_mass)

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        s, w = self.strong, self.weak
        theta = np.zeros((size, len(self.vector)))
        theta[:, w] = self.radius * l1_ball(bits, size, len(w))
        if len(s):
            square = self.precision[np.ix_(s, s)]
            middle = np.linalg.solve(
                square, self.vector[s][:, None] - self.precision[np.ix_(s, w)] @ theta[:, w].T
            )
            spread = np.linalg.solve(np.linalg.cholesky(square).T, normals(bits, size, len(s)).T)
            theta[:, s] = (middle + spread).T
        weak = theta[:, w]
        log_accept = weak @ self.pull - ((weak @ self.schur) * weak).sum(axis=1) / 2 - self.peak
        inside = np.abs(theta).sum(axis=1) < self.radius
        return theta, np.where(inside, log_accept, -np.inf)
