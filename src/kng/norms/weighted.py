"""The sup norm of a box, optimal for records that live in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kng.core.errors import SpecError


@dataclass(frozen=True, slots=True)
class WeightedSup:
    """Sup norm in units of the sides of a box.

        ||v|| = max_j |v_j| / width_j

    Its unit ball is the convex hull of the differences of two records of a box with these
    sides, so no norm of sensitivity 1 has a smaller ball (`docs/proofs/norms/weighted.md`).

    Paper    Section 1: K is the convex hull of the sensitivity polytope; this is that K.
    Privacy  Sensitivity exactly 1 for a sum of records in the box.
    Cost     O(d).
    """

    width: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.width or min(self.width) <= 0:
            raise SpecError("WeightedSup needs one positive width per coordinate.")

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        return max(abs(v) / w for v, w in zip(vector, self.width, strict=True))

    def half_widths(self, dim: int) -> tuple[Fraction, ...]:
        """Return the ball's half widths."""
        if dim != len(self.width):
            raise SpecError(f"WeightedSup has {len(self.width)} widths, the vector {dim} entries.")
        return self.width
