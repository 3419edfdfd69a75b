"""The sup norm in units of what one record can do to each coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kng.norms.lp import Array, LInf


@dataclass(frozen=True, slots=True)
class CoordinateSup(LInf):
    """Sup norm after each coordinate of the gradient is divided by its own sensitivity.

        ||g||_theta = max_j |g_j| / Delta_j(theta)

    Its sensitivity is 1 at every theta, and its ball is never larger than that of the sup norm
    divided by the largest Delta_j (docs/proofs/norms/coordinate.md).

    Paper    Theorem 3.1 with a norm that depends on theta, which its proof allows.
    Privacy  The widths are asked of the loss; they are public functions of theta.
    Cost     O(d).
    """

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector that has been divided by its widths already."""
        return LInf().value(vector)

    def divisor(self, widths: Array) -> Array:
        """Return each coordinate's own sensitivity."""
        return widths
