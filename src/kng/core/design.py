"""Regression records in standard form, and the public way back to the caller's units.

    z_j = (x_j - middle_j) / half_j          in [-1, 1]
    y'  = (y - middle_y) / half_y            half_y: half the bounds, or a residual scale
    y'  = theta_0 + sum_j theta_j z_j        theta_0 only with an intercept, which counts in d

Coefficients live on a lattice in these units. Back in the caller's,

    coef_j    = theta_j half_y / half_j
    intercept = middle_y + half_y theta_0 - sum_j coef_j middle_j

and without an intercept the middles must be zero, or they would add one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from kng.core.encoding import Encoding
from kng.core.errors import SpecError
from kng.core.lattice import AffineMap, Lattice

# Standardised coefficients are released in steps of 2**-30, far below any noise, within +-2**10.
_STEP = Fraction(1, 2**30)
_REACH = 2**10


@dataclass(frozen=True, slots=True)
class Design:
    """How encoded records (covariates, then the response) become z and y'.

    ``scale`` is half_y. Without it the response fills [-1, 1], as least squares needs. ``halves``
    and ``middles`` describe what the integers of each column reach.
    """

    records: Encoding
    intercept: bool
    scale: Fraction | None = None
    halves: tuple[Fraction, ...] = field(init=False, compare=False, repr=False)
    middles: tuple[Fraction, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        reached = zip(self.records.step, self.records.last, strict=True)
        halves = tuple(step * last / 2 for step, last in reached)
        object.__setattr__(self, "halves", halves)
        lows = zip(self.records.bounds.low, halves, strict=True)
        object.__setattr__(self, "middles", tuple(low + half for low, half in lows))
        if len(self.records) < 2:
            raise SpecError("a regression needs at least one covariate and a response.")
        if not self.intercept and any(self.middles):
            raise SpecError(
                "fit_intercept=False needs bounds that are symmetric around 0, because a "
                "standardised covariate is measured from the middle of its bounds. Give "
                "symmetric bounds, or fit an intercept."
            )

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
        return Lattice((Fraction(-_REACH),) * d, (_STEP,) * d, (int(2 * _REACH / _STEP),) * d)

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
