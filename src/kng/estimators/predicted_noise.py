"""What a receipt says of the noise in coefficients: facts for a prediction, made when asked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from kng.core.noise.predicted import PlaneNoise, PredictedNoise
from kng.core.parts import Norm, Point
from kng.core.perturbed import AdaptivePlan, PerturbedPlan
from kng.core.plan import DensityPlan
from kng.core.privacy import ReplaceOne
from kng.core.regions import Region
from kng.core.shapes import BoxShape, RoundShape

# Standard deviation of residuals that nobody has stated, in ranges of y; in thresholds it is 1.
_SIXTH = 1 / 6
_LOSSES = {
    **{name: name for name in ("squared", "huber", "pinball", "logistic")},
    "smoothed pinball": "pinball",
}
_LARGEST = 1e150

Drawable = PerturbedPlan | AdaptivePlan | DensityPlan


def predicted_noise(
    plans: Sequence[Drawable], drawn: Sequence[Point], scale: Fraction
) -> PredictedNoise | None:
    """Return the facts that a prediction needs, for planes whose lattice has these units of y.

    ``drawn`` is everything that was drawn, a point for each of the plans last. None where the
    number of records is private, or for a loss or a mechanism that has no formula.
    """
    neighbours = plans[0].problem.unit.neighbours
    if not isinstance(neighbours, ReplaceOne):
        return None
    planes = []
    for plan, point in zip(plans, drawn[len(drawn) - len(plans) :], strict=True):
        made = plan.after(drawn) if isinstance(plan, AdaptivePlan) else plan
        found = _plane(made, point, scale)
        if found is None:
            return None
        planes.append(found)
    design: Any = plans[0].problem.loss.design  # type: ignore[attr-defined]
    rows = tuple((float(a), float(b)) for a, b in design.rows)
    law = _law(plans[0].problem.norm)
    return PredictedNoise(tuple(planes), rows, neighbours.n, law)


def _law(norm: Norm) -> str:
    """Return whose tails coefficients are taken to have."""
    return "round" if isinstance(norm.shape, RoundShape) else "box"


def _plane(plan: PerturbedPlan | DensityPlan, point: Point, scale: Fraction) -> PlaneNoise | None:
    loss: Any = plan.problem.loss
    name = _LOSSES.get(getattr(getattr(loss, "pointwise", None), "name", ""))
    if name is None or plan.weighs == "value":
        return None
    dim, design = loss.dim, loss.design
    squares = noise_squares(plan, point)
    if squares is None:
        return None
    ridge, centre = 0.0, (0.0,) * dim
    if isinstance(plan, PerturbedPlan):
        ridge, centre = float(plan.ridge), tuple(float(c) for c in plan.centre)
    return PlaneNoise(
        name,
        float(getattr(loss.pointwise, "tau", Fraction(1, 2))),
        _residual(plan, design),
        squares,
        ridge,
        centre,
        float(scale / design.half_y),
    )


def _residual(plan: PerturbedPlan | DensityPlan, design: Any) -> float:
    if isinstance(plan, PerturbedPlan) and plan.residual is not None:
        return float(plan.residual)
    if design.scale is not None:  # in units of a threshold
        return 1.0
    return 2 * _SIXTH  # of half ranges of y


def noise_squares(plan: PerturbedPlan | DensityPlan, point: Point) -> tuple[float, ...] | None:
    """Return the mean squares of the noise in each coordinate of the gradient."""
    problem, dim = plan.problem, plan.problem.loss.dim
    norm = problem.norm
    if isinstance(plan, PerturbedPlan):
        rate = plan.rate
    else:
        steady = plan.steady
        if steady is None:
            at = Region.at(plan.grid.theta(point))  # what was drawn is what is released
            steady = plan.delta.over(at)
            norm = plan.delta.norm_over(at) if plan.varies else norm
        rate = plan.epsilon / (2 * problem.unit.group(steady))
    if isinstance(norm.shape, BoxShape):
        sides = [float(w) for w in norm.shape.half_widths] or [1.0] * dim
    else:
        axes = ([Fraction(i == j) for i in range(dim)] for j in range(dim))
        sides = [1 / float(norm.value(axis)) for axis in axes]
    share = dim + 1.0 if isinstance(norm.shape, RoundShape) else (dim + 1) * (dim + 2) / 3
    return tuple(min(share * (w / float(rate)) ** 2, _LARGEST) for w in sides)
