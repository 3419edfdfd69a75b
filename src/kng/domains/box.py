"""Coefficients between bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, ClassVar

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, positive, show
from kng.core.lattice import Lattice
from kng.core.parts import Base, Point
from kng.core.regions import Grid, Region, Theta
from kng.domains.points import LatticeBox
from kng.domains.stated import UNIFORM, agreed, based, known, rescaled, shown, stated


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Box:
    """All theta between two corners.

        Theta = { theta : low_j <= theta_j <= high_j }

    Parameters
    ----------
    low, high : number or sequence of numbers
        The bounds of every coordinate, or one for each.
    dim : int, optional
        Number of coordinates; by default as many as the loss has.
    base : base of `kng.bases`, or an earlier Release
        The base measure, by default uniform.

    Paper    The densities for bounded scores are improper without a bounded Theta
             (docs/paper-map.md).
    Privacy  Public: the caller states the bounds.
    Cost     O(d).
    """

    low: Theta  # of length 1 as long as the number of coordinates is not known
    high: Theta
    _dim: int | None
    base: Base

    waits: ClassVar[bool] = False

    def __init__(self, low: Any, high: Any, dim: Any = None, base: Base = UNIFORM) -> None:
        size, ends = stated(dim), []
        for name, value in (("low", low), ("high", high)):
            numbers = [exact(v, name) for v in (value if _several(value) else [value])]
            if _several(value):
                if not numbers or size not in {None, len(numbers)}:
                    raise SpecError(
                        f"Box: {name} must have one number per coordinate, and has {len(numbers)}."
                    )
                size = len(numbers)
            ends.append(numbers)
        first, last = (end * (size or 1) if len(end) == 1 else end for end in ends)
        if len(first) != len(last):
            raise SpecError(
                f"Box: low has {len(first)} numbers and high has {len(last)}; give as many of both."
            )
        for a, b in zip(first, last, strict=True):
            if a >= b:
                raise SpecError(f"Box: low must lie below high, got {show(a)} and {show(b)}.")
        self._set(tuple(first), tuple(last), size, base)

    def _set(self, low: Theta, high: Theta, dim: int | None, base: Base) -> Box:
        """Take numbers that were read before: they may be finer or larger than a caller's."""
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "_dim", dim)
        region = None if dim is None else Region.between(low, high)
        object.__setattr__(self, "base", base if base is UNIFORM else based(base, region))
        return self

    def __repr__(self) -> str:
        ends = [
            show(end[0]) if len(set(end)) == 1 else f"[{', '.join(map(show, end))}]"
            for end in (self.low, self.high)
        ]
        return f"Box({', '.join(ends)}{shown(self._dim, self.base, UNIFORM)})"

    @classmethod
    def of(cls, lattice: Lattice) -> Box:
        """Return the box around all points of a lattice."""
        last = lattice.units(lattice.last)
        return cls.between(lattice.origin, last)

    @classmethod
    def between(cls, low: Theta, high: Theta, base: Base = UNIFORM) -> Box:
        """Return the box with these exact corners."""
        return object.__new__(cls)._set(low, high, len(low), base)

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
        """A box lies between its corners."""
        return True

    @property
    def proper(self) -> bool:
        """A bounded domain has finite mass."""
        return True

    def refusal(self) -> None:
        """Refuse nothing: a bounded domain has finite mass."""

    def sized(self, dim: int) -> Box:
        """Return the box with as many coordinates as the loss, or refuse."""
        agreed(self._dim, dim, repr(self))
        if self._dim:
            return self
        return object.__new__(Box)._set(self.low * dim, self.high * dim, dim, self.base)

    def scaled(self, factor: Fraction) -> Box:
        """Return the same box in other units: each theta times a positive factor."""
        positive(factor, "factor")
        low, high = (tuple(factor * v for v in end) for end in (self.low, self.high))
        return object.__new__(Box)._set(low, high, self._dim, rescaled(self.base, factor))

    def based(self, base: Base) -> Box:
        """Return the same box with another base measure."""
        return object.__new__(Box)._set(self.low, self.high, self._dim, base)

    def region(self) -> Region:
        """Return its corners, and the largest l1 norm between them."""
        known(self._dim, repr(self))
        return Region.between(self.low, self.high)

    def given(self, grid: Grid, drawn: Sequence[Point]) -> Box:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether a theta lies between the corners."""
        known(self._dim, repr(self))
        return all(a <= v <= b for a, v, b in zip(self.low, theta, self.high, strict=True))

    def on(self, grid: Grid) -> LatticeBox:
        """Return its lattice points."""
        agreed(self.dim, len(grid.step), repr(self), "lattice")
        sides = list(zip(self.low, self.high, grid.origin, grid.step, strict=True))
        first = tuple(ceil((a - origin) / step) for a, _, origin, step in sides)
        last = tuple(floor((b - origin) / step) for _, b, origin, step in sides)
        if any(a > b for a, b in zip(first, last, strict=True)):
            raise IncompatibleParts(
                f"{self!r} holds no point of the lattice, whose steps are "
                f"{', '.join(map(show, grid.step))}. Use a wider box or a smaller step."
            )
        return LatticeBox(first, last)


def _several(value: Any) -> bool:
    """Whether bounds are given one for each coordinate."""
    return (
        isinstance(value, Iterable) and not isinstance(value, str) and getattr(value, "ndim", 1) > 0
    )
