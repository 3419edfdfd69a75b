"""Numbers in order between two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, positive, show
from kng.core.parts import Base, Point
from kng.core.regions import Grid, Region, Theta
from kng.domains.half_spaces import HalfSpaces, between, cut, walls_on
from kng.domains.points import LatticeBox
from kng.domains.stated import UNIFORM, agreed, known, shown, stated


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Ordered:
    """Numbers that do not fall, between two bounds: where quantiles drawn together lie.

        Theta = { theta : low <= theta_1 <= ... <= theta_m <= high }

    Parameters
    ----------
    low, high : number
        The bounds of every coordinate.
    dim : int, optional
        Number of coordinates; by default as many as the loss has.

    Paper    none; its densities for bounded scores are improper without a bounded Theta.
    Privacy  Public: the caller states the bounds. docs/proofs/domains/half_spaces.md.
    Cost     O(m); lattice points have m - 1 inequalities besides those of a box.
    """

    low: Fraction
    high: Fraction
    _dim: int | None

    waits: ClassVar[bool] = False
    base: ClassVar[Base] = UNIFORM
    bounded: ClassVar[bool] = True
    proper: ClassVar[bool] = True

    def __init__(self, low: Any, high: Any, dim: Any = None) -> None:
        first, last = exact(low, "low"), exact(high, "high")
        if first >= last:
            raise SpecError(f"Ordered: low must lie below high, got {show(first)}, {show(last)}.")
        self._set(first, last, stated(dim))

    def _set(self, low: Fraction, high: Fraction, dim: int | None) -> Ordered:
        """Take numbers that were read before: they may be finer or larger than a caller's."""
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "_dim", dim)
        return self

    @classmethod
    def between(cls, low: Fraction, high: Fraction, dim: int) -> Ordered:
        """Return all numbers in order between two exact ones."""
        return object.__new__(cls)._set(low, high, dim)

    def __repr__(self) -> str:
        return f"Ordered({show(self.low)}, {show(self.high)}{shown(self._dim, UNIFORM, UNIFORM)})"

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return repr(self)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return known(self._dim, repr(self))

    @property
    def ascending(self) -> tuple[Fraction, Fraction]:
        """The bounds of all its numbers."""
        return self.low, self.high

    def refusal(self) -> None:
        """Refuse nothing: a bounded domain has finite mass."""

    def sized(self, dim: int) -> Ordered:
        """Return it with as many coordinates as the loss, or refuse."""
        agreed(self._dim, dim, repr(self))
        return Ordered.between(self.low, self.high, dim)

    def scaled(self, factor: Fraction) -> Ordered:
        """Return the same numbers in other units: each times a positive factor."""
        positive(factor, "factor")
        return object.__new__(Ordered)._set(factor * self.low, factor * self.high, self._dim)

    def region(self) -> Region:
        """Return the box around it."""
        return Region.between((self.low,) * self.dim, (self.high,) * self.dim)

    def given(self, grid: Grid, drawn: Sequence[Point]) -> Ordered:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether numbers lie in order between the bounds."""
        chain = [self.low, *theta, self.high]
        return len(theta) == self.dim and chain == sorted(chain)

    def on(self, grid: Grid) -> LatticeBox | HalfSpaces:
        """Return its lattice points, in a box with a wall between neighbours."""
        agreed(self.dim, len(grid.step), repr(self), "lattice")
        home = self._least(grid)
        box = between((self.low,) * self.dim, (self.high,) * self.dim, grid)
        if box is None or not box.contains(home):
            raise IncompatibleParts(
                f"{self!r} holds no points of the lattice in order, whose steps are "
                f"{', '.join(map(show, grid.step))}. Use wider bounds or a smaller step."
            )
        none, falls = (Fraction(0),), (Fraction(1), Fraction(-1))
        rows: list[Theta] = [
            none * j + falls + none * (self.dim - 2 - j) for j in range(self.dim - 1)
        ]
        return cut(box, walls_on(rows, (Fraction(0),) * len(rows), grid), home)

    def _least(self, grid: Grid) -> Point:
        """Return the least lattice points in order."""
        found, least = [], self.low
        for origin, step in zip(grid.origin, grid.step, strict=True):
            found.append(ceil((least - origin) / step))
            least = origin + step * found[-1]
        return tuple(found)
