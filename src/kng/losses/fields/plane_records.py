"""Records around quantile planes, as whole numbers: an accelerator with covers of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.boxes.covering import Covering
from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.parts import Point, Walled
from kng.core.records import Integers
from kng.losses.enclosures.tied_records import shift

# Whole steps of a standardised covariate from 0 to 1, and so the entry of the intercept. float32
# holds them exactly.
ENDS = 2**16
# Records whose temporaries stay in the processor's cache.
_BLOCK = 2**16


@dataclass(frozen=True, slots=True)
class PlaneRows:
    """Records as whole numbers x and y with  y <= x't  exactly if  y' <= z'theta.

    With covariates k and theta = step * t,

        x_0 = ENDS,   x_j = 2 k - offset,     z = x / ENDS
        y   = ceil( y' * ENDS / step )

    Offsets are the design's, whose covariates have a span of ENDS, so nothing is rounded in x.
    """

    design: Design
    answers: Lattice

    def select(self, batch: Integers) -> NDArray[np.floating]:
        """Return x and y of all records side by side, in float32 where it holds y."""
        first = int(self.design.intercept)
        *offsets, offset_y = self.design.offsets
        records, half = self.design.records, self.design.half_y
        # from half steps of y to what one step of theta does to x't: a power of two
        factor = records.step[-1] / (2 * half) * ENDS / self.answers.step[0]
        # Whole multiples of a power of two are exact if they are few enough.
        exact = factor.denominator == 1 and self.design.spans[-1] <= 2**24
        table = np.empty((len(batch), self.design.dim + 1), np.float32 if exact else np.float64)
        table[:, :first] = ENDS
        table[:, first:-1] = 2 * batch[:, :-1] - np.array(offsets)
        table[:, -1] = np.ceil((2 * batch[:, -1] - offset_y) * float(factor))
        return table


@dataclass(frozen=True, slots=True)
class PlaneRecords:
    """Records and what is weighed of them; a `kng.losses.enclosures.plane_field.PlaneField`."""

    rows: NDArray[np.float32]
    response: NDArray[np.floating]
    tau: Fraction
    slope: Fraction
    unit: Fraction
    weighed: Literal["gradient", "value"]
    totals: tuple[int, ...]
    spread: int = 0

    def shifted(self, bits: Bits) -> PlaneRecords:
        """Return the records with a shift for each response, uniform on up to 2**16 steps."""
        if not self.spread:
            return replace(self, response=self.response.astype(np.float64, copy=False))
        response = shift(self.response, self.spread, bits)
        totals = (*self.totals[:-1], exact_sum(response))
        return replace(self, response=response, totals=totals, spread=0)

    def covers(self, domain: Walled, rate: Fraction) -> Sequence[Covering]:
        """Return covers that decide records, one with each shear."""
        from kng.losses.enclosures.plane_cover import covers_of  # loaded by `prepare_covers`

        return covers_of(domain, self, rate)

    def later_covers(self, domain: Walled, rate: Fraction) -> tuple[()]:  # noqa: ARG002
        """Return none: these covers fit every domain."""
        return ()

    def score(self, theta: Point) -> Fraction:
        """Return the score at one lattice point, from all records."""
        ahead = self.rows.astype(np.int64) @ np.array(theta, np.int64) >= self.response
        x = self.rows[ahead].sum(axis=0, dtype=np.int64).tolist()
        # Gradients do not look at the sum of y.
        y = exact_sum(self.response[ahead]) if self.weighed == "value" else 0
        return self.score_of(theta, (*x, y))

    def score_of(self, theta: Point, counted: Sequence[int]) -> Fraction:
        """Return the score, given the sums of x and of y over the records with y <= x'theta."""
        p, q = self.tau.numerator, self.tau.denominator
        gradient = [q * a - p * b for a, b in zip(counted, self.totals, strict=True)]
        if self.weighed == "value":
            along = sum(g * t for g, t in zip(gradient[:-1], theta, strict=True))
            return self.unit * (along - gradient[-1])
        first, *rest = (abs(g) for g in gradient[:-1])
        return self.unit * (first + self.slope * max(max(rest, default=0) - first, 0))

    def least_scores(
        self, thetas: NDArray[np.int64], counted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the same for many points, in float64 and not above it.

        Each score has a handful of roundings, relative to sums that are at most ``size``.
        """
        p, q = float(self.tau.numerator), float(self.tau.denominator)
        totals = np.array([float(v) for v in self.totals])
        gradient = q * counted - p * totals
        size = q * np.abs(counted) + p * np.abs(totals)
        if self.weighed == "value":
            along = (gradient[:, :-1] * thetas).sum(axis=1) - gradient[:, -1]
            doubt = (size[:, :-1] * np.abs(thetas)).sum(axis=1) + size[:, -1]
            return np.asarray(float(self.unit) * (along - 2.0**-44 * doubt))
        sizes = np.maximum(np.abs(gradient[:, :-1]) - 2.0**-44 * size[:, :-1], 0.0)
        first, rest = sizes[:, 0], sizes[:, 1:].max(axis=1, initial=0.0)
        slope = float(self.slope)
        return np.asarray(float(self.unit) * (first + slope * np.maximum(rest - first, 0.0)))


def exact_sum(values: NDArray[np.floating]) -> int:
    """Add whole numbers of up to 2**53 exactly, in two parts that float64 does not round."""
    total = 0
    for at in range(0, len(values), _BLOCK):
        part = values[at : at + _BLOCK].astype(np.float64)
        high = np.floor(part / 2**26)
        total += int(high.sum()) * 2**26 + int((part - high * 2**26).sum())
    return total
