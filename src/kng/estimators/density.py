"""The law of theta on public records, point by point: to look at, never to release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import IncompatibleParts, MissingExtra, SpecError
from kng.core.exact import exact, whole
from kng.core.parts import Point, described
from kng.core.plan import DensityPlan
from kng.core.records import Source
from kng.core.smoothing import Smoothing

# So deep that every record is read.
_DEEP = 2**62


@dataclass(frozen=True, slots=True)
class Density:
    """The density of theta at lattice points, for public records.

    Attributes
    ----------
    points : numpy.ndarray of shape (m, d)
        Lattice points in the units of the domain.
    log_density : numpy.ndarray of shape (m,)
        Minus the exponent, of which the base measure is a part: up to one constant.
    mass : numpy.ndarray of shape (m,)
        Each point's share among these points; they add up to 1.
    """

    points: NDArray[np.float64]
    log_density: NDArray[np.float64]
    mass: NDArray[np.float64]

    def plot(self, ax: Any = None) -> Any:
        """Draw it with matplotlib: a line, or points coloured by their mass.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise MissingExtra(
                    "plot needs matplotlib. Install it, as in pip install matplotlib."
                ) from None
            _, ax = pyplot.subplots()
        if self.points.shape[1] == 1:
            ax.plot(self.points[:, 0], self.mass)
        else:
            ax.scatter(self.points[:, 0], self.points[:, 1], c=self.mass)
        return ax


def density_of(plan: DensityPlan, source: Source, factor: Fraction, grid: Any) -> Density:
    """Evaluate a plan's law on records that their holder calls public."""
    if plan.ridge:
        raise IncompatibleParts(
            f"The density of {described(plan.problem.loss)} on {described(plan.problem.domain)} "
            "is not on a lattice. Use a bounded domain, such as L1Ball."
        )
    points = _given(plan, grid, factor) if np.ndim(grid) else _axes(plan, grid)
    inside = [point for point in points if plan.domain.contains(point)]
    if not inside:
        raise SpecError("no point of grid lies in the domain. Give points in the domain's units.")
    for load in plan.loaders:
        load()
    everything = _whole(plan)
    field = everything.read(source, [everything])[0]
    exponents = [plan.exponent(point, field.score(point)) for point in inside]
    theta = np.array([[float(v) for v in plan.grid.theta(point)] for point in inside])
    log_density = np.array([-float(v) for v in exponents])
    mass = np.exp(log_density - log_density.max())
    return Density(theta / float(factor), log_density, mass / mass.sum())


def _whole(plan: DensityPlan) -> DensityPlan:
    """Return a plan for which every record is read, however little it weighs."""
    assert plan.certificate is not None
    deep = Smoothing(plan.domain.points, Fraction(1, 2), 1, _DEEP)
    return replace(plan, certificate=replace(plan.certificate, smoothing=deep))


def _axes(plan: DensityPlan, number: Any) -> list[Point]:
    """Return so many lattice points along each axis, evenly spread."""
    count, box = whole(number, "grid", 1), plan.domain
    if box.dim > 2:
        raise SpecError(
            f"grid as a number is for one or two coordinates, these are {box.dim}. Give points."
        )
    axes = []
    for first, last in zip(box.first, box.last, strict=True):
        ends = Fraction(last - first, max(count - 1, 1))
        axes.append(sorted({first + round(ends * i) for i in range(count)}))
    return list(product(*axes))


def _given(plan: DensityPlan, grid: Any, factor: Fraction) -> list[Point]:
    """Return the lattice points nearest to points in the units of the domain."""
    dim = plan.domain.dim
    found: dict[Point, None] = {}
    for row in grid:
        numbers = [exact(v, "grid") for v in (row if np.ndim(row) else [row])]
        if len(numbers) != dim:
            raise SpecError(f"grid has a point with {len(numbers)} coordinates, theta has {dim}.")
        sides = zip(numbers, plan.grid.origin, plan.grid.step, strict=True)
        found[tuple(round((factor * v - o) / h) for v, o, h in sides)] = None
    return list(found)
