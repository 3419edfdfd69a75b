"""Noise in the objective, then its minimiser.

    minimise  F(theta) + (gamma / 2) ||theta - c||^2 + u'theta   over R^d or an l1 ball

F is quadratic in pieces. Newton's step is to the minimiser of the piece that holds the current
point, in rational numbers; if the piece that holds the new point is the same one, the new point is
the minimiser of F itself, exactly. Steps that go too far are shortened until the slope along them
no longer rises, and if that leads nowhere, smoother losses are minimised first.

Paper    Section 4.3, supplement.
Privacy  docs/proofs/mechanisms/objective.md. The proof is about the exact minimiser for the noise
         that was drawn, and that is what is returned; the noise is float64, hence `ideal`. Steps
         are bounded in number, so there is no `unbounded-time`.
Cost     One pass over the records a step for Huber, one altogether for least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kng.core.bits import Bits
from kng.core.errors import IncompatibleParts
from kng.core.plan import Certificate
from kng.core.privacy import Assumption, Guarantee
from kng.core.regression import (
    BallDomain,
    PerturbedPlan,
    Quadratic,
    RealNorm,
    SmoothField,
    Vector,
)
from kng.samplers.rational import Point, minimiser, slope

# Steps before smoother losses are tried, and on each of them.
_STEPS = 30
_STEPS_BELOW = 8
# Widths of smoother losses, from above the farthest residual down.
_WIDTHS = tuple(Fraction(4**k) for k in range(11, 0, -1))
# Points of a step that is too long are looked for so often, and rounded; the minimiser is not.
_ATTEMPTS = 40
_GRID = 2**64


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

    def draw(self, plan: PerturbedPlan, field: SmoothField, bits: Bits) -> Point:
        """Return coefficients in standardised units."""
        domain = plan.problem.domain
        radius = domain.radius if isinstance(domain, BallDomain) else None
        return minimise(Objective(field, linear_term(plan, bits), plan.ridge, plan.centre, radius))


def linear_term(plan: PerturbedPlan, bits: Bits) -> Vector:
    """Return u: a radius of Gamma(d, rate) times a direction with the cone measure."""
    norm, d = plan.problem.norm, plan.problem.design.dim
    assert isinstance(norm, RealNorm)
    radius = -np.log(bits.uniforms(d)).sum() / plan.rate
    return np.asarray(radius * norm.directions(bits, 1, d)[0])


@dataclass(frozen=True)
class Objective:
    """The loss with its linear term and ridge, both taken as the rational numbers they are."""

    field: SmoothField
    linear: Vector
    ridge: float
    centre: Point
    radius: Fraction | None

    def piece(self, theta: Point, width: Fraction) -> Quadratic:
        """Return the quadratic that holds theta."""
        ridge, both = Fraction(self.ridge), zip(self.linear, self.centre, strict=True)
        return self.field.piece(theta, width).plus(
            ridge, [Fraction(u) - ridge * c for u, c in both]
        )


def minimise(objective: Objective) -> Point:
    """Return the minimiser of the perturbed objective, exactly unless steps run out."""
    # A little off 0, where records often lie on a kink exactly, which takes time to decide.
    start = tuple(Fraction(2 * j + 1, 3 * 2**20) for j in range(len(objective.linear)))
    found, done = _newton(objective, start, Fraction(1), _STEPS)
    if done:
        return found
    for width in _WIDTHS:
        start, _ = _newton(objective, start, width, _STEPS_BELOW)
    return _newton(objective, start, Fraction(1), 2 * _STEPS)[0]


def _newton(objective: Objective, theta: Point, width: Fraction, steps: int) -> tuple[Point, bool]:
    """Take Newton's steps; tell whether the minimiser was reached."""
    piece = objective.piece(theta, width)
    for _ in range(steps):
        target = minimiser(piece, objective.radius)
        there = objective.piece(target, width)
        if there == piece:
            return target, True
        step = tuple(b - a for a, b in zip(theta, target, strict=True))
        before = slope(piece, theta, step)
        if slope(there, target, step) <= -before / 2:
            theta, piece = target, there
        else:
            theta, piece = _shortened(objective, theta, step, before, width)
    return theta, False


def _shortened(
    objective: Objective, theta: Point, step: Point, before: Fraction, width: Fraction
) -> tuple[Point, Quadratic]:
    """Return a point of a step that goes too far, and the piece there.

    The slope along the step rises, from ``before`` to something positive. A point is looked for
    where it is at most half as steep, by secants and halves in turn.
    """
    low, high = (Fraction(0), before), (Fraction(1), -before)
    for attempt in range(_ATTEMPTS):
        share = Fraction(1, 2) if attempt % 2 else low[1] / (low[1] - high[1])
        share = min(max(share, Fraction(1, 50)), Fraction(49, 50))
        at = _rounded(low[0] + share * (high[0] - low[0]))
        point = tuple(_rounded(a + at * s) for a, s in zip(theta, step, strict=True))
        piece = objective.piece(point, width)
        here = slope(piece, point, step)
        if abs(here) <= -before / 2:
            break
        low, high = ((at, here), high) if here < 0 else (low, (at, here))
    return point, piece


def _rounded(number: Fraction) -> Fraction:
    return Fraction(round(number * _GRID), _GRID)
