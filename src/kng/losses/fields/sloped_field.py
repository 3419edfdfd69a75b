"""A linear model in real arithmetic: its gradient and the derivative of it, one pass each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kng.core.parts import Point
from kng.core.privacy import ReplaceOne
from kng.core.records import Records, Source
from kng.core.regions import Grid
from kng.losses.kernels.held import Everything, Held
from kng.losses.kernels.linear_rows import ENDS
from kng.losses.kernels.sloped_sums import (
    CurvatureSums,
    GradientSums,
    LeastCurvatureSums,
    SlopedRows,
)
from kng.losses.reading import Measure, ReadPlan

Array = NDArray[np.float64]

# So many cells, 32 megabytes, are brought home once, where the number of records is public; larger
# tables are read again in every pass.
_HELD = 2**22


def read_sloped(source: Source, plans: Sequence[ReadPlan]) -> list[SlopedField]:
    """Return a field for each plan; plans that are read together have one design and lattice."""
    loss, neighbours = plans[0].problem.loss, plans[0].problem.unit.neighbours
    records: Records = source
    rows = loss.rows
    if isinstance(neighbours, ReplaceOne) and neighbours.n * (loss.dim + 1) <= _HELD:
        records, rows = Held(source.collect(rows)), Everything()
    fields = []
    for plan in plans:
        each = plan.problem.loss
        # Functions with a scale of their own are told predictions in units of the response.
        scale = float(each.design.half_y) if each.pointwise.scale is not None else 1.0
        per_y = float(each.rows.unit) * scale
        found = SlopedRows(rows, each.pointwise, scale / ENDS, per_y)
        fields.append(SlopedField(records, found, plan.measure, plan.grid))
    return fields


@dataclass(frozen=True)
class SlopedField:
    """G(theta) = sum psi(z'theta, y) z  and its derivative, in float64.

    ``measure`` is the norm of a vector at a lattice point.
    """

    source: Records
    rows: SlopedRows
    measure: Measure
    grid: Grid

    def gradients(self, thetas: Array) -> Array:
        """Return G at rows of theta, in one pass."""
        return self.source.reduce(GradientSums(self.rows, thetas))

    def curvature(self, theta: Array, width: float) -> tuple[Array, Array]:
        """Return G and H at theta, in one pass."""
        wide = width * self.rows.per_theta * ENDS
        found = self.source.reduce(CurvatureSums(self.rows, theta, wide))
        return found[0], found[1:]

    def least_curvature(self, centre: Array, root: Array, radii: Array) -> tuple[Array, Array]:
        """Return what H is nowhere below on ellipsoids, and what secants are not, in one pass."""
        kernel = LeastCurvatureSums(self.rows, centre, root, radii)
        least, secant = kernel.matrices(self.source.reduce(kernel))
        return least, secant

    def score(self, theta: Point) -> Fraction:
        """Return the norm of G at a lattice point, in float64."""
        at = np.array([[float(v) for v in self.grid.theta(theta)]])
        return self.measure(theta, [Fraction(float(v)) for v in self.gradients(at)[0]])
