"""What covers of smooth losses ask of a field."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from kng.core.parts import Point


class CurvedField(Protocol):
    """Records whose gradients are smooth in theta almost everywhere, in whole numbers.

    distance   (theta - x) / ||theta - x||                 rows x
    huber      clip((x'theta - y) / bend, -1, 1) x         rows x, response y

    Their values are the distances, and bend times Huber's losses.
    """

    @property
    def shape(self) -> Literal["distance", "huber"]:
        """Which of the two."""
        ...

    @property
    def rows(self) -> NDArray[np.float64]:
        """The whole numbers x, one row per record."""
        ...

    @property
    def response(self) -> NDArray[np.float64]:
        """The whole numbers y."""
        ...

    @property
    def bend(self) -> float:
        """The threshold of Huber's loss."""
        ...

    @property
    def unit(self) -> Fraction:
        """What a gradient, or a value, of size one is worth in the score."""
        ...

    @property
    def most(self) -> float:
        """A bound on the size of the gradient."""
        ...

    @property
    def grain(self) -> float:
        """The steps to which the value of one record is rounded down."""
        ...

    @property
    def weighed(self) -> Literal["gradient", "value"]:
        """What the score measures."""
        ...

    def guess(self, every: int) -> NDArray[np.float64]:
        """Return a point not far from the minimiser, looking at one record in ``every``."""
        ...

    def score(self, theta: Point) -> Fraction:
        """Return the score at one lattice point, exactly, from all records."""
        ...
