"""All thetas equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kng.core.parts import Array


@dataclass(frozen=True, slots=True)
class Uniform:
    """The same base density everywhere: Lebesgue measure, or the counting measure on a lattice.

    Paper    The base measure of its examples.
    Privacy  Public. It has no finite mass on an unbounded domain, where only mechanisms that do not
             need one may use it.
    Cost     None.
    """

    finite: ClassVar[bool] = False

    def log_density(self, theta: Array) -> Array:
        """Return 0 for each row of theta."""
        return np.zeros(len(theta))
