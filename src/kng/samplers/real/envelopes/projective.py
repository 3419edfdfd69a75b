"""KNG on the whole space, drawn in the chart where the noise has one scale.

With t = ||phi||_1 < 1,

    phi  = theta / (Y + ||theta||_1)
    u    = A phi + t b / Y - b / Y, the gradient divided by Y + ||theta||_1, to which the
           sensitivity is proportional; the base measure (1 + ||theta||_1)^-(d+1+k) is
           (1 - ||phi||_1)^k in phi at Y = 1

so the noise has one scale, whatever theta is. Proposals split the coordinates in two:

    weak     phi_W from the base measure: coordinates that the data say little about
    strong   u_S from K-norm noise, then phi_S = the solution of u_S(phi) = u_S; its size has a
             law that knows how long theta must be (`envelopes.radial`)

All weak is the base measure, all strong is the paper's push-forward.

docs/proofs/samplers/affine.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.capabilities import AffineField, RealNorm, TailedBase
from kng.core.l1_ball import l1_ball, log_l1_volume, log_tail_mass
from kng.core.plan import DensityPlan
from kng.core.quadratic import Matrix, Vector
from kng.core.solve.pivots import pivots
from kng.samplers.real.envelopes.radial import Radial, best_radial, lengths_of
from kng.samplers.real.space import Scale

# Y is chosen so that the solution of u_S(phi) = u_S is unique: ||A_SS^-1 b_S||_1 <= 0.8 Y.
_ROOM = 1.25

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Frame:
    """What all proposals share: the plan's parts, and the gradient with its ridge."""

    norm: RealNorm
    scale: Scale
    rate: float
    tail: int  # k of the base measure (1 + ||theta||_1)^-(d + 1 + k)
    matrix: Matrix
    vector: Vector

    @classmethod
    def of(cls, plan: DensityPlan, field: AffineField) -> Frame:
        """Take a plan and the data apart, once."""
        norm, base = plan.problem.norm, plan.problem.domain.base
        assert isinstance(norm, RealNorm)
        assert isinstance(base, TailedBase)
        tail = base.l1_freedom - 1
        matrix = field.matrix + float(plan.ridge) * np.eye(len(field.vector))
        return cls(norm, Scale.of(plan), float(plan.rate), tail, matrix, field.vector)

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

    ``shift`` is Y. Quantities with S (strong) and W (weak) index coordinates.
    """

    frame: Frame
    strong: Indices
    weak: Indices
    shift: float
    center: Vector  # A_SS^-1 b_S
    radial: Radial  # of the strong coordinates
    weak_tail: int  # powers of the tail that the weak coordinates answer for
    log_envelope: float

    @classmethod
    def best(cls, frame: Frame) -> Proposals:
        """Return the split with the smallest envelope."""
        order, usable = pivots(frame.matrix)
        splits = [cls.split(frame, order[:k]) for k in range(usable + 1)]
        return min(splits, key=lambda split: split.log_envelope)

    @classmethod
    def split(cls, frame: Frame, chosen: list[int]) -> Proposals:
        """Return the proposals with these coordinates strong."""
        d, matrix, vector = len(frame.vector), frame.matrix, frame.vector
        strong = np.array(sorted(chosen), dtype=np.int64)
        weak = np.setdiff1d(np.arange(d), strong)
        square = matrix[np.ix_(strong, strong)]
        center = np.asarray(np.linalg.solve(square, vector[strong]), dtype=np.float64)
        shift = max(1.0, _ROOM * float(np.abs(center).sum()))
        radial, weak_tail, log_mass = cls._divided(frame, strong, center, shift)
        log_mass += log_l1_volume(len(weak))
        if chosen:
            k = len(chosen)
            log_mass += frame.norm.log_volume(k) + log(k) + k * log(frame.noise)
            log_mass -= float(np.linalg.slogdet(square)[1])
            # Y divides the mass: dtheta is (Y + ||theta||_1)^(d+1) / Y dphi.
            log_mass -= log(1 - float(np.abs(center).sum()) / shift) + log(shift)
        return cls(frame, strong, weak, shift, center, radial, weak_tail, log_mass)

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

    def strong_size(self, theta: Matrix) -> Vector:
        """Return rate * ||gradient on the strong coordinates|| / s."""
        gradient = theta @ self.frame.matrix[:, self.strong] - self.frame.vector[self.strong]
        return np.asarray(self.frame.norm.lengths(gradient) / self.frame.noise)

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        d, k = len(self.frame.vector), len(self.strong)
        phi = np.zeros((size, d))
        phi[:, self.weak] = l1_ball(bits, size, len(self.weak), self.weak_tail)
        weak = np.abs(phi).sum(axis=1)
        log_accept, x, log_bound = np.zeros(size), np.zeros(size), np.zeros(size)
        if k:
            phi[:, self.strong], log_jacobian = self._solve(bits, phi, self.radial.draw(bits, size))
            log_accept -= log_jacobian
        total = np.abs(phi).sum(axis=1)
        inside = total < 1
        theta = self.shift * phi / np.where(inside, 1 - total, 1.0)[:, None]
        length = np.abs(theta).sum(axis=1)
        if k:
            # Of theta itself, so that what rounding has moved is weighed where it is.
            x = self.strong_size(theta) / (self.shift + length)
            log_bound = self.radial.log_bound(x)
        log_accept += (d + 1) * np.log((self.shift + length) / (1 + length))
        log_accept -= self.frame.tail * np.log1p(length) + self.weak_tail * np.log1p(-weak)
        log_accept -= self.frame.exponent(theta) + log_bound - x
        return theta, np.where(inside, log_accept, -np.inf)

    def _solve(self, bits: Bits, phi: Matrix, x: Vector) -> tuple[Matrix, Vector]:
        """Draw u_S and return phi_S, with the log of the Jacobian's share above its least.

        phi_S = p - ||phi_S||_1 q with q = A_SS^-1 b_S / Y.
        """
        size, k = len(x), len(self.strong)
        noise = self.frame.norm.directions(bits, size, k) * (x * self.frame.noise)[:, None]
        cross = phi[:, self.weak] @ self.frame.matrix[np.ix_(self.weak, self.strong)]
        room = 1 - np.abs(phi[:, self.weak]).sum(axis=1, keepdims=True)
        # The estimate by itself: its numbers are large, and the noise would be lost in them.
        q = self.center / self.shift
        square = self.frame.matrix[np.ix_(self.strong, self.strong)]
        p = np.linalg.solve(square, (noise - cross).T).T + room * q
        strong = solved(p, np.broadcast_to(-q, p.shape))
        slope = 1 + np.sign(strong) @ q
        return strong, np.log(slope) - log(1 - float(np.abs(q).sum()))


def solved(p: Matrix, q: Matrix) -> Matrix:
    """Return rows x = p + ||x||_1 q, for ||q||_1 < 1.

    s = ||x||_1 solves  s = ||p + s q||_1.  The difference of the two sides is concave in s and
    rises everywhere, so Newton's steps from 0 climb to the solution and reach it after at most one
    per change of sign.
    """
    s = np.zeros((len(p), 1))
    for _ in range(p.shape[1] + 2):
        x = p + s * q
        slope = 1 - (np.sign(x) * q).sum(axis=1, keepdims=True)
        s = s - (s - np.abs(x).sum(axis=1, keepdims=True)) / slope
    return np.asarray(p + s * q)
