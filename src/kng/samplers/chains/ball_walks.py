"""The one-at-a-time chain on an l1 ball, compiled: gradients in the sup norm, and values.

An accelerator of `metropolis.walked`, along whose path it walks: the same uniform numbers lead both
to the same point. The gradient A theta - b is kept up to date, so a proposal costs d and not d^2.

    sup       log density  -rate max_j |(A theta - b)_j|
    value     log density  -rate (theta'A theta / 2 - b'theta)
"""

from __future__ import annotations

import numpy as np

from kng.core.capabilities import BallDomain
from kng.core.compiled import compiled, load
from kng.core.quadratic import Vector
from kng.samplers.chains.target import Target

_SIGNATURE = "f8[::1](f8[:,::1], f8[::1], f8, f8, f8, i8, f8, f8, f8[::1], f8[::1])"


def load_walks() -> None:
    """Load what walks, before anything is charged."""
    load(sup_walk, value_walk)


def walked(
    walk: Target, reach: float, tuned: tuple[int, float, float], moves: Vector, coins: Vector
) -> Vector:
    """Return where uniform numbers lead the chain from 0.

    ``tuned`` says for how many proposals the reach is tuned, how it grows and how it shrinks.
    """
    plan, field = walk.plan, walk.field
    domain = plan.problem.domain
    assert isinstance(domain, BallDomain)
    walking = value_walk if plan.weighs == "value" else sup_walk
    rate, radius = float(plan.rate) / walk.scale.bound, float(domain.l1_radius)
    matrix, vector = np.ascontiguousarray(field.matrix), np.ascontiguousarray(field.vector)
    end: Vector = walking(matrix, vector, rate, radius, reach, *tuned, moves, coins)
    return end


@compiled(_SIGNATURE)
def sup_walk(matrix, vector, rate, radius, reach, until, grow, shrink, moves, coins):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Walk by the largest coordinate of the gradient."""
    d = len(vector)
    theta, gradient, trial = np.zeros(d), -vector, np.empty(d)
    size, current, reaches = 0.0, np.abs(vector).max(), np.full(d, reach)
    for i in range(len(moves)):
        j = i % d
        step = reaches[j] * (2 * moves[i] - 1)
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
            reaches[j] *= grow if taken else shrink
    return theta


@compiled(_SIGNATURE)
def value_walk(matrix, vector, rate, radius, reach, until, grow, shrink, moves, coins):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Walk by the value of the loss."""
    d = len(vector)
    theta, gradient = np.zeros(d), -vector
    size, reaches = 0.0, np.full(d, reach)
    for i in range(len(moves)):
        j = i % d
        step = reaches[j] * (2 * moves[i] - 1)
        longer = size - abs(theta[j]) + abs(theta[j] + step)
        taken = False
        if longer <= radius:
            rise = step * gradient[j] + step * step * matrix[j, j] / 2
            taken = np.log(coins[i]) < -rate * rise
            if taken:
                theta[j] += step
                size = longer
                for k in range(d):
                    gradient[k] += step * matrix[k, j]
        if i < until:
            reaches[j] *= grow if taken else shrink
    return theta
