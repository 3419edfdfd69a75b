"""The whole space."""

from __future__ import annotations

from dataclasses import dataclass

from kng.core.errors import SpecError


@dataclass(frozen=True, slots=True)
class WholeSpace:
    """Every lattice point of d coordinates, with the counting measure.

        Theta = Z^d

    Paper    The remark after mean estimation: a location family needs no factor 2, but only
             here. On a bounded Theta its normaliser depends on the data again.
    Privacy  Improper: only additive noise, whose normaliser is common, may be drawn on it.
    Cost     None.
    """

    dim: int

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise SpecError(f"WholeSpace needs at least one coordinate, got {self.dim}.")

    @property
    def proper(self) -> bool:
        """The whole lattice is infinite."""
        return False
