"""Draws from densities whose gradient is affine: least squares by KNG, in any dimension.

Two charts make one problem of two. In both, with t = ||phi||_1 < radius,

    u(phi) = A phi + t * tilt - offset

    ball         phi = theta, radius B, tilt = 0, offset = b:              u is the gradient
    whole space  phi = theta / (Y + ||theta||_1), radius 1, tilt = offset = b / Y:
                 u is the gradient divided by Y + ||theta||_1, to which the sensitivity is
                 proportional; the base measure (1 + ||theta||_1)^-(d+1+k) is
                 (1 - ||phi||_1)^k in phi at Y = 1

so the noise has one scale, whatever theta is. Proposals split the coordinates in two:

    weak     phi_W from the base measure: coordinates that the data say little about
    strong   u_S from K-norm noise, then phi_S = the solution of u_S(phi) = u_S; its size has a
             law that knows how long theta must be (`kng.samplers.radial`)

and the split is the one with the smallest envelope among the d + 1 that pivoting offers; all weak
is the uniform proposal, all strong is the paper's push-forward. On a ball that leaves the estimate
out a third proposal joins them, from the ball's nearest corner (`kng.samplers.corner`). Collinear
columns become weak, so they cost a constant each instead of stalling the draw. Measured figures,
slow cases included: docs/sampling-regression.md.

Paper    Section 4.2, which uses a Markov chain; the remark after it for the whole space.
Privacy  docs/proofs/samplers/affine.md: the law is the stated one whatever the data, in real
         arithmetic, hence `ideal`; the number of attempts has no public bound, hence
         `unbounded-time`.
Cost     d^3 once, then d^2 a proposal, in batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import lgamma, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.errors import IncompatibleParts
from kng.core.plan import Certificate
from kng.core.privacy import Assumption, Guarantee
from kng.core.protocols import BoxNorm
from kng.core.regression import (
    AffineField,
    BallDomain,
    CoefficientPlan,
    Matrix,
    RealNorm,
    Scale,
    TailedDomain,
    Vector,
)
from kng.samplers.corner import Corner, Nearest
from kng.samplers.radial import Radial, best_radial, lengths_of

FIRST_BATCH = 2**6
LAST_BATCH = 2**15
# Y is chosen so that the solution of u_S(phi) = u_S is unique: ||A_SS^-1 b_S||_1 <= 0.8 Y.
_ROOM = 1.25

Indices = NDArray[np.int64]

REAL_ASSUMPTIONS = (
    Assumption.RANDOM_BITS,
    Assumption.UNSEEN_CLOCK,
    Assumption.REAL_ARITHMETIC,
    Assumption.UNBOUNDED_TIME,
)


@dataclass(frozen=True, slots=True)
class Affine:
    """Rejection with the two-part proposal above."""

    name: ClassVar[str] = "affine"

    def certify(self, plan: CoefficientPlan) -> CoefficientPlan:
        """Promise a draw that is exact in real arithmetic."""
        if plan.score != "gradient":
            raise IncompatibleParts("The affine sampler draws KNG; use sampler='gaussian'.")
        if not isinstance(plan.problem.norm, RealNorm):
            raise IncompatibleParts(
                f"The affine sampler cannot draw from the norm {type(plan.problem.norm).__name__}."
            )
        if isinstance(plan.problem.domain, BallDomain) and not isinstance(
            plan.problem.norm, BoxNorm
        ):
            raise IncompatibleParts(
                "On a ball of coefficients KNG is drawn in the sup norm, which is the tightest "
                "there too. Use norm='auto', or coef_bound=None, or sampler='hit-and-run'."
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


def best(plan: CoefficientPlan, field: AffineField) -> Proposals | Corner:
    """Return the proposals with the smallest envelope, a ball's corner among them."""
    domain = plan.problem.domain
    if not isinstance(domain, BallDomain):
        return Proposals.best(plan, field, 0.0)
    nearest = Nearest.of(field, float(domain.radius))
    floor = plan.rate / plan.scale.bound * nearest.least
    split, corner = Proposals.best(plan, field, floor), Corner.at(plan, field, nearest)
    return split if corner is None or corner.log_envelope > split.log_envelope else corner


