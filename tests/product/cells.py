"""One cell of the product: a plan of the library's parts, and the same law in plain arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from product.axes import DOMAINS, LOSSES, MECHANISMS, NORMS, RADIUS, UNITS, LossRow, Plain, box_ends
from product.plain import Plane, Vector, box_of, moves

from kng.core.errors import KngError
from kng.core.parts import Field, Point
from kng.core.problem import Problem
from kng.losses.kernels.held import Held
from kng.samplers.registry import certified

F = Fraction
EPSILON = F(1)
N = 2
Dataset = tuple[Vector, ...]


@dataclass(frozen=True)
class Cell:
    """Names of the parts, one on each axis."""

    mechanism: str
    loss: str
    norm: str
    domain: str
    unit: str

    def __str__(self) -> str:
        return ", ".join((self.mechanism, self.loss, self.norm, self.domain, self.unit))

    @property
    def row(self) -> LossRow:
        return LOSSES[self.loss]

    def problem(self, n: int = N) -> Problem:
        row = self.row
        norm, domain = NORMS[self.norm].norm(row.dim), DOMAINS[self.domain].domain(row)
        unit = UNITS[self.unit].unit(n)
        return Problem(row.loss, norm, domain, row.records, row.answers, unit)

    def plan(self, n: int = N, epsilon: Fraction = EPSILON) -> Any:
        """Return the certified plan, or raise what refuses it."""
        plan = certified(MECHANISMS[self.mechanism].plan(self.problem(n), epsilon))
        for load in plan.loaders:
            load()
        return plan

    def read(self, plan: Any, dataset: Sequence[Vector]) -> Field:
        rows = np.array(self.row.rows(dataset), dtype=np.float64)
        (field,) = plan.read(Held(rows.reshape(len(dataset), len(self.row.records))), [plan])
        return field

    # --- the same in plain arithmetic ------------------------------------------------------------

    @cached_property
    def points(self) -> list[Point]:
        """Return all lattice points of a bounded domain: a wide box of them, looked at one by one.

        Where the lattice ends is known by nobody here, so the box is wider than every domain.
        """
        row, holds = self.row, DOMAINS[self.domain].holds
        assert holds is not None
        return [k for k in product(range(-20, 21), repeat=row.dim) if holds(row, self.theta(k))]

    def theta(self, point: Point) -> Vector:
        grid = self.row.loss.grid
        assert grid is not None
        return tuple(o + h * k for o, h, k in zip(grid.origin, grid.step, point, strict=True))

    def corners(self) -> list[Vector]:
        """Return the corners of what is known of the domain: a box, or a ball by its vertices."""
        row = self.row
        if self.domain == "ball":
            if isinstance(row.plain, Plane):
                ends = [
                    tuple(s * RADIUS * (i == j) for i in range(row.dim))
                    for j in range(row.dim)
                    for s in (1, -1)
                ]
                return [*ends, (F(0),) * row.dim]
            return list(product((-RADIUS, RADIUS), repeat=row.dim))
        return list(product(*zip(*box_ends(row, self.domain), strict=True)))

    def pieces(self, theta: Vector) -> list[list[Vector]]:
        """Return what one record can do to the sum of scores at theta.

        On a ball it is what it can do anywhere on it, coordinate by coordinate.
        """
        unit, row = UNITS[self.unit], self.row
        wide = self.domain == "ball" and not row.bounded
        thetas = self.corners() if wide else [theta]
        found = moves(row.plain, thetas, unit.relation, unit.absent)
        if not wide and not row.boxed:
            return found
        return [box_of(piece) for piece in found]

    @cached_property
    def length(self) -> Plain:
        """Return the norm; one that follows the changes is a sup norm of public widths."""
        plain = NORMS[self.norm].plain
        if plain is not None:
            return plain
        widths = self.plan().problem.norm.width
        return lambda v: max(abs(a) / w for a, w in zip(v, widths, strict=True))

    def delta(self, theta: Vector) -> Fraction:
        """Return Delta at theta."""
        if self.mechanism == "exponential":
            return self.row.plain.largest_value(self.corners())
        length = self.length
        return max(length(move) for piece in self.pieces(theta) for move in piece)

    def score(self, theta: Vector, dataset: Sequence[Vector]) -> Fraction:
        """Return the norm of the summed scores, or the summed value."""
        plain, length = self.row.plain, self.length
        if self.mechanism == "exponential":
            return sum((plain.value(theta, x) for x in dataset), F(0))
        scores = [plain.score(theta, x) for x in dataset]
        total = [sum(column, F(0)) for column in zip(*scores, strict=True)] or [F(0)] * self.row.dim
        here = sum(x == theta for x in dataset)
        if self.row.subgradients and self.norm == "l2" and self.row.dim > 1:
            return max(length(total) - here, F(0))
        if self.row.ranks and length((F(1),)) == 1 and self.domain != "uncrossed":
            # Ranks, where they are read, weigh the distance to all subgradients.
            return max(total[0] - here, -total[0], F(0))
        return length(total)

    @cached_property
    def deltas(self) -> dict[Point, Fraction]:
        """Return Delta at every lattice point; once, where it is one number for all."""
        if self.mechanism == "exponential" or self.domain == "ball" or self.row.bounded:
            return dict.fromkeys(self.points, self.delta(self.theta(self.points[0])))
        return {k: self.delta(self.theta(k)) for k in self.points}

    def exponents(
        self, dataset: Sequence[Vector], epsilon: Fraction = EPSILON
    ) -> dict[Point, Fraction]:
        """Return gamma at every lattice point: the law is exp(-gamma), normalised."""
        return {
            k: epsilon * self.score(self.theta(k), dataset) / (2 * delta)
            for k, delta in self.deltas.items()
        }

    # --- datasets --------------------------------------------------------------------------------

    def datasets(self, n: int = N) -> list[Dataset]:
        """Return all multisets of records of the universe that the relation knows, up to n."""
        unit, universe = UNITS[self.unit], self.row.universe
        fixed = unit.relation == "replace-one" and not unit.absent
        sizes = [n] if fixed else range(n + 1)
        return [d for m in sizes for d in combinations_with_replacement(universe, m)]

    def neighbours(self, n: int = N) -> Iterator[tuple[Dataset, Dataset]]:
        """Yield all pairs that differ in one record: replaced, added, or absent in one of them."""
        unit, universe = UNITS[self.unit], self.row.universe
        order = {x: i for i, x in enumerate(universe)}

        def with_one(rest: Dataset, x: Vector) -> Dataset:
            return tuple(sorted((*rest, x), key=order.__getitem__))

        fixed = unit.relation == "replace-one" and not unit.absent
        for m in [n - 1] if fixed else range(n):
            for rest in combinations_with_replacement(universe, m):
                others = [with_one(rest, x) for x in universe]
                if unit.relation == "add-remove" or unit.absent:
                    yield from ((rest, other) for other in others)
                if unit.relation == "replace-one":
                    yield from ((a, b) for i, a in enumerate(others) for b in others[:i])


@cache
def outcome(cell: Cell) -> str:
    """Return the sampler that serves a cell, or the sentence that refuses it."""
    try:
        return str(cell.plan().certificate.sampler.name)
    except KngError as refusal:
        return f"refused: {refusal}"


def accepted(cell: Cell) -> bool:
    return not outcome(cell).startswith("refused")


def every_cell() -> list[Cell]:
    """Return the whole product, but for norms where nothing is measured in one."""
    found = []
    for mechanism, loss, domain, unit in product(MECHANISMS, LOSSES, DOMAINS, UNITS):
        norms = [name for name, row in NORMS.items() if LOSSES[loss].dim in row.dims]
        for norm in norms[2:3] if mechanism == "exponential" else norms:
            found.append(Cell(mechanism, loss, norm, domain, unit))
    return found
