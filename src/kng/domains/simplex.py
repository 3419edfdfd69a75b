"""Shares of a total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, ClassVar

from kng.core.errors import IncompatibleParts
from kng.core.exact import positive, show
from kng.core.parts import Base, Point
from kng.core.regions import Grid, Region
from kng.domains.half_spaces import HalfSpaces, between, cut, walls_on
from kng.domains.points import LatticeBox
from kng.domains.stated import UNIFORM, agreed, based, known, rescaled, shown, stated


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Simplex:
    """Shares of a total: the shares of all categories but one, which has what is left.

        Theta = { theta : theta_j >= 0,  sum_j theta_j <= total }

    Shares of c categories are c - 1 numbers: give records of all categories but one, and read the
    last share off as total - sum_j theta_j.

    Parameters
    ----------
    total : number
        What the shares of all categories add up to, by default 1.
    dim : int, optional
        Number of coordinates, one less than categories; by default as many as the loss has.
    base : base of `kng.bases`, or an earlier Release
        The base measure, by default uniform.

    Paper    none; Section 4.2 has an l1 ball.
    Privacy  Public: the caller states the total. docs/proofs/domains/half_spaces.md.
    Cost     O(d); lattice points have one inequality besides those of a box.
    """

    total: Fraction
    _dim: int | None
    base: Base

    waits: ClassVar[bool] = False

    def __init__(self, total: Any = 1, dim: Any = None, base: Base = UNIFORM) -> None:
        self._set(positive(total, "total of Simplex"), stated(dim), base)

    def _set(self, total: Fraction, dim: int | None, base: Base) -> Simplex:
        """Take a number that was read before: it may be larger than a caller's."""
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "_dim", dim)
        object.__setattr__(self, "base", UNIFORM)
        if base is not UNIFORM:
            region = None if dim is None else self.region()
            object.__setattr__(self, "base", based(base, region))
        return self

    def __repr__(self) -> str:
        return f"Simplex({show(self.total)}{shown(self._dim, self.base, UNIFORM)})"

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return repr(self)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return known(self._dim, repr(self))

    @property
    def bounded(self) -> bool:
        """A simplex lies in a box."""
        return True

    @property
    def proper(self) -> bool:
        """A bounded domain has finite mass."""
        return True

    def refusal(self) -> None:
        """Refuse nothing: a bounded domain has finite mass."""

    def sized(self, dim: int) -> Simplex:
        """Return the simplex with as many coordinates as the loss, or refuse."""
        agreed(self._dim, dim, repr(self))
        return object.__new__(Simplex)._set(self.total, dim, self.base)

    def scaled(self, factor: Fraction) -> Simplex:
        """Return the same simplex in other units: its total times a positive factor."""
        total = positive(factor, "factor") * self.total
        return object.__new__(Simplex)._set(total, self._dim, rescaled(self.base, factor))

    def based(self, base: Base) -> Simplex:
        """Return the same simplex with another base measure."""
        return object.__new__(Simplex)._set(self.total, self._dim, base)

    def region(self) -> Region:
        """Return the box around it; shares are not negative, so their l1 norm is their sum."""
        d = self.dim
        return Region(d, (Fraction(0),) * d, (self.total,) * d, self.total)

    def given(self, grid: Grid, drawn: Sequence[Point]) -> Simplex:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether no share is negative and all of them add up to at most the total."""
        return len(theta) == self.dim and min(theta) >= 0 and sum(theta) <= self.total

    def on(self, grid: Grid) -> LatticeBox | HalfSpaces:
        """Return its lattice points, in the smallest box that holds them."""
        agreed(self.dim, len(grid.step), repr(self), "lattice")
        sides = list(zip(grid.origin, grid.step, strict=True))
        # The least shares there are have the least sum of all.
        least = tuple(ceil(-o / h) for o, h in sides)
        room = self.total - sum(grid.theta(least))
        if room < 0:
            raise IncompatibleParts(
                f"{self!r} holds no point of the lattice, whose steps are "
                f"{', '.join(map(show, grid.step))}. Use a larger total or a smaller step."
            )
        shares = grid.theta(least)
        box = between(shares, tuple(v + room for v in shares), grid)
        assert box is not None  # it holds the least shares
        # What is left is shared out equally, and rounded down.
        part = room / (self.dim + 1)
        home = tuple(k + floor(part / h) for k, h in zip(least, grid.step, strict=True))
        walls = walls_on([(Fraction(1),) * self.dim], (self.total,), grid)
        return cut(box, walls, home)
