"""Records of a linear model as whole numbers, so that predictions are exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kng.core.design import Design
from kng.core.records import Integers

# Whole steps of a standardised covariate from 0 to 1, and so the entry of the intercept.
ENDS = 2**16
# Predictions and responses are whole numbers up to here.
WHOLE = 2**52


@dataclass(frozen=True, slots=True)
class LinearRows:
    """Records as whole numbers x and y with  z'theta = unit x't  for  theta = step t.

        x_0 = ENDS,   x_j = 2 k - offset,   y = y' / unit,     unit = step / ENDS

    The offset is the design's, whose covariates have a span of ENDS, so x is exact. y is rounded
    up, which keeps  y' <= z'theta  as it is, or to the nearest. ``cut`` is where |y| is cut off.
    """

    design: Design
    step: Fraction
    rounded: Literal["up", "nearest"]
    cut: int | None = None

    @property
    def unit(self) -> Fraction:
        """What one whole number is worth, in units of y'."""
        return self.step / ENDS

    def select(self, batch: Integers) -> NDArray[np.float64]:
        """Return x and y of all records side by side."""
        table = np.full((len(batch), self.design.dim + 1), float(ENDS))
        first, offsets = int(self.design.intercept), np.array(self.design.offsets[:-1])
        table[:, first:-1] = 2 * batch[:, :-1] - offsets
        table[:, -1] = self.responses(batch[:, -1])
        return table

    def responses(self, integers: Integers) -> NDArray[np.float64]:
        """Turn encoded responses into whole numbers y."""
        factor = self.design.records.step[-1] / (2 * self.design.half_y) / self.unit
        response = (2 * integers - self.design.offsets[-1]) * float(factor)
        response = np.ceil(response) if self.rounded == "up" else np.rint(response)
        if self.cut is not None:
            response = np.clip(response, -float(self.cut), float(self.cut))
        return np.asarray(response)

    def ends(self) -> tuple[int, int]:
        """Return the least and the largest y of any record; the map does not fall."""
        low, high = self.responses(np.array([0.0, float(self.design.records.last[-1])]))
        return int(low), int(high)
