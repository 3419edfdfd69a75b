"""The whole space with a heavy-tailed base measure: no bound to guess."""

from __future__ import annotations

from dataclasses import dataclass

from kng.core.errors import SpecError


@dataclass(frozen=True, slots=True)
class HeavyTailed:
    """All of R^d with Cauchy tails in the l1 norm.

        base density proportional to (1 + ||theta||_1)^-(d + 1)

    A Student-t with one degree of freedom, in the geometry of the sensitivity: under

        phi = theta / (1 + ||theta||_1)

    it is the uniform law on the unit l1 ball, and a gradient divided by a sensitivity of the form
    s (1 + ||theta||_1) becomes piecewise affine in phi. That makes exact draws cheap for every
    dataset (docs/proofs/samplers/affine.md).

    Paper    The remark after linear regression: without the bound B a base measure is needed.
    Privacy  Public.
    Cost     None.
    """

    dim: int

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise SpecError(f"HeavyTailed needs at least one coordinate, got {self.dim}.")

    @property
    def proper(self) -> bool:
        """The base measure integrates to one."""
        return True
