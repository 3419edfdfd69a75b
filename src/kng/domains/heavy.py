"""The whole space with a heavy-tailed base measure: no bound to guess."""

from __future__ import annotations

from dataclasses import dataclass

from kng.core.errors import SpecError


@dataclass(frozen=True, slots=True)
class HeavyTailed:
    """All of R^d with the tails of a Student-t in the l1 norm.

        base density proportional to (1 + ||theta||_1)^-(d + freedom)

    Under  phi = theta / (1 + ||theta||_1)  it is the density (1 - ||phi||_1)^(freedom - 1) on the
    unit l1 ball, uniform at 1 degree of freedom, and a gradient divided by a sensitivity of the
    form s (1 + ||theta||_1) becomes piecewise affine in phi. That makes exact draws cheap for every
    dataset (docs/proofs/samplers/affine.md). With 3 degrees of freedom theta has a mean and a
    variance however few the records are; with more of them, data that say that theta is long are
    slow to draw from.

    Paper    The remark after linear regression: without the bound B a base measure is needed.
    Privacy  Public.
    Cost     None.
    """

    dim: int
    freedom: int = 3

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise SpecError(f"HeavyTailed needs at least one coordinate, got {self.dim}.")
        if self.freedom < 1:
            raise SpecError(
                f"HeavyTailed needs at least one degree of freedom, got {self.freedom}; with fewer "
                "the base measure has no finite mass."
            )

    @property
    def proper(self) -> bool:
        """The base measure integrates to one."""
        return True
