"""Records of a linear model in half their size, for losses that look at all of them many times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.design import Design
from kng.core.records import Integers

# A response is kept in two parts, the lower one of so many bits: float32 holds both exactly, as it
# does covariates of up to 2**16 steps either way.
PART = 2.0**22


@dataclass(frozen=True, slots=True)
class CurvedRows:
    """Whole numbers x_j = 2 k - offset of the covariates, and the response's k in two parts.

    z_j = x_j / span. k is at most 2**44, so that its upper part is below 2**23.
    """

    design: Design

    def select(self, batch: Integers) -> NDArray[np.float32]:
        """Return all records."""
        table = np.empty((len(batch), batch.shape[1] + 1), dtype=np.float32)
        table[:, :-2] = 2 * batch[:, :-1] - np.array(self.design.offsets[:-1])
        upper = np.floor(batch[:, -1] / PART)
        table[:, -2], table[:, -1] = upper, batch[:, -1] - upper * PART
        return table
