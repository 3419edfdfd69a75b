"""A heavy-tailed base measure: no bound to guess."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from kng.bases.place import OUTWARDS, SMALL
from kng.core.enclosures import log_below
from kng.core.exact import whole
from kng.core.parts import Array
from kng.core.regions import Region, Theta


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

    On a bounded domain it weighs lattice points, its logarithm rounded to steps of 2**-64.

    Paper    The remark after linear regression: without the bound B a base measure is needed.
    Privacy  Public. docs/proofs/domains/heavy.md and bases.md.
    Cost     One logarithm for a point.
    """

    even: ClassVar[bool] = False
    finite: ClassVar[bool] = True
    limits: ClassVar[None] = None

    freedom: int

    def __init__(self, freedom: Any = 3) -> None:
        object.__setattr__(self, "freedom", whole(freedom, "freedom", 1))

    @property
    def l1_freedom(self) -> int:
        """Its degrees of freedom."""
        return self.freedom

    def fitted(self, region: Region) -> HeavyTailed:  # noqa: ARG002
        """Return the same: it serves every region."""
        return self

    def scaled(self, factor: Fraction) -> HeavyTailed:  # noqa: ARG002
        """Return the same: it has no scale, and stays in the units of the loss."""
        return self

    def exponent(self, theta: Theta) -> Fraction:
        """Return (d + freedom) log(1 + ||theta||_1), rounded down to a step of 2**-64."""
        length = sum(map(abs, theta), Fraction(1))
        return log_below(length, Fraction(len(theta) + self.freedom))

    def exponent_bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return its bounds: it grows with each |theta_j|."""
        powers = low.shape[1] + self.freedom
        near = np.maximum(0.0, np.maximum(low, -high)).sum(axis=1)
        far = np.maximum(np.abs(low), np.abs(high)).sum(axis=1)
        least = powers * np.log1p(near * (1 - OUTWARDS)) * (1 - OUTWARDS) - SMALL
        most = powers * np.log1p(far * (1 + OUTWARDS)) * (1 + OUTWARDS) + SMALL
        return np.maximum(least, 0.0), most

    def log_density(self, theta: Array) -> Array:
        """Return -(d + freedom) log(1 + ||theta||_1) for each row of theta."""
        powers = theta.shape[1] + self.freedom
        return np.asarray(-powers * np.log1p(np.abs(theta).sum(axis=1)))
