"""Public numbers of a regression, read and refused before the charge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from kng.core.bounds import Bounds, bounds_of
from kng.core.design import REACH, Column, Design, across
from kng.core.encoding import Encoding, encoding_of
from kng.core.errors import SchemaError, SpecError
from kng.core.exact import exact, show
from kng.core.parts import Norm
from kng.estimators.request import one_of
from kng.norms import L1, L2, LInf

# Steps between the bounds of a covariate. 2**17 records times squares of 2**17 stay below 2**53,
# so BLAS adds products exactly; and 2**-16 of a range is far below any statistical error.
_STEPS = 2**16
# Some noise is drawn in float64: outside these it would be lost in rounding, or overflow.
_EPSILON = (Fraction(1, 10**12), Fraction(10**6))
_RADIUS = (Fraction(1, 10**9), Fraction(REACH))
_LARGEST = 10**300
# Ranges that leave room in float64 for their steps, and for coefficients in units of them.
_NARROWEST, _LARGEST_RESPONSE = Fraction(1, 10**290), 10**290

Cut = Callable[[Fraction, Fraction, int], Column]


def ordered(bounds: Bounds, names: tuple[str, ...] | None) -> Bounds:
    """Put named bounds into the order of the columns."""
    assert bounds.columns is not None
    if names is None:
        raise SchemaError(
            "bounds_X name columns, but X has no column names. Give a data frame, or bounds as "
            "one array per end."
        )
    unknown = [repr(name) for name in bounds.columns if name not in names]
    unbounded = [repr(name) for name in names if name not in bounds.columns]
    faults = [f"has {', '.join(unknown)}, not in X"] if unknown else []
    faults += [f"has nothing for {', '.join(unbounded)}"] if unbounded else []
    if faults:
        raise SpecError(
            f"bounds_X {' and '.join(faults)}. Give bounds for each column of X and for no other."
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
            f"centre must be {design.dim} numbers, one for each coefficient in the order of "
            "release_.value: the intercept first, if there is one."
        )
    centre = design.units.inverse([exact(number, "centre") for number in value])
    if max(map(abs, centre)) > REACH:
        raise SpecError(
            f"centre lies outside what can be released: {REACH} units of the response for a "
            "covariate at its bound. Give a guess that bounds_X and bounds_y allow."
        )
    return centre


def resolved(epsilon: Fraction, coef_bound: Fraction | None, design: Design) -> None:
    """Refuse public numbers that a draw in float64 could not follow."""
    if not _EPSILON[0] <= epsilon <= _EPSILON[1]:
        raise SpecError(
            f"epsilon must lie between 1e-12 and 1e6 for a linear model; got {float(epsilon):g}."
        )
    if coef_bound is not None and not _RADIUS[0] <= coef_bound / design.half_y <= _RADIUS[1]:
        raise SpecError(
            f"coef_bound must lie between 1e-9 and {REACH} times {show(design.half_y)}, the unit "
            f"of the response; got {float(coef_bound):g}. Half the range of y is a value to start "
            "from."
        )
    units, reach = design.units, -design.lattice.origin[0]
    for row, offset in zip(units.matrix, units.offset, strict=True):
        if sum(abs(v) for v in row if v) * reach + abs(offset) > _LARGEST:
            raise SpecError(
                "bounds_X are so narrow, for this range of the response, that a coefficient "
                "could exceed 1e300, more than float64 holds. Use other units."
            )


def norm_of(name: str, automatic: Norm) -> Norm:
    """Return a norm by its name."""
    one_of("norm", name, ("auto", "linf", "l2", "l1"))
    norms: dict[str, Norm] = {"auto": automatic, "linf": LInf(), "l2": L2(), "l1": L1()}
    return norms[name]


@lru_cache(maxsize=64)
def encoded(covariates: Bounds, response: Column, cut: Cut = across) -> Encoding:
    """Encode covariates in 2**16 steps and a response given by low, high and step."""
    ranges = zip(covariates.low, covariates.high, strict=True)
    columns = [*(cut(low, high, _STEPS) for low, high in ranges), response]
    if any(high - low < _NARROWEST for low, high, _ in columns[:-1]):
        raise SpecError(
            "bounds_X must be at least 1e-290 wide, for float64 to tell their steps apart. Use "
            "other units."
        )
    lows, highs, steps = zip(*columns, strict=True)
    return encoding_of(Bounds(lows, highs), granularity=steps, missing=None, bits=0)


def response_range(value: Any) -> tuple[Fraction, Fraction]:
    """Read bounds_y where coefficients are in units of their width."""
    low, high = response_bounds(value)
    if high - low < _NARROWEST or max(-low, high) > _LARGEST_RESPONSE:
        raise SpecError(
            "bounds_y must lie between -1e290 and 1e290 and be at least 1e-290 wide, for "
            f"coefficients in float64; got {float(low):g} to {float(high):g}. Use other units."
        )
    return low, high


def response_bounds(value: Any) -> tuple[Fraction, Fraction]:
    """Read bounds_y, one pair of numbers."""
    if value is None:
        raise SpecError(
            "bounds_y is missing. The public range of the response is never read from the data; "
            "state it, as in bounds_y=(0, 100)."
        )
    bounds = bounds_of(value, "bounds_y")
    if len(bounds) != 1:
        raise SpecError(f"bounds_y must be one pair (low, high), got {len(bounds)}.")
    return bounds.low[0], bounds.high[0]
