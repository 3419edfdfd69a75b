"""Huber's loss of a linear model in whole numbers, for exact draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kng.core.design import Design
from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.lattice import Lattice
from kng.core.plan import DensityPlan
from kng.core.privacy import Neighbours, ReplaceOne
from kng.core.protocols import Integers, Norm, Point, Sensitivity, Source
from kng.core.sensitivity import Constant

# Whole steps of a standardised covariate from 0 to 1, and of a clipped residual from 0 to the
# threshold.
ENDS = 2**16
PSI = 2**24
# Records at a time: sums of their products are below 2**53.
_BLOCK = 2**12


@dataclass(frozen=True, slots=True)
class HuberPlane:
    """Huber's loss around a plane, in units of its threshold.

        r = z'theta - y',     gradient = clip(r, -1, 1) z,     |z_j| <= 1,  z_0 = 1 for an intercept

    clip(r, -1, 1) is truncated to multiples of 2**-24, at every lattice point. Nothing of y and
    theta enters the sensitivity.

    Paper    beyond it; KNG for Huber's loss, drawn exactly.
    Privacy  Sup norm: 2 under replace-one and 1 under add-remove. docs/proofs/losses/huber.md.
    Cost     One pass; the records are kept.
    """

    design: Design
    shape: ClassVar[Literal["distance", "huber"]] = "huber"

    def __post_init__(self) -> None:
        if any(span != ENDS for span in self.design.spans[:-1]):
            raise SpecError(f"HuberPlane reads covariates in steps of 2/{ENDS} of their unit.")

    def gradient_sensitivity(
        self,
        norm: Norm,
        records: Encoding,  # noqa: ARG002 - standardised covariates reach 1 or -1 whatever the bounds
        neighbours: Neighbours,
    ) -> Sensitivity:
        """Return how far one record moves the gradient: by corners of a cube."""
        one, none = Fraction(1), Fraction(0)
        if norm.value((one, one)) != 1 or norm.value((one, none)) != 1:
            raise IncompatibleParts("Huber's gradient is measured in the sup norm here; use that.")
        return Constant(2 * one if isinstance(neighbours, ReplaceOne) else one)

    def read_gradient(self, source: Source, plans: Sequence[DensityPlan]) -> list[HuberRecords]:
        """Read the records once, for all plans."""
        answers = plans[0].problem.answers
        kernel = HuberRows(self.design, answers)
        parts = source.reduce(kernel)
        rows = np.concatenate([np.empty((0, self.design.dim)), *(part[0] for part in parts)])
        response = np.concatenate([np.empty(0), *(part[1] for part in parts)])
        return [HuberRecords(rows, response, float(kernel.threshold))] * len(plans)


@dataclass(frozen=True, slots=True)
class HuberRows:
    """Records as whole numbers x and y with  r = (x't - y) / threshold,  theta = step * t.

        x_0 = ENDS,   x_j = 2 k - offset,     y = y' * threshold,     threshold = ENDS / step

    The offset is the design's, whose covariates have a span of ENDS.
    y' is cut off where every plane of Theta is more than a threshold away from it, so that whole
    numbers stay small; the gradient there is the same.
    """

    design: Design
    answers: Lattice

    @property
    def threshold(self) -> Fraction:
        """The threshold in units of x't."""
        return ENDS / self.answers.step[0]

    def zero(self) -> list[tuple[Integers, Integers]]:
        """No records."""
        return []

    def partial(self, batch: Integers) -> list[tuple[Integers, Integers]]:
        """Turn one batch into rows."""
        first = int(self.design.intercept)
        rows = np.full((len(batch), self.design.dim), float(ENDS))
        *offsets, offset_y = self.design.offsets
        rows[:, first:] = 2 * batch[:, :-1] - np.array(offsets)
        records = self.design.records
        factor = records.step[-1] / (2 * self.design.half_y) * self.threshold
        most = float(ENDS * sum(k // 2 + 1 for k in self.answers.last) + 2 * self.threshold)
        response = np.rint((2 * batch[:, -1] - offset_y) * float(factor))
        return [(rows, np.clip(response, -most, most))]

    def merge(
        self, left: list[tuple[Integers, Integers]], right: list[tuple[Integers, Integers]]
    ) -> list[tuple[Integers, Integers]]:
        """Keep both."""
        return left + right


@dataclass(frozen=True, slots=True)
class HuberRecords:
    """Records and their clipped residuals; a `kng.core.protocols.CurvedField`."""

    rows: NDArray[np.float64]
    response: NDArray[np.float64]
    bend: float
    shape: ClassVar[Literal["distance", "huber"]] = "huber"
    weighed: ClassVar[Literal["gradient", "value"]] = "gradient"
    unit: ClassVar[Fraction] = Fraction(1, ENDS)

    @property
    def most(self) -> float:
        """No entry of x is larger than ENDS."""
        return float(ENDS * len(self.rows))

    def guess(self, every: int) -> NDArray[np.float64]:
        """Return least squares of some of the records."""
        x, y = self.rows[::every], self.response[::every]
        gram = x.T @ x
        gram += 1e-9 * np.trace(gram) * np.eye(len(gram))
        return np.asarray(np.linalg.solve(gram, x.T @ y))

    def score(self, theta: Point) -> Fraction:
        """Return the largest entry of the gradient at one lattice point, from all records."""
        t, total = np.array([float(k) for k in theta]), [0] * len(theta)
        for at in range(0, len(self.rows), _BLOCK):
            x = self.rows[at : at + _BLOCK]
            residual = np.clip(x @ t - self.response[at : at + _BLOCK], -self.bend, self.bend)
            part = np.trunc(residual * (PSI / self.bend)) @ x
            total = [a + int(b) for a, b in zip(total, part, strict=True)]
        return Fraction(max(abs(v) for v in total), PSI * ENDS)
