"""KNG on the whole space where the data say that theta is long, and little else.

In the chart phi = theta / (1 + ||theta||_1), with w = 1 / (1 + ||theta||_1) = 1 - ||phi||_1, the
strong coordinates are noise and the weak ones have a uniform direction psi, ||psi||_1 = 1. What
takes the place of their length is w:

    phi_W = (1 - w - ||phi_S||_1) psi
    u_S   = A_SS phi_S + (1 - w - ||phi_S||_1) A_SW psi - w b_S

    body of level x    ||u_S||_K <= x s / rate,     w (1 + length) <= 1 + kappa x

and every theta whose exponent is at most x lies in it (`envelopes.radial` has length and
kappa). The base measure is w^k (1 - w - ||phi_S||_1)^(|W| - 1) dw dpsi dphi_S, so levels have a
gamma law, and the rest is the acceptance. Slopes far above 1 in standardised units, from columns
that fill little of their bounds, are drawn so.

docs/proofs/samplers/affine.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.l1_ball import l1_sphere, log_l1_volume
from kng.core.quadratic import Matrix, Vector
from kng.core.solve.pivots import pivots
from kng.samplers.real.envelopes.levels import Levels
from kng.samplers.real.envelopes.projective import Frame, solved
from kng.samplers.real.envelopes.radial import lengths_of

# The strong coordinates' solution is unique if ||A_SS^-1 A_Sj||_1 < 1 for every weak j.
_MOST = 0.9

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class LongTheta:
    """One split of the coordinates and one length, its envelope, and draws from it."""

    frame: Frame
    strong: Indices
    weak: Indices
    length: float
    kappa: float
    ratios: Matrix  # A_SS^-1 A_SW
    levels: Levels

    @classmethod
    def best(cls, frame: Frame) -> LongTheta | None:
        """Return the split with the smallest envelope; None if the data do not say that much."""
        order, usable = pivots(frame.matrix)
        everything = np.arange(len(frame.vector))
        center = np.asarray(np.linalg.solve(frame.matrix, frame.vector), dtype=np.float64)
        known = lengths_of(frame.matrix, frame.vector, everything, center, frame.noise)
        known = known[known[:, 0] > 1]
        if not len(known):
            return None
        splits = [
            split
            for k in range(min(usable, len(everything) - 1) + 1)
            for split in cls.splits(frame, order[:k], known)
        ]
        return min(splits, key=lambda split: split.log_envelope, default=None)

    @classmethod
    def splits(cls, frame: Frame, chosen: list[int], known: Matrix) -> list[LongTheta]:
        """Return one split with each length and kappa; none if its solution is not unique."""
        strong = np.array(sorted(chosen), dtype=np.int64)
        weak = np.setdiff1d(np.arange(len(frame.vector)), strong)
        m, tail, square = len(strong), frame.tail + 1, frame.matrix[np.ix_(strong, strong)]
        ratios = np.asarray(np.linalg.solve(square, frame.matrix[np.ix_(strong, weak)]))
        if float(np.abs(ratios).sum(axis=0).max()) > _MOST:
            return []
        # The sphere of W has |W| times the volume of its ball, as a density in its length.
        share = log_l1_volume(len(weak)) + log(len(weak)) - log(tail)
        share += frame.norm.log_volume(m) if m else 0.0
        return [
            cls(
                frame,
                strong,
                weak,
                float(length),
                float(kappa),
                ratios,
                Levels.of(
                    1.0,
                    0.0,
                    np.array([share - tail * log(1 + length)]),
                    [[(0.0, frame.noise, m), (1.0, float(kappa), tail)]],
                ),
            )
            for length, kappa in known
        ]

    @property
    def _largest(self) -> float:
        """Return the largest ||A_SS^-1 A_Sj||_1."""
        return float(np.abs(self.ratios).sum(axis=0).max())

    @property
    def log_envelope(self) -> float:
        """Return the log of the integral of exp(-level) over the chart."""
        square = self.frame.matrix[np.ix_(self.strong, self.strong)]
        return self.levels.log_mass - float(np.linalg.slogdet(square)[1]) - log(1 - self._largest)

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        frame, strong, weak = self.frame, self.strong, self.weak
        m, tail = len(strong), frame.tail
        _, x = self.levels.draw(bits, size)
        w = bits.uniforms(size) ** (1 / (tail + 1)) * (1 + self.kappa * x) / (1 + self.length)
        psi = l1_sphere(bits, size, len(weak))
        phi = np.zeros((size, len(frame.vector)))
        log_accept = np.zeros(size)
        if m:
            square = frame.matrix[np.ix_(strong, strong)]
            noise = frame.norm.directions(bits, size, m) * bits.uniforms(size)[:, None] ** (1 / m)
            u = noise * (x * frame.noise)[:, None]
            q = psi @ self.ratios.T
            p = np.linalg.solve(square, (u + w[:, None] * frame.vector[strong]).T).T
            phi[:, strong] = solved(p - (1 - w)[:, None] * q, q)
            slope = 1 - (np.sign(phi[:, strong]) * q).sum(axis=1)
            log_accept += log(1 - self._largest) - np.log(slope)
        rest = 1 - w - np.abs(phi).sum(axis=1)
        inside = rest > 0
        phi[:, weak] = np.where(inside, rest, 0.0)[:, None] * psi
        theta = phi / w[:, None]
        log_accept += (len(weak) - 1) * np.log(np.where(inside, rest, 1.0))
        log_accept += self.level(theta) - frame.exponent(theta)
        return theta, np.where(inside, log_accept, -np.inf)

    def level(self, theta: Matrix) -> Vector:
        """Return the least x whose body holds each row of theta."""
        frame, strong = self.frame, self.strong
        w = 1 / (1 + np.abs(theta).sum(axis=1))
        least = np.maximum(0.0, ((1 + self.length) * w - 1) / self.kappa)
        if len(strong):
            u = (theta @ frame.matrix[:, strong] - frame.vector[strong]) * w[:, None]
            least = np.maximum(least, frame.norm.lengths(u) / frame.noise)
        return np.asarray(least)
