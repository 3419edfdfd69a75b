"""A summed loss that is one quadratic in theta: sums of products are all that is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.design import Design
from kng.core.parts import Expansion, Point
from kng.core.quadratic import Quadratic, fraction, rational
from kng.losses.kernels.gram import GramState, normal_equations
from kng.losses.reading import Measure

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QuadraticField:
    """The sums of products of all records, in rational numbers.

        gradient   A theta - b,                                  theta = step t
        value      theta'A theta / 2 - b'theta + c

    ``measure`` is the norm of a vector at a point, or None where values are weighed. ``matrix`` and
    ``vector`` are A and b, each rounded to float64 once.
    """

    quadratic: Quadratic
    constant: Fraction
    step: Fraction
    measure: Measure | None
    matrix: Array = field(init=False, compare=False, repr=False)
    vector: Array = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        rows = [[float(v) for v in row] for row in self.quadratic.rows]
        object.__setattr__(self, "matrix", np.array(rows))
        object.__setattr__(self, "vector", np.array([float(v) for v in self.quadratic.right]))

    @classmethod
    def of(
        cls,
        state: GramState,
        design: Design,
        slope: Fraction,
        step: Fraction,
        measure: Measure | None,
    ) -> QuadraticField:
        """Return the field of  psi = slope * residual,  given sums of all products of columns."""
        exact = normal_equations(state, design)
        # There the response is measured in halves of its span, here in halves of its scale.
        unit = design.halves[-1] / design.half_y
        squares, total = int(state.products[-1, -1]), int(state.sums[-1])
        offset, span = design.offsets[-1], design.spans[-1]
        square = 4 * squares - 4 * offset * total + int(state.n) * offset**2
        return cls(
            Quadratic(exact.matrix * rational(slope), exact.vector * rational(slope * unit)),
            slope * unit**2 * Fraction(square, 2 * span**2),
            step,
            measure,
        )

    def shifted(self, bits: Bits) -> QuadraticField:  # noqa: ARG002
        """Return the same: nothing is split here."""
        return self

    def score(self, theta: Point) -> Fraction:
        """Return the score at one lattice point."""
        at = fmpq_mat(len(theta), 1, [fmpq(k) * rational(self.step) for k in theta])
        image = self.quadratic.matrix * at
        if self.measure is not None:
            vector = [fraction(v) for v in (image - self.quadratic.vector).entries()]
            return self.measure(theta, vector)
        half = image * fmpq(1, 2) - self.quadratic.vector
        return self.constant + fraction((at.transpose() * half)[0, 0])

    def expand(self, centre: Array, half: Array) -> Expansion:
        """Expand the gradient, which is its own expansion, or the value, over boxes.

        The value's second-order term  delta'A delta / 2  lies between 0 and its largest over the
        box; half of that is added. Each product of d terms has d + 2 roundings at most, of 2**-53
        of the sizes that are added; eight times as much covers the bounds themselves.
        """
        step, d = float(self.step), centre.shape[1]
        matrix, size = self.matrix, np.abs(self.matrix)
        rounding = 2.0**-50 * (d + 4)
        reach = (np.abs(centre) + half) * step
        gradient = (centre * step) @ matrix - self.vector
        sizes = reach @ size + np.abs(self.vector)
        if self.measure is not None:
            slope = np.broadcast_to(matrix * step, (len(centre), d, d))
            return Expansion(gradient, slope.copy(), rounding * sizes + np.finfo(float).tiny)
        constant = float(self.constant)
        first = np.einsum("mj,mj->m", centre * step, gradient - self.vector) / 2 + constant
        wide = half * step
        second = np.einsum("mj,mj->m", wide @ size, wide) / 4 * (1 + rounding)
        doubt = 4 * rounding * (np.einsum("mj,mj->m", reach, sizes) + constant)
        out = second + doubt + np.finfo(float).tiny
        return Expansion((first + second)[:, None], (gradient * step)[:, None, :], out[:, None])

    def start(self) -> Array:
        """Return the minimiser in lattice coordinates, with a ridge that keeps it finite."""
        d = len(self.vector)
        ridge = (1e-12 * float(np.trace(self.matrix)) + 2.0**-50) * np.eye(d)
        found = np.linalg.solve(self.matrix + ridge, self.vector) / float(self.step)
        return np.asarray(found) if np.isfinite(found).all() else np.zeros(d)

    def derivatives(self, theta: Array) -> tuple[float, Array, Array]:
        """Return value (up to a constant), gradient and Hessian, in float64."""
        gradient = self.matrix @ theta - self.vector
        value = float(theta @ (gradient - self.vector)) / 2
        return value, gradient, self.matrix

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:  # noqa: ARG002
        """Return the quadratic itself, which it is around every theta."""
        return self.quadratic
