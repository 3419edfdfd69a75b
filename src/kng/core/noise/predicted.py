"""Noise that depends on the records: predicted for records that look as declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

from kng.core.lattice import Lattice
from kng.core.noise.interval import Ends, Kind
from kng.core.noise.tails import Tail, standard_quantile

_UNITS = "the units of the answer"


@dataclass(frozen=True, slots=True)
class PredictedNoise:
    """The standard deviation of the noise in each number, for the declared shape.

    ``law`` and ``dim`` are those of the noise in the gradient, whose tails the coefficients share.
    ``shape`` says in words what was taken for granted.
    """

    deviations: tuple[float, ...]
    law: str
    dim: int
    shape: str
    form: ClassVar[str] = "predicted"
    kind: ClassVar[Kind] = "predicted"

    def fits(self, numbers: int) -> bool:
        """Whether it is about so many numbers."""
        known = all(isfinite(s) and s >= 0 for s in self.deviations)
        return len(self.deviations) == numbers and known and self.dim > 0

    @property
    def unit(self) -> str:
        """What the ends are measured in."""
        return _UNITS

    def ends(self, value: Sequence[Any], lattice: Lattice, level: float) -> Ends:  # noqa: ARG002
        """Return the interval around each coefficient."""
        ratio = standard_quantile(self.law, self.dim, level) / Tail(self.law, 1, 1, self.dim).deviation  # type: ignore[arg-type]
        reach = tuple(ratio * s for s in self.deviations)
        sides = list(zip(map(float, value), reach, strict=True))
        return Ends(tuple(v - r for v, r in sides), tuple(v + r for v, r in sides), reach)

    def to_mapping(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "form": self.form,
            "deviations": list(self.deviations),
            "law": self.law,
            "coordinates": self.dim,
            "shape": self.shape,
        }

    @classmethod
    def from_mapping(cls, facts: Any) -> PredictedNoise:
        """Read it from JSON."""
        deviations = tuple(float(s) for s in facts["deviations"])
        return cls(deviations, str(facts["law"]), int(facts["coordinates"]), str(facts["shape"]))
