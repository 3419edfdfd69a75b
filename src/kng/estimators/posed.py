"""A loss over records with public bounds, on a domain: what is asked, before any record is seen.

Theta of a location is in the units of the records. Theta of a linear model is effects, as
coef_bound bounds them: the prediction at the middle of bounds_X minus the middle of bounds_y, then
coefficient times half a range, all in units of y.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from kng.core.bounds import Bounds, bounds_of
from kng.core.design import Design
from kng.core.encoding import Encoding, encoding_of
from kng.core.errors import IncompatibleParts, KngError, SpecError
from kng.core.exact import show
from kng.core.lattice import AffineMap, Lattice
from kng.core.naming import Code, argument
from kng.core.parts import Domain, Loss, described
from kng.core.receipt_text import RECORD_BALL
from kng.core.regions import Grid
from kng.core.release import Fact
from kng.estimators.based import refuse_coefficients
from kng.estimators.public_facts import (
    Columns,
    Kind,
    covariate_bounds,
    declared_width,
    filled,
    on_effects,
    response_bounds,
    response_range,
)
from kng.estimators.record_balls import HeldRecords, bounds_in, held_records
from kng.losses.linear import Linear
from kng.losses.location import Location

# Steps between the bounds for losses that do not say themselves, in powers of two.
_BITS = 20
# Scales of a loss that leave room in float64 for steps.
_SMALLEST, _LARGEST = Fraction(1, 10**290), 10**290


@dataclass(frozen=True, slots=True)
class Asked:
    """What callers state of records: bounds in one of two forms, steps, and a default."""

    bounds: Any = None
    bounds_X: Any = None  # noqa: N815 - scikit-learn's capital X
    bounds_y: Any = None
    granularity: Any = None
    missing: Any = None


@dataclass(frozen=True, slots=True)
class Posed:
    """A loss over its records, and a domain in the loss's own units.

    ``factor`` times theta in the caller's units is theta in the loss's. ``columns`` are those of a
    table that are to be opened; None where all are. ``held`` is of records in a ball.
    """

    loss: Loss
    domain: Domain
    records: Encoding
    answers: Lattice
    bounds: Bounds
    scalar: bool
    facts: Mapping[str, Fact]
    factor: Fraction = Fraction(1)
    units: AffineMap | None = None
    columns: tuple[str, ...] | None = None
    held: HeldRecords | None = None

    @property
    def named(self) -> Encoding:
        """The records' encoding with the names of their columns."""
        bounds = replace(self.records.bounds, columns=self.columns)
        return self.records if self.columns is None else replace(self.records, bounds=bounds)


def posed(loss: Any, domain: Domain, kind: Kind, asked: Asked, columns: Columns | None) -> Posed:
    """Put a loss over what the caller states; ``columns`` are those of X, where there is one."""
    if isinstance(loss, Linear):
        return _linear(loss, domain, kind, asked, columns)
    for name in ("bounds_X", "bounds_y"):
        if getattr(asked, name) is not None:
            raise SpecError(
                f"{argument(name)} is for linear models; {described(loss)} takes bounds."
            )
    own = hasattr(type(loss), "trace")
    if own and kind != "gradient":
        raise IncompatibleParts(
            f"{described(loss)} states scores, which only the K-norm gradient mechanism weighs. "
            "Use kng.KNG."
        )
    bounds = bounds_in(asked.bounds, None)
    if hasattr(type(bounds), "contains"):  # a domain, and no box
        return _in_a_ball(loss, domain, kind, bounds, asked)
    box = _spread(bounds_of(bounds), domain)
    encode = getattr(loss, "encode", None)
    records: Encoding = (
        encoding_of(box, granularity=asked.granularity, missing=asked.missing, bits=_BITS)
        if encode is None
        else encode(box, asked.granularity, asked.missing)
    )
    over: Loss = loss.on(records, domain) if own else loss.over(records)
    refuse_coefficients(domain.base)
    known = domain.sized(over.dim)
    grid = over.grid or Grid(records.lattice.origin, records.step)
    answers = records.lattice
    if known.bounded:
        points = known.on(grid)
        answers = grid.between(points.first, points.last)
    scalar = over.dim == 1
    # Columns of other losses have a coordinate each; those of a caller's own only enter it.
    names = tuple(f"theta[{j}]" for j in range(over.dim))
    facts: dict[str, Fact] = {"coordinates": names} if own and not scalar else {}
    return Posed(over, known, records, answers, box, scalar, facts, columns=box.columns)


def _in_a_ball(loss: Any, domain: Domain, kind: Kind, bounds: Any, asked: Asked) -> Posed:
    """Put a location over records in a ball."""
    if kind != "sum" or not isinstance(loss, Location):
        raise IncompatibleParts(
            f"{argument('bounds', Code(described(bounds)))} is a ball of records, which KNorm of a "
            f"Location serves; {described(loss)} needs "
            f"{argument('bounds', (Code('low'), Code('high')))} here."
        )
    held = held_records(bounds, None, asked.granularity, asked.missing, loss)
    assert held is not None  # it is a domain
    known, scalar = domain.sized(held.loss.dim), held.loss.dim == 1
    facts: dict[str, Fact] = {RECORD_BALL: held.ball.described}
    records, answers = held.loss.encoding, held.answers(1)
    return Posed(held.loss, known, records, answers, held.box, scalar, facts, held=held)


