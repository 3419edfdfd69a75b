"""KNG on an l1 ball that holds the estimate: noise where records determine theta, room elsewhere.

The rows S are noise, |u_i| <= t, and the other coordinates W lie within the room that is left to
them at level t (`envelopes.remaining_length`):

    body of level t    |u_i| <= t  for i in S,      sum over W of |theta_j| <= base + slope t

It holds every theta of the ball with ||u||_inf <= t. As for a corner (`envelopes.sup_at_edge`) a
level, then a uniform point of its body have a density proportional to exp(-c level(theta)), which
is an envelope. All of S is the push-forward of the noise; none of it is a uniform point.

Paper    Section 4.2, which uses a Markov chain.
Privacy  docs/proofs/samplers/corner.md: a rejection envelope, whatever the data.
Cost     d^3 for each of some forty splits; then d^2 a proposal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.l1_ball import l1_ball, log_l1_volume
from kng.core.quadratic import Matrix, Vector
from kng.core.solve.pivots import pivots
from kng.samplers.real.envelopes.levels import Levels
from kng.samplers.real.envelopes.linear_programs import Sup
from kng.samplers.real.envelopes.remaining_length import RemainingLength, rooms

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class SupInside:
    """One split of the coordinates, its envelope, and draws from it."""

    sup: Sup
    strong: Indices  # S
    weak: Indices  # W
    room: RemainingLength
    levels: Levels

    @classmethod
    def best(cls, sup: Sup, floor: float) -> SupInside:
        """Return the split with the smallest envelope; the norm is nowhere below the floor."""
        order, usable = pivots(sup.matrix)
        splits = [split for k in range(usable + 1) for split in cls.splits(sup, order[:k], floor)]
        return min(splits, key=lambda split: split.log_envelope)

    @classmethod
    def splits(cls, sup: Sup, chosen: list[int], floor: float) -> list[SupInside]:
        """Return one split with the whole ball for W, and with less room."""
        d = len(sup.vector)
        strong = np.array(sorted(chosen), dtype=np.int64)
        weak = np.setdiff1d(np.arange(d), strong)
        found = [RemainingLength(sup.radius, 0.0)]
        if len(strong) and len(weak):
            center = np.zeros(d)
            square = sup.matrix[np.ix_(strong, strong)]
            center[strong] = np.linalg.solve(square, sup.vector[strong])
            for dual, room in rooms(sup.matrix, sup.vector, sup.radius, weak, center):
                found.append(RemainingLength(room.base, room.slope * float(np.abs(dual).sum())))
        return [cls._with(sup, strong, weak, room, floor) for room in found]

    @classmethod
    def _with(
        cls, sup: Sup, strong: Indices, weak: Indices, room: RemainingLength, floor: float
    ) -> SupInside:
        start = max(floor, room.first)
        factors = [(0.0, 2.0, len(strong)), (room.base, room.slope, len(weak))]
        levels = Levels.of(sup.rate, start, np.array([log_l1_volume(len(weak))]), [factors])
        return cls(sup, strong, weak, room, levels)

    @property
    def _square(self) -> Matrix:
        return self.sup.matrix[np.ix_(self.strong, self.strong)]

    @property
    def log_envelope(self) -> float:
        """Return the log of the integral of exp(-c level)."""
        return self.levels.log_mass - float(np.linalg.slogdet(self._square)[1])

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        sup, strong, weak = self.sup, self.strong, self.weak
        _, t = self.levels.draw(bits, size)
        theta = np.zeros((size, len(sup.vector)))
        theta[:, weak] = l1_ball(bits, size, len(weak))
        theta[:, weak] *= (self.room.base + self.room.slope * t)[:, None]
        u = (2 * bits.uniforms(size, len(strong)) - 1) * t[:, None]
        target = u + sup.vector[strong] - theta[:, weak] @ sup.matrix[np.ix_(weak, strong)]
        theta[:, strong] = np.linalg.solve(self._square, target.T).T
        inside = np.abs(theta).sum(axis=1) < sup.radius
        return theta, np.where(inside, self.log_acceptance(theta), -np.inf)

    def log_acceptance(self, theta: Matrix) -> Vector:
        """Return what the proposals' exponent lacks: never positive in the ball."""
        return self.sup.rate * (self.level(theta) - self.sup.score(theta))

    def level(self, theta: Matrix) -> Vector:
        """Return the least t whose body holds each row of theta."""
        u = theta @ self.sup.matrix[:, self.strong] - self.sup.vector[self.strong]
        least = np.maximum(self.levels.start, np.abs(u).max(axis=1, initial=0.0))
        if self.room.slope > 0:
            used = np.abs(theta[:, self.weak]).sum(axis=1)
            least = np.maximum(least, (used - self.room.base) / self.room.slope)
        return np.asarray(least)
