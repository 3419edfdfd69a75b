"""Regression problems in standardised units, and bulk draws from their samplers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from kng.bases import HeavyTailed
from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.design import Design
from kng.core.encoding import Encoding
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, Neighbours, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.quadratic import AffineGradient
from kng.domains import L1Ball, Whole
from kng.losses import Linear, Squared
from kng.losses.pointwise.function import Pointwise
from kng.norms import L1, L2, CoordinateSup, LInf
from kng.samplers.real import affine, gaussian

Array = np.ndarray[Any, np.dtype[np.float64]]

REPLACE, ADD = ReplaceOne.name, AddRemove.name
RELATIONS = (REPLACE, ADD)
SQUARED = Squared()
NORMS = {"coordinate": CoordinateSup(), "linf": LInf(), "l2": L2(), "l1": L1()}


def design(
    dim: int,
    *,
    intercept: bool = False,
    steps: int = 2**16,
    unit: int = 1,
    low: Fraction | int = -1,
    low_y: Fraction | int = -1,
) -> Design:
    """Return columns on [-1, 1] in ``steps`` steps; ``unit`` widens the response beyond that.

    Without an intercept covariates may begin at ``low`` and the response at ``low_y``.
    """
    columns = dim - intercept
    lows, highs = (Fraction(low),) * columns, (Fraction(1),) * columns
    bounds = Bounds((*lows, unit * Fraction(low_y)), (*highs, Fraction(unit)))
    step = Fraction(2, steps)
    scale = None if unit == 1 else Fraction(1)
    missing = tuple(int(width / step) // 2 for width in bounds.width)
    return Design(Encoding(bounds, (step,) * (columns + 1), missing), intercept, scale)


def relation_of(name: str, n: int) -> Neighbours:
    return ReplaceOne(max(n, 1)) if name == REPLACE else AddRemove()


def linear(shape: Design, pointwise: Pointwise = SQUARED) -> Linear:
    """Return a linear model of these records; squares live on the design's lattice."""
    answers = shape.lattice if pointwise == SQUARED else None
    return Linear(pointwise, intercept=shape.intercept).over(shape, answers)


def problem(
    dim: int,
    *,
    n: int = 1,
    norm: Any = None,
    radius: Fraction | int | None = None,
    intercept: bool = False,
    relation: str = REPLACE,
    people: int = 1,
    pointwise: Pointwise = SQUARED,
    domain: Any = None,
    steps: int = 2**16,
    unit: int = 1,
    freedom: int = 3,
    low: Fraction | int = -1,
    low_y: Fraction | int = -1,
) -> Problem:
    """Return a regression problem; ``radius`` asks for the ball, otherwise the whole space.

    ``pointwise`` is a function of the residuals, squares by default; Huber's threshold is 1.
    """
    if domain is None:
        domain = (
            Whole(dim, base=HeavyTailed(freedom))
            if radius is None
            else L1Ball(Fraction(radius), dim=dim)
        )
    shape = design(dim, intercept=intercept, steps=steps, unit=unit, low=low, low_y=low_y)
    return Problem(
        linear(shape, pointwise),
        norm or CoordinateSup(),
        domain,
        shape.records,
        shape.lattice,
        PrivacyUnit(relation_of(relation, n), people),
    )


def with_ones(X: Array, intercept: bool) -> Array:
    """Return covariates as the model sees them."""
    return np.column_stack([np.ones(len(X)), X]) if intercept else X


def field_of(Z: Array, y: Array) -> AffineGradient:
    """Return A and b by plain products."""
    return AffineGradient(Z.T @ Z, Z.T @ y)


def accepted(plan: DensityPlan, field: AffineGradient, wanted: int, seed: int) -> Array:
    """Return accepted proposals in bulk: all of a batch and not only its first."""
    best = affine.best if plan.weighs == "gradient" else gaussian.best
    return accepted_from(best(plan, field), wanted, seed)


def accepted_from(proposals: Any, wanted: int, seed: int, size: int = 2**14) -> Array:
    """Return accepted proposals of one way to propose."""
    bits = SeededBits(seed)
    kept: list[Array] = []
    while sum(map(len, kept)) < wanted:
        theta, log_accept = proposals.batch(bits, size)
        kept.append(theta[np.log(bits.uniforms(size)) < log_accept])
    return np.concatenate(kept)[:wanted]