def _spread(box: Bounds, domain: Domain) -> Bounds:
    """Spread one pair of bounds over as many columns as the domain has."""
    try:
        dim = domain.dim
    except KngError:  # it leaves that to the loss
        return box
    if len(box) > 1 or box.columns is not None or dim == 1:
        return box
    return Bounds(box.low * dim, box.high * dim)


def _linear(
    loss: Linear, domain: Domain, kind: Kind, asked: Asked, columns: Columns | None
) -> Posed:
    if asked.granularity is not None:
        raise SpecError(
            f"{argument('granularity')} is for records of a location; {described(loss)} reads "
            "covariates in 2**16 steps. Leave it out."
        )
    columns, covariates, stated = _sides(loss, domain, asked, columns)
    design = design_for(loss, covariates, stated, kind)
    design = filled(design, columns, asked.missing)
    over, known, answers = on_effects(loss, design, domain, kind)
    shown = Bounds(covariates.low, covariates.high, columns.covariates)
    if stated is not None:
        low, high = response_bounds(stated)
        names = (*columns.covariates, columns.target)
        shown = Bounds((*covariates.low, low), (*covariates.high, high), names)
    names = (columns.intercept,) * loss.intercept + columns.covariates
    facts: dict[str, Fact] = {"coefficients": names}
    if over.jitter:
        shift = show(over.jitter * design.half_y / 2)
        facts["response"] = f"clipped to its bounds, then shifted at random by up to {shift}"
    wanted = None if asked.bounds is None else (*columns.covariates, columns.response)
    factor, units = 1 / design.half_y, design.units
    return Posed(over, known, design.records, answers, shown, False, facts, factor, units, wanted)


def _sides(
    loss: Linear, domain: Domain, asked: Asked, columns: Columns | None
) -> tuple[Columns, Bounds, Any]:
    """Return the columns, the bounds of covariates, and those of the response as stated."""
    if asked.bounds is not None:
        return _table(loss, asked)
    if columns is None:
        columns = _declared(loss, domain, asked.bounds_X)
    return columns, covariate_bounds(asked.bounds_X, columns), asked.bounds_y


def _table(loss: Linear, asked: Asked) -> tuple[Columns, Bounds, Any]:
    """Read the bounds of a table, the target among its columns."""
    if asked.bounds_X is not None or asked.bounds_y is not None:
        raise SpecError(
            f"bounds are those of a table, {argument('bounds_X')} and {argument('bounds_y')} of X "
            "and y: give one."
        )
    if loss.target is None:
        raise SpecError(
            f"bounds are those of a table, and {described(loss)} does not say which column is the "
            f"response. Give Linear(..., target='name'), or X and y with {argument('bounds_X')} "
            f"and {argument('bounds_y')}."
        )
    box = bounds_of(asked.bounds)
    if box.columns is None or loss.target not in box.columns or len(box) < 2:
        raise SpecError(
            f"{argument('bounds')} must name the covariates and the target, as in {{'age': (0, "
            f"120), {loss.target!r}: (0, 100)}}."
        )
    rest = tuple(name for name in box.columns if name != loss.target)
    at = box.columns.index(loss.target)
    others = [i for i in range(len(box)) if i != at]
    return (
        Columns(len(rest), rest, loss.target),
        Bounds(tuple(box.low[i] for i in others), tuple(box.high[i] for i in others)),
        (box.low[at], box.high[at]),
    )


def _declared(loss: Linear, domain: Domain, bounds_x: Any) -> Columns:
    """Return covariates as bounds_X states them: named, counted, or as many as the domain has."""
    if bounds_x is None:
        return Columns(1)
    box = bounds_of(bounds_x, "bounds_X")
    try:
        dim = domain.dim - loss.intercept
    except KngError:  # it leaves that to the loss
        dim = len(box)
    single = declared_width(bounds_x) is None
    return Columns(max(dim, 1) if single else len(box), box.columns)


def design_for(loss: Linear, covariates: Bounds, stated: Any, kind: Kind) -> Design:
    """Return how records become whole numbers, once the response's bounds are read."""
    scale = loss.pointwise.scale
    if scale is not None and not _SMALLEST <= scale <= _LARGEST:
        raise SpecError(
            f"{argument('threshold')} must lie between 1e-290 and 1e290, which coefficients in "
            f"float64 need; got {float(scale):g}. Use other units."
        )
    read = response_range if scale is None else response_bounds
    response = None if stated is None and scale is not None else read(stated)
    return loss.encode(covariates, response, "value" if kind == "value" else "gradient")
