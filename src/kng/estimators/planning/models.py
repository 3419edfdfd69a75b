"""The plans that a linear model would draw, from public facts alone, and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts
from kng.core.exact import positive
from kng.core.perturbed import AdaptivePlan, PerturbedPlan
from kng.core.plan import DensityPlan
from kng.estimators.class_plans import ClassPlans
from kng.estimators.declared_classes import declared
from kng.estimators.expectile import ExpectileRegressor
from kng.estimators.fit import Fit
from kng.estimators.huber import HuberRegressor
from kng.estimators.huber_boxes import boxed_plan
from kng.estimators.linear import LinearRegression
from kng.estimators.logistic import LogisticRegression
from kng.estimators.planning.declared import Column, normal_share
from kng.estimators.planning.expected import Expected
from kng.estimators.planning.linear import ModelShape, model_errors, root_mean
from kng.estimators.planning.location import quantile_error
from kng.estimators.planning.units import unit_of
from kng.estimators.poisson import PoissonRegressor
from kng.estimators.public_facts import Columns, resolved
from kng.estimators.quantile_regression import QuantileRegressor
from kng.estimators.regression import PrivateModel
from kng.estimators.request import Request
from kng.estimators.several_quantiles import Quantiles, kept_apart
from kng.estimators.smoothed_quantiles import is_smoothed

# Models whose plan follows from the design alone.
_FITTED = (LinearRegression, HuberRegressor, ExpectileRegressor, PoissonRegressor)
# Thresholds that are drawn more rarely than this count for nothing.
_RARE = 1e-3


def errors_of(
    model: PrivateModel, columns: Columns, shape: ModelShape, ask: Request, n: int
) -> list[Expected]:
    """Return the errors of all coefficients; refuse models without a formula."""
    names = model._coefficients(columns)
    unit, m = unit_of(ask, n, model.missing), shape.counted.of(n)
    if isinstance(model, LogisticRegression):
        return _odds(model, columns, shape, ask, n)
    if isinstance(model, QuantileRegressor):
        return _planes(model, columns, shape, ask, n)
    if isinstance(model, HuberRegressor) and model._way.name in ("kng", "exponential"):
        design = model._design(columns)
        resolved(ask.epsilon, None, design)
        domain = model._box(design) if model._way.domain is None else model._way.domain
        boxed = boxed_plan(model._way, design, domain, ask.epsilon, unit)
        return model_errors(boxed, shape, names, m)
    if not isinstance(model, _FITTED):
        raise IncompatibleParts(f"{type(model).__name__} has no formula for its error.")
    bound = None if model.coef_bound is None else positive(model.coef_bound, "coef_bound")
    design = model._design(columns)
    resolved(ask.epsilon, bound, design)
    fit = model._planned(design, ask, bound, unit, _unopened)
    squares = isinstance(model, LinearRegression)
    wander = _wander(fit, shape, m) if model._way.centre is None else 0.0
    pairs = [
        (model_errors(plan, shape, names, m, squares=squares, wander=wander), weight)
        for plan, weight in _made(fit, shape, m)
    ]
    return root_mean([errors for errors, _ in pairs], [weight for _, weight in pairs])


def _unopened(_: Encoding) -> Any:
    """Open nothing: a plan reads no record."""


def _made(fit: Fit, shape: ModelShape, n: int) -> list[tuple[PerturbedPlan | DensityPlan, float]]:
    """Return the plans that follow from what may be drawn first, and how likely each is."""
    plan = fit.plan
    if not isinstance(plan, AdaptivePlan):
        return [(plan, 1.0)]
    assert shape.residual is not None
    *centre, spread = [stage.plans[0] for stage in fit.before]
    records = fit.before[0].plans[0].problem.records
    step, low = float(records.step[0]), float(records.bounds.low[0])
    middle, size = response_of(shape)
    first = [(round((middle - low) / step),)] if centre else []
    loss: Any = spread.problem.loss
    zero = first[0][0] if first else round(-low / step)
    radii = np.array(loss.rule.radii, dtype=float) * step
    off = middle - (low + zero * step)
    inside = normal_share((radii - off) / size) - normal_share((-radii - off) / size)
    below = np.concatenate([[0.0], inside[:-1]])
    level, rate = float(loss.location.pointwise.tau), _rate(spread)
    # A radius stands for all distances up to it and beyond the one before.
    score = np.maximum(np.maximum(below - level, level - inside), 0)
    weights = np.exp(-rate * n * (score - score.min()))
    weights /= weights.sum()
    return [
        (plan.after([*first, (int(k),)]), float(weights[k]))
        for k in np.flatnonzero(weights > _RARE)
    ]


def _wander(fit: Fit, shape: ModelShape, n: int) -> float:
    """Return how far a drawn centre of y, which the ridge draws to, lies from the true one."""
    if not isinstance(fit.plan, AdaptivePlan) or len(fit.before) < 2:
        return 0.0
    plan = fit.before[0].plans[0]
    bounds, (middle, size) = plan.problem.records.bounds, response_of(shape)
    low, high = float(bounds.low[0]), float(bounds.high[0])
    response = Column(low, high, min(max(middle, low), high), size)
    return quantile_error(_rate(plan), response, 0.5, n).noise


def response_of(shape: ModelShape) -> tuple[float, float]:
    """Return the mean and the standard deviation of the response."""
    assert shape.residual is not None
    slopes = shape.coefficients[-len(shape.covariates) :]
    intercept = shape.coefficients[0] if len(shape.coefficients) > len(slopes) else 0.0
    pairs = list(zip(slopes, shape.covariates, strict=True))
    mean = intercept + sum(b * column.mean for b, column in pairs)
    return mean, float(
        np.hypot(shape.residual, np.hypot.reduce([0.0, *(b * c.deviation for b, c in pairs)]))
    )


def _rate(plan: Any) -> float:
    return float(plan.epsilon / (2 * plan.problem.unit.group(plan.steady)))


def _planes(
    model: QuantileRegressor,
    columns: Columns,
    shape: ModelShape,
    ask: Request,
    n: int,
) -> list[Expected]:
    unit, m = unit_of(ask, n, model.missing), shape.counted.of(n)
    asked = Quantiles.of(model.quantile, model.weights, ask.epsilon)
    dim = columns.width + bool(model.fit_intercept)
    if is_smoothed(model._way, model.smoothing, dim, model.coef_bound):
        raise IncompatibleParts("a smoothed plane has no formula for its error.")
    design = model._design(columns)
    resolved(ask.epsilon, None, design)
    effects = model._box(design)
    apart = kept_apart(model.noncrossing, effects, design, unit, asked)
    plans = model._plans(design, unit, effects, asked, apart)
    names = model._coefficients(columns)
    found: list[Expected] = []
    for tau, plan in zip(asked.taus, _in_order(plans, asked.order(apart)), strict=True):
        labels = [f"{name} at {float(tau):g}" for name in names] if asked.several else names
        found += model_errors(plan, shape, labels, m)
    return found


def _in_order(plans: Sequence[DensityPlan], order: Sequence[int]) -> list[DensityPlan]:
    """Return plans in the order of quantiles; they are made in the order of draws."""
    placed = dict(zip(order, plans, strict=True))
    return [placed[i] for i in range(len(plans))]


def _odds(
    model: LogisticRegression,
    columns: Columns,
    shape: ModelShape,
    ask: Request,
    n: int,
) -> list[Expected]:
    unit, m = unit_of(ask, n, model.missing), shape.counted.of(n)
    classes = declared(model.classes)
    if len(classes) != 2:
        raise IncompatibleParts("three or more classes have no formula for their error.")
    design = model._design_for(columns, 2)
    resolved(ask.epsilon, None, design)
    bound = None if model.coef_bound is None else positive(model.coef_bound, "coef_bound")
    plans = ClassPlans(model._way, design, unit, bound, [1], 2, model._box).plans(ask.epsilon)
    return model_errors(plans[0], shape, model._coefficients(columns), m)
