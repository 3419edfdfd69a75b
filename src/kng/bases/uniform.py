"""All thetas equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kng.core.parts import Array
from kng.core.regions import Region, Theta


@dataclass(frozen=True, slots=True)
class Uniform:
    """The same base density everywhere: Lebesgue measure, or the counting measure on a lattice.

    Paper    The base measure of its examples.
    Privacy  Public. It has no finite mass on an unbounded domain, where only mechanisms that do not
             need one may use it.
    Cost     None.
    """

    even: ClassVar[bool] = True
    finite: ClassVar[bool] = False
    limits: ClassVar[None] = None

    def fitted(self, region: Region) -> Uniform:  # noqa: ARG002
        """Return the same: it serves every region."""
        return self

    def scaled(self, factor: Fraction) -> Uniform:  # noqa: ARG002
        """Return the same: it has no units."""
        return self

    def exponent(self, theta: Theta) -> Fraction:  # noqa: ARG002
        """Return 0."""
        return Fraction(0)

    def exponent_bounds(self, low: Array, high: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """Return 0 and 0 for each row."""
        return np.zeros(len(low)), np.zeros(len(low))

    def log_density(self, theta: Array) -> Array:
        """Return 0 for each row of theta."""
        return np.zeros(len(theta))