@dataclass(frozen=True)
class Frame:
    """What all proposals share: the plan's parts, and the gradient with its ridge."""

    norm: RealNorm
    scale: Scale
    rate: float
    ball: float | None
    tail: int  # k of the base measure (1 + ||theta||_1)^-(d + 1 + k)
    matrix: Matrix
    vector: Vector

    @classmethod
    def of(cls, plan: CoefficientPlan, field: AffineField) -> Frame:
        """Take a plan and the data apart, once."""
        norm, domain = plan.problem.norm, plan.problem.domain
        assert isinstance(norm, RealNorm)
        ball = float(domain.radius) if isinstance(domain, BallDomain) else None
        tail = domain.freedom - 1 if isinstance(domain, TailedDomain) else 0
        matrix = field.matrix + float(plan.ridge) * np.eye(len(field.vector))
        return cls(norm, plan.scale, plan.rate, ball, tail, matrix, field.vector)

    @property
    def noise(self) -> float:
        """Return the scale of the noise in u."""
        return self.scale.bound / self.rate

    def exponent(self, theta: Matrix) -> Vector:
        """Return rate * ||gradient / Delta(theta)|| for rows of theta."""
        gradient = theta @ self.matrix - self.vector
        return self.rate * self.norm.lengths(gradient / self.scale.widths(theta))


@dataclass(frozen=True)
class Proposals:
    """One way to split the coordinates, its envelope, and draws from it.

    ``shift`` is Y, or None on a ball. Quantities with S (strong) and W (weak) index coordinates.
    """

    frame: Frame
    strong: Indices
    weak: Indices
    shift: float | None
    center: Vector  # A_SS^-1 b_S
    radial: Radial  # of the strong coordinates
    weak_tail: int  # powers of the tail that the weak coordinates answer for
    floor: float  # the exponent is nowhere less, if all coordinates are weak
    log_envelope: float

    @classmethod
    def best(cls, plan: CoefficientPlan, field: AffineField, floor: float) -> Proposals:
        """Return the split with the smallest envelope."""
        frame = Frame.of(plan, field)
        order, usable = pivots(frame.matrix)
        uniform = cls._split(frame, [])
        uniform = replace(uniform, floor=floor, log_envelope=uniform.log_envelope - floor)
        splits = [cls._split(frame, order[: k + 1]) for k in range(usable)]
        return min([uniform, *splits], key=lambda split: split.log_envelope)

    @classmethod
    def _split(cls, frame: Frame, chosen: list[int]) -> Proposals:
        d, matrix, vector, ball = len(frame.vector), frame.matrix, frame.vector, frame.ball
        strong = np.array(sorted(chosen), dtype=np.int64)
        weak = np.array(sorted(set(range(d)) - set(chosen)), dtype=np.int64)
        square = matrix[np.ix_(strong, strong)]
        center = np.asarray(np.linalg.solve(square, vector[strong]), dtype=np.float64)
        shift = None if ball else max(1.0, _ROOM * float(np.abs(center).sum()))
        radial, weak_tail, log_mass = cls._divided(frame, strong, center, shift or 1.0)
        log_mass += log_l1_volume(len(weak)) + len(weak) * log(ball or 1.0)
        if chosen:
            k = len(chosen)
            log_mass += frame.norm.log_volume(k) + log(k) + k * log(frame.noise)
            log_mass -= np.linalg.slogdet(square)[1]
            if shift is not None:
                # Y divides the mass: dtheta is (Y + ||theta||_1)^(d+1) / Y dphi.
                log_mass -= log(1 - np.abs(center).sum() / shift) + log(shift)
        return cls(frame, strong, weak, shift, center, radial, weak_tail, 0.0, float(log_mass))

    @classmethod
    def _divided(
        cls, frame: Frame, strong: Indices, center: Vector, shift: float
    ) -> tuple[Radial, int, float]:
        """Divide the tail's powers among strong and weak so that the envelope is smallest.

        1 / (1 + ||theta||_1) <= 1 - ||phi_W||_1, so phi_W may be drawn with some of the powers.
        """
        d, m, k = len(frame.vector), len(strong), frame.tail
        if not m:
            return Radial(0, d + 1, shift, 0, 0.0, 0.0), k, log_tail_mass(d, k)
        tails = np.arange(k if m == d else 0, k + 1)
        known = lengths_of(frame.matrix, frame.vector, strong, center, frame.noise)
        offers = np.column_stack([np.repeat(tails, len(known)), np.tile(known, (len(tails), 1))])
        prices = np.array([log_tail_mass(d - m, k - int(tail)) for tail in tails])
        radial, log_mass = best_radial(m, d + 1, shift, offers, np.repeat(prices, len(known)))
        return radial, k - radial.tail, log_mass

    @cached_property
    def _inverse(self) -> Matrix:
        return np.asarray(np.linalg.inv(self.frame.matrix[np.ix_(self.strong, self.strong)]))

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        d, k, radius = len(self.frame.vector), len(self.strong), self.frame.ball or 1.0
        phi = np.zeros((size, d))
        phi[:, self.weak] = radius * l1_ball(bits, size, len(self.weak), self.weak_tail)
        weak = np.abs(phi).sum(axis=1)
        log_accept, x, log_bound = np.zeros(size), np.zeros(size), np.zeros(size)
        if k:
            x, log_bound = self.radial.draw(bits, size)
            phi[:, self.strong], log_jacobian = self._solve(bits, phi, x)
            log_accept -= log_jacobian
        total = np.abs(phi).sum(axis=1)
        inside = total < radius
        theta = phi
        log_weight = np.zeros(size)
        if self.shift is not None:
            theta = self.shift * phi / np.where(inside, 1 - total, 1.0)[:, None]
            length = np.abs(theta).sum(axis=1)
            log_weight = (d + 1) * np.log((self.shift + length) / (1 + length))
            log_weight -= self.frame.tail * np.log1p(length) + self.weak_tail * np.log1p(-weak)
        log_accept += self.floor + log_weight - self.frame.exponent(theta) - (log_bound - x)
        return theta, np.where(inside, log_accept, -np.inf)

    def _solve(self, bits: Bits, phi: Matrix, x: Vector) -> tuple[Matrix, Vector]:
        """Draw u_S and return phi_S, with the log of the Jacobian's share above its least.

        phi_S = p - s q, where s = ||phi_S||_1 solves  s = ||p - s q||_1.  The difference of the two
        sides is concave in s and rises everywhere, so Newton's steps from 0 climb to the solution
        and reach it after at most one per change of sign.
        """
        size, k = len(x), len(self.strong)
        noise = self.frame.norm.directions(bits, size, k) * (x * self.frame.noise)[:, None]
        cross = phi[:, self.weak] @ self.frame.matrix[np.ix_(self.weak, self.strong)]
        target = self.frame.vector[self.strong] / (self.shift or 1.0)
        if self.shift is None:
            return (noise - cross + target) @ self._inverse, np.zeros(size)
        room = 1 - np.abs(phi[:, self.weak]).sum(axis=1, keepdims=True)
        p = (noise - cross + room * target) @ self._inverse
        q = self.center / self.shift
        s = np.zeros((size, 1))
        for _ in range(k + 2):
            strong = p - s * q
            slope = 1 + np.sign(strong) @ q[:, None]
            s = s - (s - np.abs(strong).sum(axis=1, keepdims=True)) / slope
        strong = p - s * q
        slope = 1 + np.sign(strong) @ q
        return strong, np.log(slope) - log(1 - float(np.abs(q).sum()))


