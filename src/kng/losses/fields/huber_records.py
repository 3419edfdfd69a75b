"""Records around Huber planes, as whole numbers: an accelerator with covers of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.boxes.covering import Covering
from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.parts import Point, Points, Walled
from kng.core.records import Integers

# Whole steps of a standardised covariate from 0 to 1, of a clipped residual from 0 to the
# threshold, and of the largest loss.
ENDS = 2**16
PSI = 2**24
LOSS = 2**41
# Records at a time: sums of their products and of their losses are at most 2**53.
_BLOCK = 2**12
# Residuals are whole numbers up to here.
_WHOLE = 2**52


@dataclass(frozen=True, slots=True)
class HuberRows:
    """Records as whole numbers x and y with  r = (x't - y) / threshold,  theta = step * t.

        x_0 = ENDS,   x_j = 2 k - offset,     y = y' * threshold,     threshold = ENDS / step

    The offset is the design's, whose covariates have a span of ENDS.
    y' is cut off where every plane of Theta is more than a threshold away from it, so that whole
    numbers stay small; the gradient there is the same, and the value but for a constant.
    """

    design: Design
    answers: Lattice

    @property
    def threshold(self) -> Fraction:
        """The threshold in units of x't."""
        return ENDS / self.answers.step[0]

    def largest(self, domain: Points) -> int:
        """Return the largest residual of any record, in whole numbers, over a box."""
        sides = zip(domain.first, domain.last, strict=True)
        ends = np.array([0, self.design.records.last[-1]])
        most = int(np.abs(self.responses(ends)).max())
        return ENDS * sum(max(abs(first), abs(last)) for first, last in sides) + most

    def steps(self, domain: Points) -> Fraction:
        """Return how many steps a loss of 1 has: a power of two, so that no loss has over LOSS."""
        return Fraction(LOSS, 2 ** int(self.largest(domain) / self.threshold).bit_length())

    def select(self, batch: Integers) -> Integers:
        """Return x and y of all records side by side."""
        table = np.full((len(batch), self.design.dim + 1), float(ENDS))
        table[:, int(self.design.intercept) : -1] = 2 * batch[:, :-1] - np.array(
            self.design.offsets[:-1]
        )
        table[:, -1] = self.responses(batch[:, -1])
        return table

    def responses(self, integers: Integers) -> NDArray[np.float64]:
        """Turn encoded responses into whole numbers y."""
        records = self.design.records
        factor = records.step[-1] / (2 * self.design.half_y) * self.threshold
        most = float(ENDS * sum(k // 2 + 1 for k in self.answers.last) + int(2 * self.threshold))
        response = np.rint((2 * integers - self.design.offsets[-1]) * float(factor))
        return np.asarray(np.clip(response, -most, most))


@dataclass(frozen=True, slots=True)
class HuberRecords:
    """Records, their clipped residuals and losses; a `CurvedField` of the enclosures."""

    rows: NDArray[np.float64]
    response: NDArray[np.float64]
    bend: float
    weighed: Literal["gradient", "value"]
    steps: float
    shape: ClassVar[Literal["distance", "huber"]] = "huber"

    @property
    def unit(self) -> Fraction:
        """Gradients are those of x in whole numbers, values those of x't."""
        return Fraction(1, ENDS) if self.weighed == "gradient" else 1 / Fraction(self.bend)

    @property
    def most(self) -> float:
        """No entry of x is larger than ENDS."""
        return float(ENDS * len(self.rows))

    @property
    def grain(self) -> float:
        """Losses are rounded down to these, in units of x't."""
        return self.bend / self.steps

    def guess(self, every: int) -> NDArray[np.float64]:
        """Return least squares of some of the records."""
        x, y = self.rows[::every], self.response[::every]
        gram = x.T @ x
        gram += (1e-9 * np.trace(gram) + 1.0) * np.eye(len(gram))  # not singular, whatever x is
        return np.asarray(np.linalg.solve(gram, x.T @ y))

    def shifted(self, bits: Bits) -> HuberRecords:  # noqa: ARG002
        """Return the records as they are; ties need no shift."""
        return self

    def covers(self, domain: Walled, rate: Fraction) -> Sequence[Covering]:
        """Return a cover by expansions of the gradient, whose boxes lean as the loss does."""
        from kng.losses.enclosures.smooth_cover import SmoothCover, shear_of

        return [SmoothCover(domain, self, rate, shear_of)]

    def later_covers(self, domain: Walled, rate: Fraction) -> Sequence[Callable[[], Covering]]:
        """Return one with boxes along the axes: they fit a domain that cuts off most of it."""
        from kng.losses.enclosures.smooth_cover import SmoothCover, upright

        return [lambda: SmoothCover(domain, self, rate, upright)]

    def score(self, theta: Point) -> Fraction:
        """Return the score at one lattice point, from all records.

        It is the largest entry of the gradient, or the summed loss.
        """
        t, total, value = np.array([float(k) for k in theta]), [0] * len(theta), 0
        for at in range(0, len(self.rows), _BLOCK):
            x = self.rows[at : at + _BLOCK]
            residual = x @ t - self.response[at : at + _BLOCK]
            if self.weighed == "value":
                value += int(losses(residual, self.bend, self.steps).sum())
                continue
            clipped = np.clip(residual, -self.bend, self.bend)
            part = np.trunc(clipped * (PSI / self.bend)) @ x
            total = [a + int(b) for a, b in zip(total, part, strict=True)]
        if self.weighed == "value":
            return value / Fraction(self.steps)
        return Fraction(max(abs(v) for v in total), PSI * ENDS)


def losses(residual: NDArray[np.float64], bend: float, steps: float) -> NDArray[np.float64]:
    """Return Huber's losses as whole numbers of steps, rounded down.

    Every operation is correctly rounded and does not fall as |residual| grows: c is |r| or 1, so
    that the value is |r|^2 / 2 or |r| - 1/2, rounded once.
    """
    size = np.abs(residual) / bend
    clipped = np.minimum(size, 1.0)
    return np.asarray(np.floor(clipped * (size - clipped / 2) * steps))
