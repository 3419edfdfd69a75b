"""Regression records in standard form, and the public way back to the caller's units.

    z_j = (x_j - middle_j) / half_j          within [-1, 1]
    y'  = (y - middle_y) / half_y            half_y: like half_j, or a residual scale
    y'  = theta_0 + sum_j theta_j z_j        theta_0 only with an intercept, which counts in d

With an intercept middle and half are those of the bounds, so that z fills [-1, 1]. Without one a
middle would add one: everything is measured from 0 in units of the bound farther from it, and z
fills an interval that reaches 1 or -1.

Coefficients live on a lattice in these units. Back in the caller's,

    coef_j    = theta_j half_y / half_j
    intercept = middle_y + half_y theta_0 - sum_j coef_j middle_j
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from kng.core.encoding import Encoding
from kng.core.errors import SpecError
from kng.core.exact import show
from kng.core.lattice import AffineMap, Lattice
from kng.core.naming import argument

# Standardised coefficients are released in steps of 2**-30, far below any noise, within +-2**10.
_STEP = Fraction(1, 2**30)
REACH = 2**10
# Steps that a covariate must have between its bounds where they are counted from 0: rounding is
# then 2**-12 of its variance at most.
_FEWEST = 2**6

# Where a column begins and ends, and the step between its integers.
Column = tuple[Fraction, Fraction, Fraction]
# How the range between two bounds becomes so many steps.
Cut = Callable[[Fraction, Fraction, int], Column]


def across(low: Fraction, high: Fraction, steps: int) -> Column:
    """Cut the range between two bounds into equal steps, for a fit with an intercept."""
    return low, high, (high - low) / steps


def from_zero(low: Fraction, high: Fraction, steps: int) -> Column:
    """Cut -M .. M, M = max(|low|, |high|), into equal steps and keep those within the bounds.

    For a fit without an intercept: 0 is a whole number of steps away, and the end at M or -M is
    itself a step. The other end moves inwards to the next one. Bounds that are symmetric around 0
    are cut as `across` cuts them.
    """
    step = 2 * max(abs(low), abs(high)) / steps
    first, last = ceil(low / step), floor(high / step)
    if last - first < _FEWEST:
        raise SpecError(
            f"bounds ({show(low)}, {show(high)}) are too narrow for their distance from 0: "
            f"{argument('fit_intercept', False)} measures from 0, in steps of {show(step)}. Fit an "
            "intercept, which measures from their middle."
        )
    return first * step, last * step, step


@dataclass(frozen=True, slots=True)
class Design:
    """How encoded records (covariates, then the response) become z and y'.

    ``scale`` is half_y. Without it the response stays within [-1, 1], as least squares needs.
    ``origin`` is where the response is measured from, if it is not the middle or 0: that of labels
    is 0, with an intercept too.
    ``halves`` and ``middles`` describe what the integers k of each column reach, and so do whole
    ``spans`` and ``offsets``:

        (x - middle) / half = (2 k - offset) / span,     both are last with an intercept

    ``ends`` are the least and the largest of these.
    """

    records: Encoding
    intercept: bool
    scale: Fraction | None = None
    origin: Fraction | None = None
    halves: tuple[Fraction, ...] = field(init=False, compare=False, repr=False)
    middles: tuple[Fraction, ...] = field(init=False, compare=False, repr=False)
    spans: tuple[int, ...] = field(init=False, compare=False, repr=False)
    offsets: tuple[int, ...] = field(init=False, compare=False, repr=False)
    ends: tuple[tuple[Fraction, Fraction], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.records) < 2:
            raise SpecError("a regression needs at least one covariate and a response.")
        columns = list(
            zip(self.records.bounds.low, self.records.step, self.records.last, strict=True)
        )
        zero = Fraction(0)
        origins = [None if self.intercept else zero] * (len(columns) - 1) + [self.origin]
        if not self.intercept and self.origin is None:
            origins[-1] = zero
        away = [
            Fraction(last) if origin is None else 2 * (origin - low) / step
            for origin, (low, step, last) in zip(origins, columns, strict=True)
        ]
        if any(offset.denominator > 1 for offset in away):
            raise SpecError("without an intercept 0 must be a whole number of half steps away.")
        offsets = tuple(int(offset) for offset in away)
        reached = zip(offsets, self.records.last, strict=True)
        spans = tuple(max(abs(offset), abs(2 * last - offset)) for offset, last in reached)
        halves = tuple(step * span / 2 for (_, step, _), span in zip(columns, spans, strict=True))
        middles = tuple(
            low + step * offset / 2 for (low, step, _), offset in zip(columns, offsets, strict=True)
        )
        ends = tuple(
            (Fraction(-offset, span), Fraction(2 * last - offset, span))
            for offset, span, last in zip(offsets, spans, self.records.last, strict=True)
        )
        facts = {"halves": halves, "middles": middles, "spans": spans, "offsets": offsets}
        for name, value in {**facts, "ends": ends}.items():
            object.__setattr__(self, name, value)

    @property
    def rows(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The least and the largest z_j, for each coefficient; both are 1 for an intercept."""
        one, slopes = Fraction(1), self.ends[:-1]
        return ((one, one), *slopes) if self.intercept else slopes

    @property
    def widths(self) -> tuple[Fraction, ...]:
        """How far z_j of two records can lie apart, for each coefficient; 0 for an intercept."""
        slopes = tuple(high - low for low, high in self.ends[:-1])
        return (Fraction(0), *slopes) if self.intercept else slopes

    @property
    def dim(self) -> int:
        """Number of coefficients, the intercept included."""
        return len(self.records) - 1 + self.intercept

    @property
    def half_y(self) -> Fraction:
        """The unit of the standardised response."""
        return self.halves[-1] if self.scale is None else self.scale

    @property
    def lattice(self) -> Lattice:
        """Where standardised coefficients live."""
        d = self.dim
        return Lattice((Fraction(-REACH),) * d, (_STEP,) * d, (int(2 * REACH / _STEP),) * d)

    @property
    def units(self) -> AffineMap:
        """The public map from standardised coefficients to the caller's units."""
        *halves, _ = self.halves
        *middles, middle_y = self.middles
        factors = [self.half_y / half for half in halves]
        d, zero = self.dim, Fraction(0)
        if not self.intercept:
            matrix = tuple(
                tuple(factors[j] if i == j else zero for j in range(d)) for i in range(d)
            )
            return AffineMap(matrix, (zero,) * d)
        first = (self.half_y, *(-f * m for f, m in zip(factors, middles, strict=True)))
        rest = tuple(
            (zero, *(factors[j] if i == j else zero for j in range(d - 1))) for i in range(d - 1)
        )
        return AffineMap((first, *rest), (middle_y, *(zero,) * (d - 1)))


@lru_cache(maxsize=64)
def design_of(
    records: Encoding,
    intercept: bool,
    scale: Fraction | None = None,
    origin: Fraction | None = None,
) -> Design:
    """Return the design of these public facts; the same one when they are stated again."""
    return Design(records, intercept, scale, origin)
