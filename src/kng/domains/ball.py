"""The l1 ball of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from kng.core.errors import SpecError


@dataclass(frozen=True, slots=True)
class L1Ball:
    """Coefficients with a bounded sum of absolute values, all equally likely beforehand.

        Theta = { theta : ||theta||_1 <= radius },      base measure uniform

    Paper    Section 4.2, with radius B.
    Privacy  Public: the radius is stated by the caller.
    Cost     None.
    """

    dim: int
    radius: Fraction

    def __post_init__(self) -> None:
        if self.dim < 1 or self.radius <= 0:
            raise SpecError(f"L1Ball needs a positive radius, got {float(self.radius):g}.")

    @property
    def proper(self) -> bool:
        """A ball has finite volume."""
        return True

    def scaled(self, factor: Fraction) -> L1Ball:
        """Return the same ball in other units: its radius times a factor."""
        return replace(self, radius=factor * self.radius)
