"""Quantile regression with two coefficients, drawn without a chain: leaves over the plane.

The square around the l1 ball is cut into boxes. Every box carries a lower bound on the score, so

    exp( -rate * bound ) on each box

lies above the density. A box is drawn by the volume under it, a point of the box uniformly, and the
point is kept with probability exp( -rate (score - bound) ): what is kept has the density, whatever
the boxes are. Boxes are cut in four where they overstate the volume most, until at least 2/5 of the
envelope is density. Scores of the check loss at tau = 1/2, for records with x in two columns:

    gradient   sup norm of sum (1[y <= x theta] - 1/2) x. A record whose residual keeps its sign
               over a box is decided; the others may fall on either side.
    loss       sum |y - x theta| / 2. Convex, hence above any of its tangent planes.

Exact in real arithmetic, computed in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector
from kng.reproduce.chain import Score

_OVERSTATED = 0.6
_FIRST = 16


@numba.njit
def gradient_score(X: Any, y: Any, theta: Any) -> float:
    """Return the sup norm of the gradient at one point."""
    first = second = 0.0
    for i in range(len(y)):
        sign = 0.5 if y[i] <= X[i, 0] * theta[0] + X[i, 1] * theta[1] else -0.5
        first += sign * X[i, 0]
        second += sign * X[i, 1]
    return max(abs(first), abs(second))


@numba.njit
def loss_score(X: Any, y: Any, theta: Any) -> float:
    """Return the summed loss at one point."""
    total = 0.0
    for i in range(len(y)):
        total += abs(y[i] - X[i, 0] * theta[0] - X[i, 1] * theta[1])
    return total / 2


@numba.njit
def _gradient_bounds(X: Any, y: Any, middles: Any, halves: Any, low: Any, centre: Any) -> None:
    """Write, for each box, a lower bound on the score and the score at its middle."""
    for b in range(len(middles)):
        first = second = known_first = known_second = loose_first = loose_second = 0.0
        for i in range(len(y)):
            residual = y[i] - X[i, 0] * middles[b, 0] - X[i, 1] * middles[b, 1]
            sign = 0.5 if residual <= 0 else -0.5
            first += sign * X[i, 0]
            second += sign * X[i, 1]
            if abs(residual) > (abs(X[i, 0]) + abs(X[i, 1])) * halves[b]:
                known_first += sign * X[i, 0]
                known_second += sign * X[i, 1]
            else:
                loose_first += abs(X[i, 0]) / 2
                loose_second += abs(X[i, 1]) / 2
        low[b] = max(abs(known_first) - loose_first, abs(known_second) - loose_second, 0.0)
        centre[b] = max(abs(first), abs(second))


@numba.njit
def _loss_bounds(X: Any, y: Any, middles: Any, halves: Any, low: Any, centre: Any) -> None:
    """Write, for each box, a lower bound on the score and the score at its middle."""
    for b in range(len(middles)):
        total = first = second = 0.0
        for i in range(len(y)):
            residual = y[i] - X[i, 0] * middles[b, 0] - X[i, 1] * middles[b, 1]
            total += abs(residual) / 2
            sign = 0.5 if residual <= 0 else -0.5
            first += sign * X[i, 0]
            second += sign * X[i, 1]
        centre[b] = total
        low[b] = total - (abs(first) + abs(second)) * halves[b]


BOUNDS = {gradient_score: _gradient_bounds, loss_score: _loss_bounds}


@dataclass(frozen=True)
class Leaves:
    """Boxes over the l1 ball, squares with a middle and half a side, and their bounds."""

    score: Score
    X: Matrix
    y: Vector
    rate: float
    radius: float
    middles: Matrix
    halves: Vector
    low: Vector
    centre: Vector

    @classmethod
    def grown(cls, score: Score, X: Matrix, y: Vector, rate: float, radius: float) -> Leaves:
        """Cut boxes until the envelope is tight enough."""
        leaves = cls(
            score, X, y, rate, radius, np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros(0)
        )
        leaves = leaves._with(np.zeros((1, 2)), np.array([radius]))
        while True:
            mass = leaves.masses()
            slack = np.maximum(rate * (leaves.centre - leaves.low), 0.0)
            overstated = mass * -np.expm1(-slack)
            if overstated.sum() <= _OVERSTATED * mass.sum():
                return leaves
            split = overstated >= overstated.max() / 8
            leaves = leaves._cut(split)

    def masses(self) -> Vector:
        """Return the volume under the envelope of each box, up to a common factor."""
        exponent = -self.rate * (self.low - self.low.min())
        return np.asarray(4 * self.halves**2 * np.exp(exponent))

    def _cut(self, split: Any) -> Leaves:
        halves = np.repeat(self.halves[split] / 2, 4)
        corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
        shift = np.tile(corners, (int(split.sum()), 1)) * halves[:, None]
        keep = Leaves(
            *(self.score, self.X, self.y, self.rate, self.radius),
            *(part[~split] for part in (self.middles, self.halves, self.low, self.centre)),
        )
        return keep._with(np.repeat(self.middles[split], 4, axis=0) + shift, halves)

    def _with(self, middles: Matrix, halves: Vector) -> Leaves:
        """Return the leaves with more boxes, those outside the ball left out."""
        nearest = np.maximum(np.abs(middles) - halves[:, None], 0.0).sum(axis=1)
        middles, halves = middles[nearest < self.radius], halves[nearest < self.radius]
        low, centre = np.empty(len(halves)), np.empty(len(halves))
        BOUNDS[self.score](self.X, self.y, middles, halves, low, centre)
        return Leaves(
            *(self.score, self.X, self.y, self.rate, self.radius),
            np.concatenate([self.middles, middles]),
            np.concatenate([self.halves, halves]),
            np.concatenate([self.low, low]),
            np.concatenate([self.centre, centre]),
        )

    def draw(self, bits: Bits, size: int) -> Matrix:
        """Return independent draws."""
        shares = np.cumsum(self.masses())
        kept: list[Vector] = []
        while len(kept) < size:
            u, coins = bits.uniforms(_FIRST, 3), np.log(bits.uniforms(_FIRST))
            box = np.searchsorted(shares, u[:, 0] * shares[-1])
            box = np.minimum(box, len(shares) - 1)
            points = self.middles[box] + (2 * u[:, 1:] - 1) * self.halves[box, None]
            for at, b, coin in zip(points, box, coins, strict=True):
                inside = abs(at[0]) + abs(at[1]) <= self.radius
                if inside and coin < -self.rate * (self.score(self.X, self.y, at) - self.low[b]):
                    kept.append(at)
        return np.array(kept[:size])
