"""One cell of the product: a plan of the library's parts, and the same law in plain arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from product.axes import BASES, DOMAINS, LOSSES, MECHANISMS, NORMS, UNITS, LossRow, Plain
from product.plain import Parabola, Plane, Ranked, Vector, box_of, gauge, moves, reach, root

from kng.core.errors import KngError
from kng.core.parts import Field, Point
from kng.core.problem import Problem
from kng.domains import Uncrossed
from kng.losses.kernels.held import Held
from kng.samplers.registry import certified

F = Fraction
EPSILON = F(1)
N = 2
Dataset = tuple[Vector, ...]
# Directions along which the hull of least squares is measured in the plane.
FAN = [(1, 0), (2, 1), (1, 1), (1, 2), (0, 1), (-1, 2), (-1, 1), (-2, 1)]


def with_base(domain: Any, base: Any) -> Any:
    """Return a domain with a base measure; planes that do not cross have that of their box."""
    if isinstance(domain, Uncrossed):
        return replace(domain, box=domain.box.based(base))
    return domain.based(base)


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

    def problem(self, n: int = N, base: str | None = None) -> Problem:
        row = self.row
        norm, domain = NORMS[self.norm].norm(row.dim), DOMAINS[self.domain].domain(row)
        if base is not None:
            domain = with_base(domain, BASES[base].base(row.dim))
        unit = UNITS[self.unit].unit(n)
        return Problem(row.loss, norm, domain, row.records, row.answers, unit)

    def plan(self, n: int = N, epsilon: Fraction = EPSILON, base: str | None = None) -> Any:
        """Return the certified plan, or raise what refuses it."""
        plan = certified(MECHANISMS[self.mechanism].plan(self.problem(n, base), epsilon))
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
        grid = self.row.grid
        return tuple(o + h * k for o, h, k in zip(grid.origin, grid.step, point, strict=True))

    def corners(self) -> list[Vector]:
        """Return the corners of what is known of the domain: a box, or a ball by its vertices."""
        row, known = self.row, DOMAINS[self.domain].known
        assert known is not None
        low, high, length = known(row)
        if length is None or not isinstance(row.plain, Plane):
            return list(product(*zip(low, high, strict=True)))
        ends = [
            tuple(s * length * (i == j) for i in range(row.dim))
            for j in range(row.dim)
            for s in (1, -1)
        ]
        return [*ends, (F(0),) * row.dim]

    def pieces(self, theta: Vector) -> list[list[Vector]]:
        """Return what one record can do to the sum of scores at theta.

        On a ball it is what it can do anywhere on it, coordinate by coordinate.
        """
        unit, row = UNITS[self.unit], self.row
        wide = self.domain == "ball" and not row.bounded and not self.follows
        thetas = self.corners() if wide else [theta]
        found = moves(row.plain, thetas, unit.relation, unit.absent)
        if not wide and not row.boxed:
            return found
        return [box_of(piece) for piece in found]

    @property
    def follows(self) -> bool:
        """Whether the norm is another one at every theta."""
        return NORMS[self.norm].plain is None

    @property
    def walked(self) -> bool:
        """Whether changes are known along every direction: those of least squares."""
        plain = self.row.plain
        return isinstance(plain, Plane) and isinstance(plain.function, Parabola)

    def reach(self, theta: Vector, direction: Sequence[Fraction]) -> Fraction:
        """Return how far one record moves least squares along a direction."""
        unit, plain = UNITS[self.unit], self.row.plain
        assert isinstance(plain, Plane)
        absent = unit.absent and unit.relation == "replace-one"
        return reach(plain, theta, direction, "absent" if absent else unit.relation)

    def length(self, theta: Vector) -> Plain:
        """Return the norm at theta."""
        plain = NORMS[self.norm].plain
        if plain is not None:
            return plain
        if theta not in self._fitted:
            self._fitted[theta] = self._fit(theta)
        return self._fitted[theta]

    @cached_property
    def _fitted(self) -> dict[Vector, Plain]:
        return {}

    def _fit(self, theta: Vector) -> Plain:
        """Return the norm that follows what one record can do at theta."""
        found = [move for piece in self.pieces(theta) for move in piece]
        if self.walked and self.row.dim == 2 and self.norm == "hull":
            far = [(v, self.reach(theta, v)) for v in FAN]
            return lambda g: max(abs(v[0] * g[0] + v[1] * g[1]) / r for v, r in far)
        if self.norm == "hull" and self.row.dim == 2 and self.row.subgradients:
            radius = max(root(sum((v * v for v in move), F(0))) for move in found)
            return lambda g: root(sum((v * v for v in g), F(0))) / radius
        if self.norm == "hull" and self.row.dim == 2:
            return gauge(found)
        widths = [max(map(abs, column)) for column in zip(*found, strict=True)]
        return lambda g: max(abs(a) / w for a, w in zip(g, widths, strict=True))

    def delta(self, theta: Vector) -> Fraction:
        """Return Delta at theta."""
        if self.mechanism == "exponential":
            return self.row.plain.largest_value(self.corners())
        facets = NORMS[self.norm].facets
        if self.follows:
            return F(1)
        if self.walked and facets:
            thetas = self.corners() if self.domain == "ball" else [theta]
            return max(self.reach(at, facet) for at in thetas for facet in facets)
        length = self.length(theta)
        return max(length(move) for piece in self.pieces(theta) for move in piece)

    def score(self, theta: Vector, dataset: Sequence[Vector], based: bool = False) -> Fraction:
        """Return the norm of the summed scores, or the summed value.

        ``based``: with a base measure nothing is read by ranks or with subgradients.
        """
        plain = self.row.plain
        if self.mechanism == "exponential":
            return sum((plain.value(theta, x) for x in dataset), F(0))
        length = self.length(theta)
        if isinstance(plain, Ranked):
            return F(plain.least(theta, dataset))
        scores = [plain.score(theta, x) for x in dataset]
        total = [sum(column, F(0)) for column in zip(*scores, strict=True)] or [F(0)] * self.row.dim
        # Beside a base, and on a ball that is not between planes, records at theta count 0.
        here = 0 if based or self.domain == "round ball" else sum(x == theta for x in dataset)
        if self.row.subgradients and self.norm == "l2" and self.row.dim > 1:
            return max(length(total) - here, F(0))
        if self.row.ranks and length((F(1),)) == 1 and self.domain != "uncrossed":
            # Ranks, where they are read, weigh the distance to all subgradients.
            return max(total[0] - here, -total[0], F(0)) if not based else abs(total[0])
        return length(total)

    @cached_property
    def deltas(self) -> dict[Point, Fraction]:
        """Return Delta at every lattice point; once, where it is one number for all."""
        ball = self.domain == "ball" and not self.row.bounded
        if self.mechanism == "exponential" or self.follows or ball or self.row.steady:
            return dict.fromkeys(self.points, self.delta(self.theta(self.points[0])))
        return {k: self.delta(self.theta(k)) for k in self.points}

    def exponents(
        self, dataset: Sequence[Vector], epsilon: Fraction = EPSILON, base: str | None = None
    ) -> dict[Point, Fraction]:
        """Return gamma at every lattice point: the law is exp(-gamma), normalised."""
        weigh = (lambda _: 0.0) if base is None else BASES[base].plain
        based = base is not None
        return {
            k: epsilon * self.score(self.theta(k), dataset, based) / (2 * delta)
            + F(weigh(self.theta(k)))
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
