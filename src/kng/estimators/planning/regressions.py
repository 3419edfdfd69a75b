"""Plans for linear models: what they would draw, and dry runs on simulated records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import log, pi, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from kng.core.bits import Simulator, simulator
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, positive, whole
from kng.core.naming import argument, keyword
from kng.core.privacy import AddRemove, ReplaceOne
from kng.estimators.declared_classes import declared
from kng.estimators.expectile import ExpectileRegressor
from kng.estimators.huber import HuberRegressor
from kng.estimators.linear import LinearRegression
from kng.estimators.logistic import LogisticRegression
from kng.estimators.model_plans import PlannedModel
from kng.estimators.planning.choices import choices
from kng.estimators.planning.declared import Array, Column, columns_of
from kng.estimators.planning.dry_run import Numbers, Trial, measured
from kng.estimators.planning.expected import Expected, sound
from kng.estimators.planning.linear import ModelShape
from kng.estimators.planning.models import errors_of
from kng.estimators.planning.plain_fits import plain_fit
from kng.estimators.planning.present import counted_of
from kng.estimators.planning.report import ReleasePlan
from kng.estimators.planning.scores import expectile_of_normal
from kng.estimators.planning.statistics import read_error
from kng.estimators.poisson import PoissonRegressor
from kng.estimators.public_facts import Columns, declared_width, response_bounds
from kng.estimators.quantile_regression import QuantileRegressor
from kng.estimators.regression import PrivateModel

# Data sets that are simulated where there is no formula.
_SIMULATED = 20
# Without a guess residuals are so large, in ranges of y: with effects y spreads over a sixth of it.
_SEVENTH = 1 / 7
# What log-odds and logarithms of counts have in place of residuals: effects are measured in it.
_UNITS = (pi / sqrt(3), 0.5)
# Logarithms of means beyond this are no counts that are simulated.
_MOST_LOG = 40.0
_PLANNED = (
    LinearRegression, HuberRegressor, QuantileRegressor, ExpectileRegressor, LogisticRegression,
    PoissonRegressor,
)  # fmt: skip
# Models whose responses have the spread that their mean says.
_SPREAD = (LogisticRegression, PoissonRegressor)
# Without a guess counts are so large, in parts of their range.
_USUAL_COUNT, _LEAST_COUNT = 1 / 4, 1e-9


def model_plan(
    model: PlannedModel,
    *,
    n: Any,
    features: Any,
    residual: Any,
    spread: Any,
    centre: Any,
    coef: Any,
    intercept: Any,
    error: Any,
    present: Any,
) -> ReleasePlan:
    """Plan a fit."""
    if not isinstance(model, _PLANNED):
        raise SpecError(
            f"{type(model).__name__} has no plan yet. Plan LinearRegression, HuberRegressor, "
            "QuantileRegressor, ExpectileRegressor, LogisticRegression or PoissonRegressor."
        )
    # A plan charges nothing, so that it asks for no ledger.
    model = type(model)(**{**model.get_params(deep=False), "ledger": None})
    number, ask = whole(n, "n", 2), model._request()
    columns = _columns(model, features)
    bounds = model._covariates(columns)
    covariates = tuple(columns_of(bounds.low, bounds.high, centre, spread, None))
    size = _residual(model, residual)
    unit = size or _UNITS[isinstance(model, PoissonRegressor)]
    coefficients = _coefficients(model, covariates, coef, intercept, unit)
    shape = ModelShape(covariates, coefficients, size, counted_of(present, model.missing))

    held = shape.counted.of(number)
    if held <= len(coefficients):
        raise SpecError(
            f"{argument('n')} must be larger: {len(coefficients)} coefficients need more than "
            f"{held} records."
        )

    def errors(records: int, cost: Fraction) -> list[Expected]:
        return errors_of(model, columns, shape, replace(ask, epsilon=cost), records)

    trial, known = _trial(model, columns, shape, number), sound(errors)
    how, formula = "formula", True
    try:
        expected = tuple(known(number, ask.epsilon))
    except IncompatibleParts:
        how, formula = f"measured on {_SIMULATED} simulated data sets: no formula", False
        run = measured(trial, _numbers(model, columns), _SIMULATED, 0)
        rows = zip(run.names, run.total, run.sampling, strict=True)
        expected = tuple(Expected(a, max(t * t - s * s, 0) ** 0.5, s) for a, t, s in rows)
    return ReleasePlan(
        model._statistic, number, ask.epsilon, expected, _said(columns, shape, residual, coef),
        choices(model, columns, shape, number) if formula else (), read_error(error), how,
        known if formula else None, trial,
    )  # fmt: skip


def _columns(model: PrivateModel, features: Any) -> Columns:
    """Return the covariates: as bounds_X has them, or as many as are stated."""
    declared_columns = getattr(model.bounds_X, "keys", None)
    if declared_columns is not None:
        names = tuple(str(name) for name in model.bounds_X)
        return Columns(len(names), names)
    width = declared_width(model.bounds_X)
    if features is not None:
        listed = hasattr(features, "__len__") and not isinstance(features, str)
        stated = len(features) if listed else whole(features, "features", 1)
        return Columns(stated, tuple(map(str, features)) if listed else None)
    if width is None and model.bounds_X is not None:
        raise SpecError(
            f"{argument('bounds_X')} is one pair for all covariates and does not say how many "
            f"there are. Give {keyword('features')}, as in plan(n=3000, features=3)."
        )
    return Columns(width or 1)


def _coefficients(
    model: PrivateModel, covariates: Sequence[Column], coef: Any, intercept: Any, unit: float
) -> tuple[float, ...]:
    """Read guesses of the coefficients; the plane goes through the middle of what it goes through.

    Without guesses slopes explain a quarter of the variance of y together: a ridge that draws to 0
    must not look right because there is nothing to find. ``unit`` is the deviation of residuals.
    """
    if coef is None:
        each = unit / sqrt(3 * len(covariates))
        slopes = [
            (-1) ** j * each / column.deviation if column.deviation else 0.0
            for j, column in enumerate(covariates)
        ]
    else:
        slopes = [float(exact(v, "coef")) for v in np.atleast_1d(coef).tolist()]
    if len(slopes) != len(covariates):
        raise SpecError(
            f"{argument('coef')} must have one number per covariate; there are {len(slopes)} for "
            f"{len(covariates)}."
        )
    if not model.fit_intercept:
        return tuple(slopes)
    if intercept is not None:
        return float(exact(intercept, "intercept")), *slopes
    middle = 0.0
    if model.bounds_y is not None:
        low, high = response_bounds(model.bounds_y)
        middle = float(low + high) / 2
        if isinstance(model, PoissonRegressor):
            middle = log(max(float(low) + _USUAL_COUNT * float(high - low), _LEAST_COUNT))
    away = sum(b * column.mean for b, column in zip(slopes, covariates, strict=True))
    return middle - away, *slopes


def _residual(model: PrivateModel, residual: Any) -> float | None:
    if isinstance(model, _SPREAD):
        if residual is not None:
            raise SpecError(f"{type(model).__name__} has no residual spread; leave residual out.")
        return None
    if residual is not None:
        return float(positive(residual, "residual"))
    if model.bounds_y is not None:
        low, high = response_bounds(model.bounds_y)
        return float(high - low) * _SEVENTH
    return float(positive(getattr(model, "threshold", 1), "threshold"))


def _said(columns: Columns, shape: ModelShape, residual: Any, coef: Any) -> str:
    words = [
        f"{name} {column.described()}"
        for name, column in zip(columns.covariates, shape.covariates, strict=True)
    ]
    slopes = ", ".join(f"{slope:.3g}" for slope in shape.coefficients[-columns.width :])
    effects = "" if coef is not None else " (a guess; state the slopes for a better one)"
    words.append(f"slopes {slopes}{effects}")
    if shape.residual is not None:
        doubt = "" if residual is not None else " (a guess; state the residual for a better one)"
        words.append(f"residuals normal with standard deviation {shape.residual:.4g}{doubt}")
    return shape.counted.said("; ".join(words))


def _numbers(model: PrivateModel, columns: Columns) -> list[str]:
    names = list(model._coefficients(columns))
    if isinstance(model, QuantileRegressor) and np.ndim(model.quantile):
        return [f"{name} at {float(q):g}" for q in model.quantile for name in names]
    return names


def _trial(model: PrivateModel, columns: Columns, shape: ModelShape, n: int) -> Trial:
    """Return how one data set is simulated and fitted, with privacy and without."""
    truths = _truths(model, columns, shape)
    response = _response(model)
    own = len(shape.coefficients) - len(shape.covariates)
    intercept = shape.coefficients[0] if own else 0.0
    slopes = np.array(shape.coefficients[own:])
    alike = _alike(model)

    def trial(seed: int) -> tuple[Numbers, Numbers, Numbers]:
        rng = simulator(seed)
        X = np.column_stack([column.draw(rng, n) for column in shape.covariates])
        y = response(rng, intercept + X @ slopes, shape.residual)
        gone = shape.counted.absent(rng, n)
        released = X.copy()
        released[gone] = np.nan
        fitted: Any = type(model)(**{**model.get_params(deep=False), **alike, "random_state": seed})
        if hasattr(model.bounds_X, "keys"):
            from kng.core.bounds import Bounds

            known = model._covariates(columns)
            fitted.bounds_X = Bounds(known.low, known.high)
        fitted.fit(released, y)
        value = np.ravel(fitted.release_.value)
        return value, plain_fit(model, X[~gone], y[~gone]), truths

    return trial


def _alike(model: PrivateModel) -> dict[str, Any]:
    """Return options with which an array has the law that a table has with the model's own.

    Where people are replaced, that is the law of adding or removing one with half of epsilon.
    """
    found: dict[str, Any] = {"ledger": None, "where": None}
    if model.person is not None:
        ask = model._request()
        halved = ask.epsilon / 2 if ask.neighbours == ReplaceOne.name else ask.epsilon
        found |= {"person": None, "max_records": None, "records_per_person": ask.records_per_person}
        found |= {"neighbours": AddRemove.name, "epsilon": halved}
    return found


def _truths(model: PrivateModel, columns: Columns, shape: ModelShape) -> list[float]:
    truth = list(shape.coefficients)
    if shape.residual is not None and model.fit_intercept:
        shifts = [0.0]
        if isinstance(model, QuantileRegressor):
            taus = [float(v) for v in np.atleast_1d(model.quantile)]
            shifts = [shape.residual * NormalDist().inv_cdf(tau) for tau in taus]
        elif isinstance(model, ExpectileRegressor):
            shifts = [shape.residual * expectile_of_normal(float(model.expectile))]
        return [v for s in shifts for v in (truth[0] + s, *truth[1:])]
    return truth * (len(_numbers(model, columns)) // len(truth))


def _response(
    model: PrivateModel,
) -> Callable[[Simulator, Array, float | None], Any]:
    """Return how responses are simulated around a plane."""
    if isinstance(model, LogisticRegression):
        classes = declared(model.classes)
        if len(classes) > 2:
            raise SpecError(
                "A plan for logistic regression is for two classes; plan one against the rest."
            )
        return lambda rng, eta, _: classes[
            (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(int)
        ]
    if isinstance(model, PoissonRegressor):
        return lambda rng, eta, _: rng.poisson(np.exp(np.minimum(eta, _MOST_LOG)))
    return lambda rng, eta, spread: eta + (spread or 0.0) * rng.normal(size=len(eta))
