"""A density of the caller's, as a public table over cells."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from math import floor, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.enclosures import log_below
from kng.core.errors import IncompatibleParts, SpecError, SpecTypeError
from kng.core.exact import exact, positive, whole
from kng.core.parts import Array
from kng.core.regions import Region, Theta

# A table has at most so many cells; exponents are whole numbers of 2**-64.
_MOST = 2**16
_STEP = 2**64
Edges = tuple[Theta, ...]


@dataclass(frozen=True, init=False, repr=False)
class Density:
    """A density that is constant on each cell of a public grid.

        base density proportional to weights[i, j, ...]
        for edges[0][i] <= theta_0 < edges[0][i + 1], and so on; the last edge belongs to its cell

    It is given by its edges and weights, or as a function, which is then evaluated at the middle of
    each cell of a domain's box: before anything is charged, on public points, and never again. Such
    a function must be public, too, and must not look at private records.

    Parameters
    ----------
    f : callable, optional
        f(theta) with theta an array of shape (m, d), in the units of the domain; returns the log
        density at each row, up to a constant, finite everywhere.
    grid : int
        Cells along each axis, for a function; at most 2**16 in all.
    edges : increasing numbers, or a list of them for each coordinate
        In the units of theta; together they must cover the domain.
    weights : array of positive numbers
        One per cell, with an axis for each coordinate.

    Paper    A base measure nu of its Theorem 3.1.
    Privacy  Public: any public positive weights are private. Logarithms are rounded to steps of
             2**-64. docs/proofs/domains/bases.md.
    Cost     One number a cell; a box looks at the cells that it meets.
    """

    even: ClassVar[bool] = False

    function: Callable[[Array], Any] | None
    grid: int
    factor: Fraction  # theta of the function times this is theta
    edges: Edges
    table: tuple[int, ...]  # exponents in steps of 2**-64, the last axis first

    def __init__(
        self,
        f: Callable[[Array], Any] | None = None,
        *,
        grid: Any = 64,
        edges: Any = None,
        weights: Any = None,
    ) -> None:
        if f is not None and (edges is not None or weights is not None):
            raise SpecError("Density takes a function, or edges and weights, not both.")
        if f is not None:
            if not callable(f):
                raise SpecTypeError(
                    f"Density: {type(f).__name__} is not a function of theta. Give f(theta), which "
                    "returns log densities, or edges= and weights=."
                )
            self._set(f, whole(grid, "grid of Density", 1), Fraction(1), (), ())
            return
        if edges is None or weights is None:
            raise SpecError("Density needs a function, or edges= and weights= of its cells.")
        sides = _edges(edges)
        self._set(None, 0, Fraction(1), sides, _exponents(weights, [len(s) - 1 for s in sides]))

    def _set(
        self,
        function: Callable[[Array], Any] | None,
        grid: int,
        factor: Fraction,
        edges: Edges,
        table: tuple[int, ...],
    ) -> Density:
        values = {"function": function, "grid": grid, "factor": factor}
        for name, value in {**values, "edges": edges, "table": table}.items():
            object.__setattr__(self, name, value)
        return self

    def __repr__(self) -> str:
        if self.function is not None:
            name = getattr(self.function, "__name__", type(self.function).__name__)
            return f"Density({name}, grid={self.grid})"
        return f"Density({len(self.table)} cells, sha256 {self._digest})"

    @property
    def described(self) -> str:
        """What a receipt calls it: a table of so many cells, and the start of its hash."""
        return repr(self)

    @cached_property
    def _digest(self) -> str:
        return sha256(repr((self.edges, self.table)).encode()).hexdigest()[:12]

    @property
    def finite(self) -> bool:
        """A table has finite mass; of a function nobody knows."""
        return self.function is None

    @property
    def limits(self) -> tuple[Theta, Theta] | None:
        """The ends of the edges."""
        if self.function is not None:
            return None
        return tuple(side[0] for side in self.edges), tuple(side[-1] for side in self.edges)

    def fitted(self, region: Region) -> Density:
        """Return its table over a region; refuse if it does not cover it."""
        if region.low is None or region.high is None:
            raise IncompatibleParts(
                f"{self!r} is a table over cells and needs a bounded domain, such as Box."
            )
        if self.function is not None:
            return self._tabled(self.function, region)
        if len(self.edges) != region.dim:
            raise IncompatibleParts(
                f"{self!r} has {len(self.edges)} coordinates, and theta has {region.dim}. Give "
                "edges for each of them."
            )
        for side, low, high in zip(self.edges, region.low, region.high, strict=True):
            if side[0] > low or side[-1] < high:
                raise IncompatibleParts(
                    f"{self!r} does not cover the domain: edges from {float(side[0]):g} to "
                    f"{float(side[-1]):g}, theta from {float(low):g} to {float(high):g}. Give "
                    "edges that reach as far."
                )
        return self

    def _tabled(self, function: Callable[[Array], Any], region: Region) -> Density:
        """Evaluate a function at the middle of each cell."""
        if self.grid**region.dim > _MOST:
            raise IncompatibleParts(
                f"{self!r} has {self.grid}^{region.dim} cells on a domain with {region.dim} "
                "coordinates; give a grid with at most 65536 in all."
            )
        sides = tuple(
            tuple(low + (high - low) * Fraction(i, self.grid) for i in range(self.grid + 1))
            for low, high in region.sides()
        )
        middles = [[float((a + b) / (2 * self.factor)) for a, b in pairwise(s)] for s in sides]
        theta = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, region.dim)
        found = np.asarray(function(theta), dtype=np.float64)
        if found.shape != (len(theta),) or not np.isfinite(found).all():
            raise SpecError(
                f"{self!r}: f(theta) must return one finite log density for each of the "
                f"{len(theta)} rows of theta. Use a very negative number where theta is unlikely."
            )
        numbers = [Fraction(v) for v in found.tolist()]
        most = max(numbers)
        table = tuple(floor((most - v) * _STEP) for v in numbers)
        return object.__new__(Density)._set(None, 0, Fraction(1), sides, table)

    def scaled(self, factor: Fraction) -> Density:
        """Return the same in other units: edges times a factor."""
        edges = tuple(tuple(factor * v for v in side) for side in self.edges)
        made = object.__new__(Density)
        return made._set(self.function, self.grid, factor * self.factor, edges, self.table)

    def exponent(self, theta: Theta) -> Fraction:
        """Return the exponent of the cell."""
        index = 0
        for value, side in zip(theta, self.edges, strict=True):
            cells = len(side) - 1
            index = index * cells + min(max(bisect_right(side, value) - 1, 0), cells - 1)
        return Fraction(self.table[index], _STEP)

    def exponent_bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return the least and the largest exponent of the cells that each box may meet."""
        first, last = self._cells(low, high)
        least, most = self._floats
        single = (first == last).all(axis=1)
        lower, upper = np.empty(len(low)), np.empty(len(low))
        at = tuple(first[single].T)
        lower[single], upper[single] = least[at], most[at]
        for i in np.flatnonzero(~single):
            box = tuple(slice(a, b + 1) for a, b in zip(first[i], last[i], strict=True))
            lower[i], upper[i] = least[box].min(), most[box].max()
        return lower, upper

    def log_density(self, theta: Array) -> Array:
        """Return minus the exponent of the cell of each row of theta."""
        return np.array(
            [-float(self.exponent(tuple(map(Fraction, row)))) for row in theta.tolist()]
        )

    def _cells(self, low: Array, high: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return a first and a last cell of each box, rather one too far out."""
        ends = []
        for j, side in enumerate(self.edges):
            near = np.array([float(v) for v in side])
            below, above = np.nextafter(near, -np.inf), np.nextafter(near, np.inf)
            first = np.searchsorted(above, low[:, j], side="right") - 1
            last = np.searchsorted(below, high[:, j], side="right") - 1
            ends.append(np.clip(np.stack([first, last]), 0, len(side) - 2))
        cells = np.stack(ends, axis=-1)
        return cells[0], cells[1]

    @cached_property
    def _floats(self) -> tuple[Array, Array]:
        """Bounds on the exponents in float64, an axis for each coordinate."""
        near = np.array([v / _STEP for v in self.table])
        near = near.reshape([len(side) - 1 for side in self.edges])
        return near * (1 - 2.0**-50), near * (1 + 2.0**-50)


def _edges(stated: Any) -> Edges:
    """Read increasing numbers, or a list of them for each coordinate."""
    several = list(stated) if isinstance(stated, Iterable) and not isinstance(stated, str) else []
    if not several:
        raise SpecTypeError("edges of Density must be a list of increasing numbers, or several.")
    nested = isinstance(several[0], Iterable) and not isinstance(several[0], str)
    sides = []
    for side in several if nested else [several]:
        numbers = tuple(exact(v, "edges of Density") for v in side)
        if len(numbers) < 2 or any(a >= b for a, b in pairwise(numbers)):
            raise SpecError("edges of Density must be increasing, two of them or more.")
        sides.append(numbers)
    return tuple(sides)


def _exponents(weights: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """Return log(largest weight / weight) of each cell, in steps of 2**-64, rounded down."""
    try:
        rows = np.array(weights, dtype=object)
    except ValueError:
        rows = np.array(0)
    if rows.shape != tuple(shape) or prod(shape) > _MOST:
        raise SpecError(
            f"weights of Density have the shape {rows.shape}, and the edges have "
            f"{' x '.join(map(str, shape))} cells. Give one weight per cell, at most 65536."
        )
    numbers = [positive(v, "weights of Density") for v in rows.ravel().tolist()]
    most = max(numbers)
    known = {v: int(log_below(most / v, Fraction(1)) * _STEP) for v in set(numbers)}
    return tuple(known[v] for v in numbers)
