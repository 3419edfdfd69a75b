"""A heavy-tailed base measure: no bound to guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kng.core.exact import whole
from kng.core.parts import Array


@dataclass(frozen=True, slots=True, init=False)
class HeavyTailed:
    """The tails of a Student-t in the l1 norm.

        base density proportional to (1 + ||theta||_1)^-(d + freedom)

    It has no scale of its own: theta is in the standardised units of the loss.

    Under  phi = theta / (1 + ||theta||_1)  it is the density (1 - ||phi||_1)^(freedom - 1) on the
    unit l1 ball, uniform at 1 degree of freedom, and a gradient divided by a sensitivity of the
    form s (1 + ||theta||_1) becomes piecewise affine in phi. That makes exact draws cheap for every
    dataset (docs/proofs/samplers/affine.md). With 3 degrees of freedom theta has a mean and a
    variance however few the records are; with more of them, data that say that theta is long are
    slow to draw from.

    Parameters
    ----------
    freedom : int
        Degrees of freedom, at least 1; with fewer there is no finite mass.

    Paper    The remark after linear regression: without the bound B a base measure is needed.
    Privacy  Public. docs/proofs/domains/heavy.md.
    Cost     None.
    """

    finite: ClassVar[bool] = True

    freedom: int

    def __init__(self, freedom: Any = 3) -> None:
        object.__setattr__(self, "freedom", whole(freedom, "freedom", 1))

    def log_density(self, theta: Array) -> Array:
        """Return -(d + freedom) log(1 + ||theta||_1) for each row of theta."""
        powers = theta.shape[1] + self.freedom
        return np.asarray(-powers * np.log1p(np.abs(theta).sum(axis=1)))
