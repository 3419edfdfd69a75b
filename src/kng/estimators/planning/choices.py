"""Options of a regression beside each other: the same plane, records and epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kng.core.errors import IncompatibleParts, SpecError
from kng.estimators.assembled import ObjectivePerturbation
from kng.estimators.huber import HuberRegressor
from kng.estimators.linear import LinearRegression
from kng.estimators.logistic import LogisticRegression
from kng.estimators.planning.expected import Expected, sound
from kng.estimators.planning.linear import ModelShape
from kng.estimators.planning.models import errors_of
from kng.estimators.planning.report import Choice, times_plain
from kng.estimators.poisson import PoissonRegressor
from kng.estimators.public_facts import Columns
from kng.estimators.quantile_regression import QuantileRegressor
from kng.estimators.regression import PrivateModel

# Coefficients, the intercept included, up to which densities are compared with perturbation.
_DRAWN = 3
# Thresholds in deviations of residuals, shares of epsilon for the noise, and norms.
_THRESHOLDS = (0.5, 1.0, 1.5, 2.0, 3.0)
_SHARES = ("0.5", "0.7", "0.85", "0.95")
_NORMS = ("auto", "linf", "l2", "l1")
_PERTURBED = (LinearRegression, HuberRegressor, LogisticRegression, PoissonRegressor)
_SHARED = (
    *("epsilon", "bounds_X", "bounds_y", "fit_intercept", "neighbours", "n_max"),
    *("records_per_person", "missing"),
)


def choices(model: PrivateModel, columns: Columns, shape: ModelShape, n: int) -> tuple[Choice, ...]:
    """Return what is to be chosen; an option with one value that has a formula is no choice."""
    small = columns.width + bool(model.fit_intercept) <= _DRAWN
    rivals = {
        "loss": _losses(model, small),
        "threshold": _thresholds(model, shape),
        "mechanism": _mechanisms(model, small),
        "share": _shares(model, shape),
        "norm": _norms(model),
    }
    found = [Choice(name, _times(each, columns, shape, n)) for name, each in rivals.items()]
    return tuple(choice for choice in found if len(choice.times) > 1)


def _times(
    rivals: Mapping[str, PrivateModel], columns: Columns, shape: ModelShape, n: int
) -> dict[str, float]:
    """Return the largest error of each in units of the first one's without privacy."""
    plain: Sequence[Expected] | None = None
    found = {}
    for name, rival in rivals.items():
        try:
            errors = _errors(rival, columns, shape, n)
        except (IncompatibleParts, SpecError):
            continue
        plain = errors if plain is None else plain
        pairs = zip(errors, plain, strict=True)
        found[name] = times_plain(
            [replace(e, noise=_beyond(e, p), sampling=p.sampling) for e, p in pairs]
        )
    return found


def _errors(model: PrivateModel, columns: Columns, shape: ModelShape, n: int) -> Sequence[Expected]:
    ask = model._request()
    return sound(lambda m, _: errors_of(model, columns, shape, ask, m))(n, ask.epsilon)


def _beyond(error: Expected, plain: Expected) -> float:
    """Return what a total adds to another sampling error; below it nothing."""
    return float(max(error.total**2 - plain.sampling**2, 0.0) ** 0.5)


def _with(model: PrivateModel, **options: Any) -> PrivateModel:
    """Return the model with other options."""
    return type(model)(**{**model.get_params(deep=False), "ledger": None, **options})


def _losses(model: PrivateModel, small: bool) -> dict[str, PrivateModel]:
    if not isinstance(model, LinearRegression | HuberRegressor) or model.bounds_y is None:
        return {}
    shared = {name: getattr(model, name) for name in _SHARED}
    rivals: dict[str, PrivateModel] = {
        "LinearRegression": LinearRegression(**shared),
        "HuberRegressor": HuberRegressor(**shared, threshold="auto"),
    }
    if small:
        rivals["QuantileRegressor"] = QuantileRegressor(**shared)
    return rivals


def _thresholds(model: PrivateModel, shape: ModelShape) -> dict[str, PrivateModel]:
    """Compare thresholds around the declared residuals; the first is the model's own."""
    if not isinstance(model, HuberRegressor) or shape.residual is None:
        return {}
    sizes = [float(f"{times * shape.residual:.2g}") for times in _THRESHOLDS]
    own = model.threshold if isinstance(model.threshold, str) else f"{float(model.threshold):g}"
    rivals = {own: model} | {f"{size:g}": _with(model, threshold=size) for size in sizes}
    if model.bounds_y is not None:
        rivals["auto"] = _with(model, threshold="auto")
    return rivals


def _mechanisms(model: PrivateModel, small: bool) -> dict[str, PrivateModel]:
    """Compare perturbation with a draw from a box, where "auto" does."""
    if not isinstance(model, LogisticRegression) or model.mechanism != "auto" or not small:
        return {}
    return {name: _with(model, mechanism=name) for name in ("auto", "objective", "kng")}


def _shares(model: PrivateModel, shape: ModelShape) -> dict[str, PrivateModel]:
    """Compare shares of epsilon for the noise; the rest makes the ridge smaller.

    Where slopes are 0 a ridge costs nothing, and there is nothing to compare.
    """
    effects = any(shape.coefficients[-len(shape.covariates) :])
    if not isinstance(model, _PERTURBED) or model.mechanism != "auto" or not effects:
        return {}
    ways = {share: ObjectivePerturbation(share=float(share)) for share in _SHARES}
    stated = {share: _with(model, mechanism=way) for share, way in ways.items()}
    return {"auto": _with(model, mechanism="auto")} | stated


def _norms(model: PrivateModel) -> dict[str, PrivateModel]:
    if not isinstance(model.norm, str):
        return {}
    return {name: _with(model, norm=name) for name in _NORMS}
