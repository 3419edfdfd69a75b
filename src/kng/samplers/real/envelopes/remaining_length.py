"""How much of an l1 ball the coordinates that records determine leave to the others.

Let W be some coordinates, and lambda any vector with |A lambda|_j <= 1 outside W and at most
eta < 1 on W. In the ball ||theta||_1 <= B, with u = A theta - b,

    lambda'b + lambda'u = lambda'A theta <= sum outside W of |theta_j| + eta sum over W of |theta_j|
                                         <= B - (1 - eta) sum over W of |theta_j|

so the sum over W is at most (B - lambda'b - lambda'u) / (1 - eta): little, if the others must be
long. |lambda'u| is at most ||lambda||_1 ||u||_inf, and sqrt(lambda'A lambda) sqrt(u'A^-1 u).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.quadratic import Matrix, Vector

# How many of the longest coordinates a lambda stands on; all of them is tried, too.
_LONGEST = (1, 2, 4)


@dataclass(frozen=True)
class RemainingLength:
    """The sum over W is at most ``base`` + ``slope`` times a level."""

    base: float
    slope: float

    @property
    def first(self) -> float:
        """Return the least level at which there is any room; 0 if there is always."""
        return max(0.0, -self.base / self.slope) if self.slope > 0 else 0.0


def rooms(
    matrix: Matrix, vector: Vector, radius: float, weak: NDArray[np.int64], center: Vector
) -> Iterator[tuple[Vector, RemainingLength]]:
    """Yield lambda and the room it leaves to the weak coordinates, at slope 1 / (1 - eta).

    lambda = A_PP^-1 sign(center_P) on the longest coordinates P of the center.
    """
    order = np.argsort(-np.abs(center), kind="stable")
    order = order[~np.isin(order, weak) & (center[order] != 0)]
    for size in sorted({p for p in _LONGEST if p < len(order)} | {len(order)} - {0}):
        chosen, dual = order[:size], np.zeros(len(vector))
        square = matrix[np.ix_(chosen, chosen)]
        if np.linalg.eigvalsh(square)[0] <= 1e-9 * float(np.trace(square)):
            continue
        dual[chosen] = np.linalg.solve(square, np.sign(center[chosen]))
        seen = np.abs(matrix @ dual)
        dual /= max(1.0, float(np.delete(seen, weak).max()))
        eta = float(np.abs(matrix @ dual)[weak].max(initial=0.0))
        if eta < 1 - 1e-9:
            yield dual, RemainingLength((radius - float(dual @ vector)) / (1 - eta), 1 / (1 - eta))
