"""The l1 and sup norms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class L1:
    """Sum of absolute values; its noise is independent in each coordinate.

        ||v|| = sum_j |v_j|

    Paper    Section 3.1: K-norm noise with l1 is the Laplace mechanism.
    Privacy  A norm carries no constant of its own; the sensitivity is asked of the loss.
    Cost     O(d).
    """

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        return sum((abs(v) for v in vector), Fraction(0))

    def weights(self, dim: int) -> tuple[Fraction, ...]:
        """Return the weight of each coordinate, all one."""
        return (Fraction(1),) * dim


@dataclass(frozen=True, slots=True)
class LInf:
    """Largest absolute value; its unit ball is a cube.

        ||v|| = max_j |v_j|

    Paper    Section 4.2: the tightest of the lp norms for records in a box.
    Privacy  A norm carries no constant of its own; the sensitivity is asked of the loss.
    Cost     O(d).
    """

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        return max((abs(v) for v in vector), default=Fraction(0))

    def half_widths(self, dim: int) -> tuple[Fraction, ...]:
        """Return the cube's half widths, all one."""
        return (Fraction(1),) * dim
