"""Linear regression by least squares."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.design import Design
from kng.core.errors import IncompatibleParts
from kng.core.privacy import Neighbours, ReplaceOne
from kng.core.protocols import Source
from kng.core.regression import AffineField, QuadraticField
from kng.losses.kernels.gram import Gram, load_products, normal_equations, standardised


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Half the squared residual of a linear model in standardised units.

        l(theta; z, y) = (y - z'theta)^2 / 2,        gradient sum = A theta - b
        A = sum z z',  b = sum z y,  |z_j| <= 1,  |y| <= 1

    Without an intercept z and y may fill less than [-1, 1], and one record does less.

    The paper leaves out the half and carries a factor 2 through gradient and sensitivity; in its
    equation (1) the factor is dropped from the gradient and kept in the sensitivity, which spends
    half the budget for nothing (docs/paper-map.md, row "linear regression density").

    Paper    Section 4.2 and its remark on removing the bound B.
    Privacy  One record moves coordinate j of the gradient by at most Delta_j(theta), below.
             docs/proofs/losses/least_squares.md.
    Cost     One pass; then everything depends on d alone.
    """

    def widths(self, theta: Any, design: Design, neighbours: Neighbours) -> Any:
        """Return Delta_j(theta), how far one record moves each coordinate of the gradient.

        Rows of ``theta`` are points, of floats or of exact fractions. With a = |theta_j| and
        T_j = 1 + ||theta||_1 - a, replacing a record moves coordinate j by at most

            2 T_j                          if a <= T_j / 2,
            a + T_j + T_j^2 / (4 a)        otherwise,

        and the intercept, whose covariate is fixed at 1, by 2 (1 + sum of the other |theta_k|).
        Where no column fills [-1, 1] it also moves by at most s (1 + ||theta||_1), s = `slope`.
        Adding or removing one moves each coordinate by at most 1 + ||theta||_1.
        """
        a = np.abs(theta)
        total = 1 + a.sum(axis=-1, keepdims=True)
        if not isinstance(neighbours, ReplaceOne):
            return total + 0 * a
        rest = total - a
        steep = np.where(a > 0, a, 1)  # only used where a > rest / 2 > 0
        width = np.where(2 * a <= rest, 2 * rest, a + rest + rest * rest / (4 * steep))
        if design.intercept:
            width[..., 0] = 2 * rest[..., 0]
            return width
        slope = self.slope(design, neighbours)
        if slope < 2:
            width = np.minimum(width, total * (slope if a.dtype == object else float(slope)))
        return width

    def slope(self, design: Design, neighbours: Neighbours) -> Fraction:
        """Return s with Delta_j(theta) <= s (1 + ||theta||_1) for every j and theta.

        Under replace-one the length of the longest interval that a column fills, of the response
        too, and at least 1: two gradients z_j r and z_j' r' of one sign differ by no more than
        the larger of them, else by |r - r'| or by |z_j - z_j'| (1 + ||theta||_1) at most.
        """
        if not isinstance(neighbours, ReplaceOne):
            return Fraction(1)
        return max(Fraction(1), *(high - low for low, high in design.ends))

    def value_sensitivity(self, coef_bound: Fraction) -> Fraction:
        """Return the largest loss of a record over ||theta||_1 <= coef_bound; losses reach 0."""
        return (1 + coef_bound) ** 2 / 2

    def gradient_bound(
        self, coef_bound: Fraction, design: Design, neighbours: Neighbours
    ) -> Fraction:
        """Return the largest change of any coordinate over ||theta||_1 <= coef_bound."""
        return self.slope(design, neighbours) * (1 + coef_bound)

    def curvature(self, design: Design) -> Fraction:
        """Return the largest eigenvalue of one record's Hessian z z', which has rank one."""
        return Fraction(design.dim)

    def prepare(self) -> None:
        """Load what reading needs."""
        load_products()

    def read_affine(self, source: Source, design: Design) -> AffineField:
        """Read A and b in one pass, exactly, and round them once."""
        state = source.reduce(Gram(design.records.last))
        matrix, vector = standardised(state, design)
        return AffineField(matrix, vector)

    def perturbed_bound(
        self, radius: Fraction | None, design: Design, neighbours: Neighbours
    ) -> Fraction:
        """Return the largest change of any gradient coordinate over the ball."""
        if radius is None:
            raise IncompatibleParts(
                "Objective perturbation of a squared loss needs a bound on the coefficients, "
                "because its gradient grows with them. Give coef_bound, or use mechanism='kng'."
            )
        return self.gradient_bound(radius, design, neighbours)

    def typical_size(self, radius: Fraction | None) -> Fraction:
        """Return half the radius: coefficients fill the stated ball, but not its tips."""
        return (radius or Fraction(1)) / 2

    def read_smooth(
        self,
        source: Source,
        design: Design,
        neighbours: Neighbours,  # noqa: ARG002 - one pass is enough however many records there are
    ) -> QuadraticField:
        """Read A and b in one pass and round nothing: a quadratic is its own model."""
        return QuadraticField(normal_equations(source.reduce(Gram(design.records.last)), design))
