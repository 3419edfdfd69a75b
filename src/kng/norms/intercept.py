"""The sup norm with a softer weight on slopes, optimal for a quantile plane with an intercept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kng.core.errors import SpecError


@dataclass(frozen=True, slots=True)
class InterceptSup:
    """Sup norm that counts what slopes have beyond the intercept by a weight of at most 1.

        ||(g_0, g)|| = |g_0| + slope * ( ||g||_inf - |g_0| )_+ ,      1/2 <= slope <= 1

    Its unit ball is the hull of the cube [-1, 1]^d and of {0} x [-1/slope, 1/slope]^(d-1). With
    slope = 1 / (2 max(tau, 1 - tau)) that is the hull of all that one record can do to the gradient
    of a quantile plane, so no norm of sensitivity 1 has a smaller ball
    (docs/proofs/norms/intercept.md).

    Paper    Section 1: K is the convex hull of the sensitivity polytope; this is that K for
             section 4.5 with an intercept. At tau = 1/2 it is the paper's sup norm.
    Privacy  A norm carries no constant of its own; the sensitivity is asked of the loss.
    Cost     O(d).
    """

    slope: Fraction

    def __post_init__(self) -> None:
        if not Fraction(1, 2) <= self.slope <= 1:
            raise SpecError(f"InterceptSup needs a slope between 1/2 and 1, got {self.slope}.")

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector whose first entry is the intercept's."""
        first, *rest = (abs(v) for v in vector)
        return first + self.slope * max(max(rest, default=Fraction(0)) - first, Fraction(0))