def pivots(matrix: Matrix) -> tuple[list[int], int]:
    """Order coordinates by what they add to those before, and count those that add anything."""
    rest = matrix.copy()
    floor = 1e-9 * float(np.max(np.diag(matrix), initial=0.0))
    order: list[int] = []
    usable = 0
    for _ in range(len(matrix)):
        left = [j for j in range(len(matrix)) if j not in order]
        j = max(left, key=lambda i: float(rest[i, i]))
        order.append(j)
        if rest[j, j] <= floor or usable < len(order) - 1:
            continue
        usable += 1
        rest = rest - np.outer(rest[:, j], rest[j]) / rest[j, j]
    return order, usable


def log_l1_volume(dim: int) -> float:
    return dim * log(2) - lgamma(dim + 1)


def log_tail_mass(dim: int, powers: int) -> float:
    """Return the log of the mean of (1 - ||phi||_1)^powers over the unit l1 ball."""
    return lgamma(powers + 1) + lgamma(dim + 1) - lgamma(powers + dim + 1)


def l1_ball(bits: Bits, size: int, dim: int, powers: int = 0) -> Matrix:
    """Return points of the unit l1 ball with density proportional to (1 - ||phi||_1)^powers.

    Spacings of exponentials, with signs; powers + 1 of them lie between a point and the edge.
    """
    if dim == 0:
        return np.zeros((size, 0))
    signed = 2 * bits.uniforms(size, dim) - 1
    sizes = -np.log(np.abs(signed))
    slack = -np.log(bits.uniforms(size, powers + 1)).sum(axis=1, keepdims=True)
    return np.asarray(np.sign(signed) * sizes / (sizes.sum(axis=1, keepdims=True) + slack))


def acceptance(plan: CoefficientPlan, field: AffineField, bits: Bits, size: int) -> float:
    """Return the mean acceptance probability; for tests and documentation, never for a release."""
    _, log_accept = best(plan, field).batch(bits, size)
    return float(np.exp(log_accept).mean())


__all__ = ["REAL_ASSUMPTIONS", "Affine", "Proposals", "acceptance"]
