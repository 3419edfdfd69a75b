"""The tilted absolute loss of a linear model, whose minimiser is a conditional quantile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.boxes.covering import Covering
from kng.core.design import Design
from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.lattice import Lattice
from kng.core.plan import DensityPlan
from kng.core.privacy import Neighbours, ReplaceOne
from kng.core.protocols import (
    EVERY,
    BoxDomain,
    Integers,
    Norm,
    PlaneDomain,
    Point,
    Sensitivity,
    Source,
)
from kng.core.sensitivity import Constant
from kng.core.shapes import BoxShape, InterceptShape
from kng.losses.enclosures.tied_records import shift

# Whole steps of a standardised covariate from 0 to 1, and so the entry of the intercept. float32
# holds them exactly.
ENDS = 2**16
# Records whose temporaries stay in the processor's cache.
_BLOCK = 2**16


@dataclass(frozen=True, slots=True)
class QuantilePlane:
    """Tilted absolute loss around a plane; minimised by the conditional tau-quantile.

        l(theta; z, y) = (tau - w)(y - z'theta),     w = 1[y <= z'theta]
        gradient       = (w - tau) z,         z_j in [a_j, b_j],  z_0 = 1 for an intercept

    The interval is [-1, 1] with an intercept; without one it reaches 1 or -1.

    w is fixed at every lattice point, ties included. The gradient is bounded whatever y and theta
    are, so neither enters the sensitivity.

    ``spread`` is the width, in units of y', of a random shift that every response gets by itself
    before a draw. No plane splits a heap of equal responses; a shift far below the noise makes it
    a slope that planes can split. It moves with no other record, so it costs nothing.

    Paper    Section 4.5. The printed Delta = 2(1 - tau) C is too small for tau > 1/2 and breaks
             privacy; docs/paper-map.md, row "quantile sensitivity".
    Privacy  Replace-one: the larger of ||(1, ..., 1)|| and max(tau, 1 - tau) ||b - a||, where
             b_0 - a_0 = 0. Add-remove: max(tau, 1 - tau) ||(1, ..., 1)||.
             docs/proofs/losses/quantile_plane.md.
    Cost     One pass; the records are kept in about their own size.
    """

    tau: Fraction
    design: Design
    spread: Fraction = Fraction(0)
    noun: ClassVar[str] = "coefficients, the intercept among them"
    remedy: ClassVar[str] = "HuberRegressor or fewer covariates"
    slow_from: ClassVar[int] = 5

    def __post_init__(self) -> None:
        if not 0 < self.tau < 1:
            raise SpecError(
                f"a quantile must lie strictly between 0 and 1, got {float(self.tau):g}. "
                "For the ends of a distribution use for example 0.01 or 0.99."
            )
        if any(span != ENDS for span in self.design.spans[:-1]):
            raise SpecError(f"QuantilePlane reads covariates in steps of 2/{ENDS} of their unit.")

    def gradient_sensitivity(
        self,
        norm: Norm,
        records: Encoding,  # noqa: ARG002 - the design knows what they reach
        neighbours: Neighbours,
    ) -> Sensitivity:
        """Return how far one record moves the gradient, in the norm.

        Two records give (w - tau) z and (w' - tau) z'. With w = w' they differ by at most
        max(tau, 1 - tau) (b_j - a_j) in each slope and by nothing in the intercept; with w != w' by
        (1 - tau) z + tau z', at most 1 in every coordinate. One of them differs from nothing by at
        most max(tau, 1 - tau).
        """
        slope_of(norm)
        larger = max(self.tau, 1 - self.tau)
        ones = (Fraction(1),) * self.design.dim
        if not isinstance(neighbours, ReplaceOne):
            return Constant(larger * norm.value(ones))
        return Constant(max(norm.value(ones), larger * norm.value(self.design.widths)))

    def plane_sensitivity(self, domain: BoxDomain, answers: Lattice) -> Sensitivity:
        """Return the largest loss of one record, which is also its largest change.

        Losses are not negative and reach 0, so replacing a record changes the sum by at most the
        largest of them, as adding one does: with |z'theta| <= R and y' in [a, b] the larger of
        tau (b + R) and (1 - tau) (R - a). y' may have been rounded up to the next whole number of
        x't, and shifted.
        """
        reach = sum(
            max(abs(first), abs(last)) * step
            for first, last, step in zip(domain.first, domain.last, answers.step, strict=True)
        )
        unit = self.design.halves[-1] / self.design.half_y
        least, largest = (unit * end for end in self.design.ends[-1])
        reach += self.spread / 2 + answers.step[0] / ENDS
        return Constant(max(self.tau * (reach + largest), (1 - self.tau) * (reach - least)))

    def prepare_covers(self) -> None:
        """Load what covers need, before anything is charged."""
        from kng.losses.enclosures.plane_cover import load_planes

        load_planes()

    def read_gradient(self, source: Source, plans: Sequence[DensityPlan]) -> list[PlaneRecords]:
        """Read the records once, for all plans."""
        return self._read(source, plans, "gradient")

    def read_value(self, source: Source, plans: Sequence[DensityPlan]) -> list[PlaneRecords]:
        """Read the records once, for all plans."""
        return self._read(source, plans, "value")

    def _read(
        self, source: Source, plans: Sequence[DensityPlan], weighed: Literal["gradient", "value"]
    ) -> list[PlaneRecords]:
        answers = plans[0].problem.answers
        table = source.collect(PlaneRows(self.design, answers), EVERY)
        rows, response = np.ascontiguousarray(table[:, :-1], np.float32), table[:, -1].copy()
        del table
        totals = (*(int(v) for v in rows.sum(axis=0, dtype=np.float64)), exact_sum(response))
        fields = []
        for plan in plans:
            loss: QuantilePlane = plan.problem.loss
            q = loss.tau.denominator
            unit = Fraction(1, q * ENDS) * (answers.step[0] if weighed == "value" else 1)
            fields.append(
                PlaneRecords(
                    rows,
                    response,
                    loss.tau,
                    slope_of(plan.problem.norm),
                    unit,
                    weighed,
                    totals,
                    # log2 of the shifts there are, in whole numbers of y
                    max(0, int(loss.spread * ENDS / answers.step[0]).bit_length() - 1),
                )
            )
        return fields


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
    """Records and what is weighed of them; a `kng.core.protocols.PlaneField`."""

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

    def covers(self, domain: PlaneDomain, rate: Fraction) -> Sequence[Covering]:
        """Return covers that decide records, one with each shear."""
        from kng.losses.enclosures.plane_cover import covers_of  # loaded by `prepare_covers`

        return covers_of(domain, self, rate)

    def later_covers(self, domain: PlaneDomain, rate: Fraction) -> tuple[()]:  # noqa: ARG002
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


def slope_of(norm: Norm) -> Fraction:
    """Return the weight of slopes in a norm that branch and bound can measure."""
    if isinstance(norm.shape, InterceptShape):
        return norm.shape.slope
    if norm.shape != BoxShape():
        raise IncompatibleParts(
            "Quantile planes are measured in the sup norm or in norms.InterceptSup; use "
            "norm='auto' or 'linf'."
        )
    return Fraction(1)
