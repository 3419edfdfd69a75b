"""What covers of quantile planes ask of a field."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.parts import Point


class PlaneField(Protocol):
    """Records x, y whose share of the score depends on whether y <= x'theta, as whole numbers.

    With w = 1 for the records that count (y <= x'theta) and 0 for the others, tau = p / q,

        gradient   unit * ( |G_0| + slope * (max_{j > 0} |G_j| - |G_0|)_+ ),
                   G_j = q sum w x_j - p sum x_j
        value      unit * sum (p - q w)(y - x'theta)
    """

    @property
    def rows(self) -> NDArray[np.float32]:
        """The whole numbers x, one row per record."""
        ...

    @property
    def response(self) -> NDArray[np.floating]:
        """The whole numbers y."""
        ...

    @property
    def tau(self) -> Fraction:
        """The wanted quantile."""
        ...

    @property
    def slope(self) -> Fraction:
        """Weight of the slopes in the norm."""
        ...

    @property
    def unit(self) -> Fraction:
        """What one whole number is worth in the score."""
        ...

    @property
    def weighed(self) -> Literal["gradient", "value"]:
        """What the score measures."""
        ...

    def shifted(self, bits: Bits) -> PlaneField:
        """Return the records with a random shift of each response, if the loss asks for one."""
        ...

    def score_of(self, theta: Point, counted: Sequence[int]) -> Fraction:
        """Return the score, given the sums of x and of y over the records that count."""
        ...

    def least_scores(
        self, thetas: NDArray[np.int64], counted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the scores at many points in float64, too small by rounding if anything."""
        ...
