"""The sup norm of a box, optimal for records that live in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from flint import arb

from kng.core.bits import Bits
from kng.core.bodies import Piece
from kng.core.errors import SpecError
from kng.core.exact import positives
from kng.core.parts import Norm
from kng.core.shapes import BoxShape, Shape
from kng.norms.lp import LInf, furthest
from kng.norms.rounding import Array
from kng.norms.weights import mismatch


@dataclass(frozen=True, slots=True)
class WeightedSup:
    """Sup norm in units of the sides of a box: LInf with the weights 1 / width_j.

        ||v|| = max_j |v_j| / width_j

    Its unit ball is the convex hull of the differences of two records of a box with these
    sides, so no norm of sensitivity 1 has a smaller ball (`docs/proofs/norms/weighted.md`).

    Paper    Section 1: K is the convex hull of the sensitivity polytope; this is that K.
    Privacy  Sensitivity exactly 1 for a sum of records in the box.
    Cost     O(d).

    Parameters
    ----------
    width : sequence of numbers
        One positive width per coordinate.
    """

    follows: ClassVar[bool] = False
    width: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positives(self.width, "width of WeightedSup"))
        if not self.width:
            raise SpecError("WeightedSup needs one positive width per coordinate.")

    @property
    def shape(self) -> Shape | None:
        """A box."""
        return BoxShape(self.width)

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        sizes: list[Fraction] = [abs(v) / w for v, w in zip(vector, self.width, strict=True)]
        return max(sizes)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the norm between two corners, for rows of corners."""
        return self._weighted.bounds(low, high)

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, exactly."""
        return self.value(furthest(low, high))

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:  # noqa: ARG002
        """Return radius / min_j width_j, exactly."""
        return Fraction(radius / min(self.width))

    def at(self, changes: Sequence[Piece]) -> Norm:  # noqa: ARG002
        """Return itself."""
        return self

    def refusal(self, dim: int) -> str | None:
        """Say that the widths are not one per coordinate, or None."""
        return mismatch("WeightedSup", self.width, dim)

    def divisor(self, widths: Array) -> Array:
        """Return the norm of each row of coordinate sensitivities, for every coordinate."""
        return self._weighted.divisor(widths)

    def lengths(self, rows: Array) -> Array:
        """Return the norm of each row."""
        return self._weighted.lengths(rows)

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the unit ball."""
        return self._weighted.log_volume(dim)

    def directions(self, bits: Bits, rows: int, dim: int) -> Array:
        """Return points of norm one with the cone measure."""
        return self._weighted.directions(bits, rows, dim)

    def largest_form(self, matrix: Array) -> float:
        """Return the largest u'matrix u of the unit ball, never below it."""
        return self._weighted.largest_form(matrix)

    def uniforms(self, dim: int) -> int:
        """Return how many uniform numbers one point is made of."""
        return self._weighted.uniforms(dim)

    def noise(self, uniforms: Sequence[arb], dim: int) -> list[arb]:
        """Enclose a point with density proportional to exp(-||u||)."""
        return self._weighted.noise(uniforms, dim)

    @property
    def _weighted(self) -> LInf:
        """The same norm, given by weights."""
        return LInf(tuple(1 / w for w in self.width))

    def half_widths(self, dim: int) -> tuple[Fraction, ...]:
        """Return the ball's half widths."""
        if dim != len(self.width):
            raise SpecError(f"WeightedSup has {len(self.width)} widths, the vector {dim} entries.")
        return tuple(self.width)
