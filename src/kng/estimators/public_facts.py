"""Public facts of a regression, read before the charge: its columns, bounds and centre."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from kng.bases import Earlier
from kng.core.bounds import Bounds, bounds_of
from kng.core.design import REACH, Design, design_of
from kng.core.encoding import DROP, Encoding, encoding_of
from kng.core.errors import SchemaError, SpecError
from kng.core.exact import exact, show
from kng.core.lattice import Lattice
from kng.core.naming import argument, in_python, outside_python
from kng.core.parts import Domain, Norm, described
from kng.core.records import Source
from kng.data import Engine
from kng.estimators.based import on_design
from kng.estimators.request import named_norm
from kng.losses.linear import Linear
from kng.norms import L1, L2, LInf

# Some noise is drawn in float64: outside these it would be lost in rounding, or overflow.
_EPSILON = (Fraction(1, 10**12), Fraction(10**6))
_RADIUS = (Fraction(1, 10**9), Fraction(REACH))
_LARGEST = 10**300
# Ranges that leave room in float64 for their steps, and for coefficients in units of them.
_NARROWEST, _LARGEST_RESPONSE = Fraction(1, 10**290), 10**290

# What is weighed: scores, values, sums, or the minimiser of a perturbed loss.
Kind = Literal["gradient", "value", "sum", "smooth"]
# Opens columns as a source.
Opening = Callable[[Encoding], Source]
# Finds out what columns there are, and how to open them.
Look = Callable[[], tuple["Columns", "Openings"]]
# What a response is called that has no name.
RESPONSE = "response"


@dataclass(frozen=True, slots=True)
class Openings:
    """How to open covariates and, last, the response; and the response alone."""

    table: Opening
    response: Opening


@dataclass(frozen=True, slots=True)
class Columns:
    """How many covariates there are and, where the data name them, what they are called."""

    width: int
    names: tuple[str, ...] | None = None
    response: str = RESPONSE
    bounds: Bounds | None = None  # of covariates that a formula makes

    @property
    def covariates(self) -> tuple[str, ...]:
        """What a receipt calls the covariates."""
        return self.names or tuple(f"x{j}" for j in range(self.width))

    @property
    def target(self) -> str:
        """What a receipt calls the response."""
        return self._apart(self.response)

    @property
    def intercept(self) -> str:
        """What a receipt calls the prediction where all covariates are 0."""
        return self._apart("intercept")

    def _apart(self, name: str) -> str:
        """Put a name of ours into brackets if a covariate has it."""
        while name in self.covariates:
            name = f"({name})"
        return name


def table_columns(engine: Engine, target: Any, features: Any, bounds_x: Any) -> tuple[str, ...]:
    """Return the names of the covariates: as stated, those with bounds, or all but the target."""
    if not isinstance(target, str):
        raise SpecError(
            f"{argument('target')} must be the name of the column to predict, got {target!r}; as "
            "in fit(table, target='income')."
        )
    if isinstance(features, str):
        raise SpecError(
            f"{argument('features')} must be a list of names, as in features=[{features!r}]."
        )
    if features is None:
        known = bounds_x if isinstance(bounds_x, Mapping) else [c.name for c in engine.columns()]
        features = [name for name in known if str(name) != target]
    names = tuple(str(name) for name in features)
    if not names:
        raise SpecError(f"{argument('features')} are missing; name the columns to predict from.")
    if target in names:
        raise SpecError(f"{target!r} is the target and cannot be a feature too; leave it out.")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SpecError(f"{argument('features')} name {twice[0]!r} twice; name it once.")
    return names


def has_dates(bounds: Any, of: str) -> bool:
    """Tell bounds of which some are dates; ``of`` is X or y."""
    return bounds is not None and bool(bounds_of(bounds, f"bounds_{of}").dates)


def declared_width(bounds_x: Any) -> int | None:
    """Return the number of covariates that bounds_X states, if it does."""
    if bounds_x is None:
        return None
    bounds = bounds_of(bounds_x, "bounds_X")
    if isinstance(bounds_x, Bounds | Mapping) or np.ndim(bounds_x[0]) == 1:
        return len(bounds)
    return None


def covariate_bounds(bounds_x: Any, columns: Columns) -> Bounds:
    """Read bounds_X: one pair for all columns, one array per end, or named columns."""
    if columns.bounds is not None:
        return columns.bounds
    if bounds_x is None:
        raise SpecError(
            f"{argument('bounds_X')} is missing. The public range of each covariate is never read "
            f"from the data; state it, as in {argument('bounds_X', (0, 100))} or {{'age': (0, "
            "100)}."
        )
    bounds = bounds_of(bounds_x, "bounds_X")
    if bounds.columns is not None:
        bounds = ordered(bounds, columns.names)
    if declared_width(bounds_x) is None:
        return Bounds(bounds.low * columns.width, bounds.high * columns.width)
    if len(bounds) != columns.width:
        raise SpecError(
            f"{argument('bounds_X')} are for {len(bounds)} covariate{'s'[: len(bounds) > 1]}, X "
            f"has {columns.width}. Give one (low, high) for all, or one low and one high for each."
        )
    return bounds


def ordered(bounds: Bounds, names: tuple[str, ...] | None) -> Bounds:
    """Put named bounds into the order of the columns."""
    assert bounds.columns is not None
    if names is None:
        raise SchemaError(
            f"{argument('bounds_X')} name columns, but X has no column names. Give a data frame, "
            "or bounds as one array per end."
        )
    unbounded = [repr(name) for name in names if name not in bounds.columns]
    if unbounded:
        unknown = [repr(name) for name in bounds.columns if name not in names]
        other = f". It names {', '.join(unknown)}, not in X" if unknown else ""
        raise SpecError(
            f"{argument('bounds_X')} has no bounds for {', '.join(unbounded)}{other}. Give bounds "
            "for each column of X."
        )
    at = [bounds.columns.index(name) for name in names]
    return Bounds(tuple(bounds.low[i] for i in at), tuple(bounds.high[i] for i in at))


def centre_of(value: Any, design: Design) -> tuple[Fraction, ...] | None:
    """Read a public guess of the coefficients, in the order of a release, into standard units."""
    if value is None:
        return None
    counted = hasattr(value, "__len__") and not isinstance(value, str | Mapping)
    if not counted or len(value) != design.dim:
        raise SpecError(
            f"{argument('centre')} must be {design.dim} numbers, one for each coefficient in the "
            f"order {in_python('of release_.value')}{outside_python('of the receipt')}: the "
            "intercept first, if there is one."
        )
    centre = design.units.inverse([exact(number, "centre") for number in value])
    if max(map(abs, centre)) > REACH:
        raise SpecError(
            f"{argument('centre')} lies outside what can be released: {REACH} units of the "
            f"response for a covariate at its bound. Give a guess that {argument('bounds_X')} and "
            f"{argument('bounds_y')} allow."
        )
    return centre


def resolved(epsilon: Fraction, coef_bound: Fraction | None, design: Design) -> None:
    """Refuse public numbers that a draw in float64 could not follow."""
    if not _EPSILON[0] <= epsilon <= _EPSILON[1]:
        raise SpecError(
            f"{argument('epsilon')} must lie between 1e-12 and 1e6 for a linear model; got "
            f"{float(epsilon):g}."
        )
    if coef_bound is not None and not _RADIUS[0] <= coef_bound / design.half_y <= _RADIUS[1]:
        raise SpecError(
            f"{argument('coef_bound')} must lie between 1e-9 and {REACH} times "
            f"{show(design.half_y)}, the unit of the response; got {float(coef_bound):g}. Half the "
            "range of y is a value to start from."
        )
    units, reach = design.units, -design.lattice.origin[0]
    for row, offset in zip(units.matrix, units.offset, strict=True):
        if sum(abs(v) for v in row if v) * reach + abs(offset) > _LARGEST:
            raise SpecError(
                f"{argument('bounds_X')} are so narrow, for this range of the response, that a "
                "coefficient could exceed 1e300, more than float64 holds. Use other units."
            )


def norm_of(value: Any, automatic: Norm) -> Norm:
    """Return a norm by its name, or the one that it is."""
    return named_norm(value, {"auto": automatic, "linf": LInf(), "l2": L2(), "l1": L1()})


def response_range(value: Any) -> tuple[Fraction, Fraction]:
    """Read bounds_y where coefficients are in units of their width."""
    low, high = response_bounds(value)
    if high - low < _NARROWEST or max(-low, high) > _LARGEST_RESPONSE:
        raise SpecError(
            f"{argument('bounds_y')} must lie between -1e290 and 1e290 and be at least 1e-290 "
            f"wide, for coefficients in float64; got {float(low):g} to {float(high):g}. Use other "
            "units."
        )
    return low, high


def response_bounds(value: Any) -> tuple[Fraction, Fraction]:
    """Read bounds_y, one pair of numbers."""
    if value is None:
        raise SpecError(
            f"{argument('bounds_y')} is missing. The public range of the response is never read "
            f"from the data; state it, as in {argument('bounds_y', (0, 100))}."
        )
    bounds = bounds_of(value, "bounds_y")
    if len(bounds) != 1:
        raise SpecError(f"{argument('bounds_y')} must be one pair (low, high), got {len(bounds)}.")
    return bounds.low[0], bounds.high[0]


def on_effects(
    loss: Linear, design: Design, domain: Domain, kind: Kind
) -> tuple[Linear, Domain, Lattice]:
    """Put a linear model over a design, on a domain of effects in units of y.

    Returns the loss, the domain in units of the standardised response, and where answers live.
    """
    if isinstance(domain.base, Earlier):
        domain = on_design(domain, loss, design)
    known = domain.scaled(1 / design.half_y).sized(design.dim)
    if kind == "smooth":
        return loss.over(design), known, design.lattice
    bound = None
    if known.bounded:
        bound = max(max(abs(low), abs(high)) for low, high in known.region().sides())
        if loss.proportion is not None and not _RADIUS[0] <= bound <= REACH:
            raise SpecError(
                f"{described(domain)} must reach 1e-9 to {REACH} times {show(design.half_y)}, the "
                "unit of the response. Half the range of y is a value to start from."
            )
    answers = loss.lattice(design, bound)
    return loss.over(design, answers), known, answers


def filled(design: Design, columns: Columns, missing: Any) -> Design:
    """Return the design with what missing cells count as, where it is stated."""
    if missing is None or (isinstance(missing, str) and missing == DROP):
        return design
    records, names = design.records, (*columns.covariates, columns.response)
    if isinstance(missing, Mapping):
        _refuse_unknown(missing, names)
        missing = {name: missing.get(name, DROP) for name in names}
    bounds = replace(records.bounds, columns=names)
    known = encoding_of(bounds, granularity=list(records.step), missing=missing, bits=0)
    facts = design.intercept, design.scale, design.origin
    return design_of(replace(records, missing=known.missing), *facts)


def _refuse_unknown(missing: Mapping[Any, Any], names: tuple[str, ...]) -> None:
    unknown = [name for name in missing if name not in names]
    if unknown:
        raise SpecError(
            f"{argument('missing')} names {unknown[0]!r}, which is not a column of the model. It "
            f"has {', '.join(map(repr, names))}."
        )


def remember(model: Any, covariates_: Any = None, formula_: str | None = None) -> None:
    """Keep what a formula makes of columns for predictions; without one forget an earlier one."""
    for name, value in {"covariates_": covariates_, "formula_": formula_}.items():
        vars(model).pop(name, None)
        if value is not None:
            setattr(model, name, value)
