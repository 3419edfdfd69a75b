"""Gaussian draws on an l1 ball that holds the middle: noise where records determine theta.

    q = (theta - theta_hat)' P (theta - theta_hat) / 2

As for KNG (`envelopes.sup_inside`) the coordinates are split into those that records determine and
the others, here with levels R of sqrt(2 q):

    body of level R    ||z||_2 <= R,      sum over W of |theta_j| <= base + slope R

    z = P_SS^-1/2 (P (theta - theta_hat))_S, whose square is at most 2 q

Paper    Proposition 2.2 in the linear regression of section 4.3, drawn without a chain.
Privacy  docs/proofs/samplers/corner.md: a rejection envelope, whatever the data.
Cost     d^3 for each of some forty splits; then d^2 a proposal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.l1_ball import l1_ball, log_l1_volume
from kng.core.quadratic import Matrix, Vector
from kng.core.solve.pivots import pivots
from kng.samplers.real.envelopes.gaussian_at_edge import Anchor
from kng.samplers.real.envelopes.gaussian_levels import GaussianLevels, normals
from kng.samplers.real.envelopes.remaining_length import RemainingLength, rooms

Indices = NDArray[np.int64]

# Axes with a smaller share of the largest eigenvalue are not seen.
_ZERO = 1e-9
# Levels begin at most here: exp(-30^2 / 2) is still a number. Where more is needed the center is a
# bad one, and another has the smaller envelope.
_HIGHEST = 30.0


@dataclass(frozen=True)
class Form:
    """The exponent theta'P theta / 2 - v'theta on a ball, measured from any point.

        exponent = constant - rest'theta + q(theta),       rest = v - P center

    In the ball rest'theta is at most ``slack``. With the estimate for a center there is no rest;
    where the estimate lies far outside, a point of the ball is the better one.
    """

    precision: Matrix
    vector: Vector
    radius: float
    center: Vector

    @classmethod
    def around_the_estimate(cls, precision: Matrix, vector: Vector, radius: float) -> Form:
        """Return the form measured from P^-1 v, or from the shortest such point."""
        values, axes = np.linalg.eigh(precision)
        seen = values > _ZERO * max(float(values[-1]), 0.0)
        along = axes[:, seen]
        center = along @ ((along.T @ vector) / values[seen])
        return cls(precision, vector, radius, np.asarray(center))

    @cached_property
    def rest(self) -> Vector:
        """Return v - P center."""
        return np.asarray(self.vector - self.precision @ self.center)

    @property
    def slack(self) -> float:
        """Return the largest rest'theta of the ball."""
        return self.radius * float(np.abs(self.rest).max())

    @property
    def constant(self) -> float:
        """Return the exponent's constant."""
        return -float(self.center @ (self.precision @ self.center)) / 2

    def least(self, points: list[Anchor]) -> float:
        """Return what q is at least in the ball, where no exponent is below an anchor's least."""
        floors = [anchor.least - self.constant - self.slack for anchor in points]
        return max([0.0, *floors])

    def excess(self, theta: Matrix) -> Vector:
        """Return q for rows of theta."""
        delta = theta - self.center
        return np.asarray(((delta @ self.precision) * delta).sum(axis=1) / 2)


@dataclass(frozen=True)
class GaussianInside:
    """One split of the coordinates, its envelope, and draws from it."""

    form: Form
    strong: Indices
    weak: Indices
    room: RemainingLength
    start: float  # R is nowhere less

    @classmethod
    def best(cls, form: Form, points: list[Anchor]) -> GaussianInside:
        """Return the split with the smallest envelope."""
        order, usable = pivots(form.precision)
        start = min((2 * form.least(points)) ** 0.5, _HIGHEST)
        splits = [split for k in range(usable + 1) for split in cls.splits(form, order[:k], start)]
        return min(splits, key=lambda split: split.log_envelope)

    @classmethod
    def splits(cls, form: Form, chosen: list[int], start: float) -> list[GaussianInside]:
        """Return one split with the whole ball for W, and with less room."""
        strong = np.array(sorted(chosen), dtype=np.int64)
        weak = np.setdiff1d(np.arange(len(form.vector)), strong)
        found = [RemainingLength(form.radius, 0.0)]
        if len(strong) and len(weak):
            center = np.where(np.isin(np.arange(len(form.vector)), strong), form.center, 0.0)
            seen = form.precision @ form.center
            for dual, room in rooms(form.precision, seen, form.radius, weak, center):
                slope = room.slope * float(dual @ (form.precision @ dual)) ** 0.5
                found.append(RemainingLength(max(room.base, 0.0), slope))
        return [cls(form, strong, weak, room, start) for room in found]

    @cached_property
    def _spread(self) -> Matrix:
        """Return Cholesky's factor of P_SS."""
        square = self.form.precision[np.ix_(self.strong, self.strong)]
        return np.asarray(np.linalg.cholesky(square))

    @cached_property
    def _levels(self) -> GaussianLevels:
        return GaussianLevels(len(self.strong), len(self.weak), self.room, self.start)

    @property
    def log_envelope(self) -> float:
        """Return the log of the integral of exp(-level), in the exponent's own units."""
        volume = log_l1_volume(len(self.weak)) - float(np.log(np.diag(self._spread)).sum())
        return self._levels.log_mass + volume - self.form.constant + self.form.slack

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        form, strong, weak = self.form, self.strong, self.weak
        m, level = len(strong), self._levels.draw(bits, size)
        theta = np.zeros((size, len(form.vector)))
        theta[:, weak] = l1_ball(bits, size, len(weak))
        theta[:, weak] *= (self.room.base + self.room.slope * level)[:, None]
        if m:
            normal = normals(bits, size, m)
            z = normal * (level / np.sqrt((normal**2).sum(axis=1)))[:, None]
            z *= bits.uniforms(size)[:, None] ** (1 / m)
            cross = (theta[:, weak] - form.center[weak]) @ form.precision[np.ix_(weak, strong)]
            pulled = z.T - np.linalg.solve(self._spread, cross.T)
            theta[:, strong] = form.center[strong] + np.linalg.solve(self._spread.T, pulled).T
        inside = np.abs(theta).sum(axis=1) < form.radius
        return theta, np.where(inside, self.log_acceptance(theta), -np.inf)

    def log_acceptance(self, theta: Matrix) -> Vector:
        """Return what the proposals' exponent lacks: never positive in the ball."""
        lacking = self.level(theta) ** 2 / 2 - self.form.excess(theta)
        return np.asarray(lacking + theta @ self.form.rest - self.form.slack)

    def level(self, theta: Matrix) -> Vector:
        """Return the least R whose body holds each row of theta."""
        form = self.form
        gradient = (theta - form.center) @ form.precision[:, self.strong]
        z = np.linalg.solve(self._spread, gradient.T)
        least = np.maximum(self.start, np.sqrt((z**2).sum(axis=0)))
        if self.room.slope > 0:
            used = np.abs(theta[:, self.weak]).sum(axis=1)
            least = np.maximum(least, (used - self.room.base) / self.room.slope)
        return np.asarray(least)
