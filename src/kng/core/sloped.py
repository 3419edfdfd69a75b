"""What the certified push-forward asks of a loss, its field and a norm: `sloped` in `offers`.

A field is sloped if it knows its gradient G and the derivative H of it at any real theta, and how
little H can be on ellipsoids. docs/proofs/samplers/push_forward.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.parts import Field, Loss, Norm
from kng.core.quadratic import Matrix, Vector

if TYPE_CHECKING:
    from kng.core.parts import Reader

# One matrix for each radius.
Matrices = NDArray[np.float64]


@runtime_checkable
class SlopedLoss(Loss, Protocol):
    """A convex loss whose gradient is continuous and has a derivative almost everywhere."""

    @property
    def sloped_reader(self) -> Reader:
        """How records are read for a `SlopedField`."""
        ...


class SlopedField(Field, Protocol):
    """G(theta), the sum of scores, in float64: monotone, because the loss is convex."""

    def gradients(self, thetas: Matrix) -> Matrix:
        """Return G at rows of theta, in one pass."""
        ...

    def curvature(self, theta: Vector, width: float) -> tuple[Vector, Matrix]:
        """Return G and H at theta, in one pass.

        A width above 0 asks for slopes over so much of the prediction on either side, for a start;
        at 0 it is H.
        """
        ...

    def least_curvature(
        self, centre: Vector, root: Matrix, radii: Vector
    ) -> tuple[Matrices, Matrices]:
        """Return two matrices for each radius, in one pass, given A^-1 = root root'.

            E = { centre + delta : delta'A delta <= radius^2 }

        The first is nowhere on E above H. With the second, S, for all of E

            delta'( G(centre + delta) - G(centre) )  >=  delta'S delta.
        """
        ...


@runtime_checkable
class SpreadNorm(Norm, Protocol):
    """A norm whose noise is drawn in real arithmetic, and whose ball is measured by ellipsoids."""

    def lengths(self, rows: Matrix) -> Vector:
        """Return the norm of each row."""
        ...

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the unit ball."""
        ...

    def directions(self, bits: Bits, rows: int, dim: int) -> Matrix:
        """Return points of norm one with the cone measure."""
        ...

    def largest_form(self, matrix: Matrix) -> float:
        """Return the largest u'matrix u of the unit ball, never below it; no form is negative."""
        ...
