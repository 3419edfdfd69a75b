"""The paper's chain, compiled: one coordinate at a time, for a stated number of proposals.

The paper says how many steps and nothing else. What a step of a "one-at-a-time" chain is can be
read in two ways, and both are run:

    a proposal   one coordinate, in turn: 10,000 steps are 10,000 proposals
    a sweep      every coordinate once: 10,000 steps are 10,000 d proposals

The start here is 0, which no record decides, and a proposal is uniform within a reach:

    fixed   0.1 on every coordinate, for every n, as `chains.metropolis` has it
    tuned   0.1 at first; each coordinate's reach grows by 1.3 when a proposal is taken and shrinks
            when it is not, so that 44 % are, during the first half

A chain has no certified distance to its target; these are here to be compared with exact draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector

REACH = 0.1
_GROW = 1.3
_SHRINK = _GROW ** (-0.44 / 0.56)

# A compiled function of covariates, responses and one point.
Score = Callable[[Matrix, Vector, Vector], float]


@dataclass(frozen=True, slots=True)
class Chain:
    """How many proposals it makes, and for how many of them the reach is tuned."""

    proposals: int
    tuning: int = 0

    def sweeping(self, dim: int) -> Chain:
        """Return the chain of as many sweeps over all coordinates."""
        return Chain(self.proposals * dim, self.tuning * dim)

    def gradient(
        self, matrix: Matrix, vector: Vector, rate: float, radius: float, bits: Bits
    ) -> Vector:
        """Return where the chain for exp(-rate ||A theta - b||_inf) on an l1 ball ends."""
        end: Vector = _gradient_chain(matrix, vector, rate, radius, self.tuning, *self._luck(bits))
        return end

    def square(
        self, matrix: Matrix, vector: Vector, rate: float, radius: float, bits: Bits
    ) -> Vector:
        """Return where the chain for exp(-rate (theta'A theta - 2 b'theta)) on a ball ends."""
        end: Vector = _square_chain(matrix, vector, rate, radius, self.tuning, *self._luck(bits))
        return end

    def check(
        self, score: Score, X: Matrix, y: Vector, rate: float, radius: float, bits: Bits
    ) -> Vector:
        """Return where the chain for exp(-rate score(theta)) on a ball ends."""
        end: Vector = _check_chain(score, X, y, rate, radius, self.tuning, *self._luck(bits))
        return end

    def _luck(self, bits: Bits) -> tuple[Vector, Vector]:
        return bits.uniforms(self.proposals), bits.uniforms(self.proposals)


@numba.njit
def _gradient_chain(
    matrix: Any, vector: Any, rate: float, radius: float, until: int, moves: Any, coins: Any
) -> Any:
    d = len(vector)
    theta, gradient, trial = np.zeros(d), -vector, np.empty(d)
    size, current, reach = 0.0, np.abs(vector).max(), np.full(d, REACH)
    for i in range(len(moves)):
        j = i % d
        step = reach[j] * (2 * moves[i] - 1)
        longer = size - abs(theta[j]) + abs(theta[j] + step)
        taken = False
        if longer <= radius:
            proposed = 0.0
            for k in range(d):
                trial[k] = gradient[k] + step * matrix[k, j]
                proposed = max(proposed, abs(trial[k]))
            taken = np.log(coins[i]) < rate * (current - proposed)
            if taken:
                theta[j] += step
                size, current = longer, proposed
                gradient[:] = trial
        if i < until:
            reach[j] *= _GROW if taken else _SHRINK
    return theta


@numba.njit
def _square_chain(
    matrix: Any, vector: Any, rate: float, radius: float, until: int, moves: Any, coins: Any
) -> Any:
    d = len(vector)
    theta, gradient = np.zeros(d), -vector
    size, reach = 0.0, np.full(d, REACH)
    for i in range(len(moves)):
        j = i % d
        step = reach[j] * (2 * moves[i] - 1)
        longer = size - abs(theta[j]) + abs(theta[j] + step)
        taken = False
        if longer <= radius:
            rise = 2 * step * gradient[j] + step * step * matrix[j, j]
            taken = np.log(coins[i]) < -rate * rise
            if taken:
                theta[j] += step
                size = longer
                for k in range(d):
                    gradient[k] += step * matrix[k, j]
        if i < until:
            reach[j] *= _GROW if taken else _SHRINK
    return theta


@numba.njit
def _check_chain(
    score: Any, X: Any, y: Any, rate: float, radius: float, until: int, moves: Any, coins: Any
) -> Any:
    d = X.shape[1]
    theta, reach = np.zeros(d), np.full(d, REACH)
    current = score(X, y, theta)
    for i in range(len(moves)):
        j = i % d
        before = theta[j]
        theta[j] += reach[j] * (2 * moves[i] - 1)
        taken = False
        if np.abs(theta).sum() <= radius:
            proposed = score(X, y, theta)
            taken = np.log(coins[i]) < rate * (current - proposed)
        if taken:
            current = proposed
        else:
            theta[j] = before
        if i < until:
            reach[j] *= _GROW if taken else _SHRINK
    return theta
