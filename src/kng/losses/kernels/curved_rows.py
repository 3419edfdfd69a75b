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

# Records in the blocks they came in: putting them together would take their size once more.
Blocks = tuple[NDArray[np.float32], ...]


@dataclass(frozen=True, slots=True)
class CurvedRows:
    """Whole numbers x_j = 2 k - offset of the covariates, and the response's k in two parts.

    z_j = x_j / span. k is at most 2**44, so that its upper part is below 2**23. What looks at
    blocks adds over records, so their order does not matter.
    """

    design: Design

    def zero(self) -> Blocks:
        """No records."""
        return ()

    def partial(self, batch: Integers) -> Blocks:
        """Return all records of a batch."""
        table = np.empty((len(batch), batch.shape[1] + 1), dtype=np.float32)
        for j, offset in enumerate(self.design.offsets[:-1]):
            table[:, j] = 2 * batch[:, j] - offset
        upper = np.floor(batch[:, -1] / PART)
        table[:, -2], table[:, -1] = upper, batch[:, -1] - upper * PART
        return (table,)

    def merge(self, left: Blocks, right: Blocks) -> Blocks:
        """Return the blocks of both."""
        return left + right
