"""Noise in the objective, then its minimiser.

    minimise  F(theta) + (gamma / 2) ||theta||^2 + u'theta   over R^d or an l1 ball

by Newton steps on quadratic models, each minimised exactly: over R^d by a linear solve, over the
ball by following the path of the penalty mu ||theta||_1 from mu = infinity down to where the l1
norm reaches the radius. Both losses are piecewise quadratic, so once a step is far smaller than a
cell of the lattice the model is the objective, and its minimiser is the answer; strong convexity
bounds what is left by ||residual|| / gamma.

Paper    Section 4.3, supplement.
Privacy  docs/proofs/mechanisms/objective.md. The proof is about the exact minimiser, hence
         `ideal`; solver steps are bounded, so there is no `unbounded-time`.
Cost     One pass over the records a step for Huber, none after the first for least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kng.core.bits import Bits
from kng.core.errors import IncompatibleParts
from kng.core.plan import Certificate
from kng.core.privacy import Assumption, Guarantee
from kng.core.regression import BallDomain, Matrix, PerturbedPlan, RealNorm, SmoothField, Vector

_STEPS = 100
_HALVINGS = 30


@dataclass(frozen=True, slots=True)
class Perturbed:
    """Draw the linear term, then minimise."""

    name: ClassVar[str] = "perturbed"

    def certify(self, plan: PerturbedPlan) -> PerturbedPlan:
        """Promise the exact minimiser, in real arithmetic."""
        if not isinstance(plan.problem.norm, RealNorm):
            raise IncompatibleParts("The perturbed sampler needs a norm it can draw from.")
        assumptions = (
            Assumption.RANDOM_BITS,
            Assumption.UNSEEN_CLOCK,
            Assumption.REAL_ARITHMETIC,
        )
        return plan.certified(Certificate(self.name, Guarantee.IDEAL, assumptions))

    def draw(self, plan: PerturbedPlan, field: SmoothField, bits: Bits) -> Vector:
        """Return coefficients in standardised units."""
        domain = plan.problem.domain
        radius = float(domain.radius) if isinstance(domain, BallDomain) else None
        cell = float(plan.problem.design.lattice.step[0])
        return minimise(field, linear_term(plan, bits), plan.ridge, radius, cell)


def linear_term(plan: PerturbedPlan, bits: Bits) -> Vector:
    """Return u: a radius of Gamma(d, rate) times a direction with the cone measure."""
    norm, d = plan.problem.norm, plan.problem.design.dim
    assert isinstance(norm, RealNorm)
    radius = -np.log(bits.uniforms(d)).sum() / plan.rate
    return np.asarray(radius * norm.directions(bits, 1, d)[0])


def minimise(
    field: SmoothField, linear: Vector, ridge: float, radius: float | None, cell: float
) -> Vector:
    """Return the minimiser of the perturbed objective."""
    theta = np.zeros(len(linear))
    value, gradient, hessian = _objective(field, theta, linear, ridge)
    for _ in range(_STEPS):
        target = quadratic_minimiser(hessian, hessian @ theta - gradient, radius)
        step = target - theta
        if float(np.abs(step).max()) < cell / 2**6:
            return target  # so near, the objective is its own model
        slope = float(gradient @ step)
        for halving in range(_HALVINGS):
            trial = theta + step / 2**halving
            found = _objective(field, trial, linear, ridge)
            if found[0] <= value + 1e-4 * slope / 2**halving:
                break
            # Values that float64 cannot tell apart: a slope that has halved is progress too.
            flat = found[0] <= value + 1e-12 * abs(value)
            if flat and abs(float(found[1] @ step)) <= abs(slope) / 2:
                break
        else:
            return target  # values differ by less than float64 can tell
        theta, (value, gradient, hessian) = trial, found
    return theta


def _objective(
    field: SmoothField, theta: Vector, linear: Vector, ridge: float
) -> tuple[float, Vector, Matrix]:
    value, gradient, hessian = field.derivatives(theta)
    return (
        value + ridge / 2 * float(theta @ theta) + float(linear @ theta),
        gradient + ridge * theta + linear,
        hessian + ridge * np.eye(len(theta)),
    )


def quadratic_minimiser(matrix: Matrix, vector: Vector, radius: float | None) -> Vector:
    """Return the minimiser of theta'Q theta / 2 - r'theta over R^d or the l1 ball."""
    free = np.linalg.solve(matrix, vector)
    if radius is None or float(np.abs(free).sum()) <= radius:
        return np.asarray(free)
    return on_the_sphere(matrix, vector, radius)


def on_the_sphere(matrix: Matrix, vector: Vector, radius: float) -> Vector:
    """Return the minimiser on the ball's surface, from the path of the penalty mu ||theta||_1.

    Between events active coordinates move linearly in mu: theta = start - mu * rate. An event is
    an active coordinate that reaches 0, an idle one whose slope reaches mu, or the radius.
    """
    first = int(np.argmax(np.abs(vector)))
    signs = {first: float(np.sign(vector[first]))}
    mu, fresh = float(np.abs(vector[first])), (first, signs[first])
    for _ in range(20 * len(vector) + 20):
        active = list(signs)
        sign = np.array(list(signs.values()))
        square = matrix[np.ix_(active, active)]
        start, rate = np.linalg.solve(square, np.column_stack([vector[active], sign])).T
        events = [((float(sign @ start) - radius) / float(sign @ rate), -1, 0.0)]
        # A coordinate that has just joined moves away from 0, one that has just left falls behind.
        zeros = ((s / r, j) for j, s, r in zip(active, start, rate, strict=True) if r)
        events += [(float(at), j, 0.0) for at, j in zeros if at < mu and j != fresh[0]]
        idle = [j for j in range(len(vector)) if j not in signs]
        cross = matrix[np.ix_(idle, active)]
        for j, c, e in zip(idle, vector[idle] - cross @ start, cross @ rate, strict=True):
            # |c + mu e| = mu
            joins = ((c / (side - e), side) for side in (1.0, -1.0) if side != e)
            events += [(float(at), j, s) for at, s in joins if at < mu and (j, s) != fresh]
        possible = [event for event in events if event[0] <= mu]
        if not possible:
            break
        mu, j, side = max(possible)
        if j < 0:
            theta = np.zeros(len(vector))
            theta[active] = start - mu * rate
            return theta
        if side:
            signs[j] = side
            fresh = (j, side)
        else:
            fresh = (j, signs.pop(j))
            if not signs:
                break
    return _projected(matrix, vector, radius)


def _projected(matrix: Matrix, vector: Vector, radius: float) -> Vector:
    """Return the same by projected gradient steps: slower, and cannot lose its way."""
    theta = np.zeros(len(vector))
    look, momentum = theta, 1.0
    lipschitz = float(np.linalg.eigvalsh(matrix)[-1])
    for _ in range(20_000):
        following = _onto_ball(look - (matrix @ look - vector) / lipschitz, radius)
        gain = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        look = following + (momentum - 1) / gain * (following - theta)
        if float(np.abs(following - theta).max()) < 1e-16 * radius:
            return following
        theta, momentum = following, gain
    return theta


def _onto_ball(point: Vector, radius: float) -> Vector:
    """Return the nearest point of the l1 ball: shrink every coordinate by the same amount."""
    sizes = np.sort(np.abs(point))[::-1]
    if sizes.sum() <= radius:
        return point
    excess = (np.cumsum(sizes) - radius) / np.arange(1, len(point) + 1)
    shrink = excess[np.flatnonzero(sizes > excess)[-1]]
    return np.asarray(np.sign(point) * np.maximum(np.abs(point) - shrink, 0.0))
