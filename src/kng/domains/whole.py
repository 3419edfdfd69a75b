"""The whole space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from kng.bases import HeavyTailed
from kng.core.errors import IncompatibleParts
from kng.core.exact import listed, positive, show
from kng.core.parts import Base, Point
from kng.core.regions import Grid, Region, Theta
from kng.domains.box import Box
from kng.domains.points import LatticeBox
from kng.domains.stated import agreed, based, known, rescaled, shown, stated

_HEAVY = HeavyTailed(3)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Whole:
    """Every theta, with a base measure that has finite mass.

        Theta = R^d,     or the limits of its base measure, where it has some

    A Gaussian base has no mass worth naming beyond 40 scales from its centre, a Student base a
    millionth beyond 128: with such a base it is that box, so that every loss can be drawn on it.
    With ``HeavyTailed`` it has no limits, and least squares are drawn on it; for other losses use
    ``Box(..., base=HeavyTailed())``. With ``base=Uniform()`` it is improper: only additive noise,
    whose normaliser is the same for every dataset, and objective perturbation, which has none, may
    be used on it.

    Parameters
    ----------
    dim : int, optional
        Number of coordinates; by default as many as the loss has.
    base : base of `kng.bases`, or an earlier Release
        The base measure, by default heavy-tailed with 3 degrees of freedom.

    Paper    The remarks after mean estimation (a location family needs no factor 2, but only here)
             and after linear regression (without the bound B a base measure is needed).
    Privacy  Public. docs/proofs/domains/heavy.md and bases.md.
    Cost     None.
    """

    _dim: int | None
    base: Base

    waits: ClassVar[bool] = False

    def __init__(self, dim: Any = None, base: Base = _HEAVY) -> None:
        part, size = based(base, None), stated(dim)
        if not part.finite and not part.even:
            raise IncompatibleParts(
                f"Whole with base={part!r} may have no finite mass. Use Box, or another base."
            )
        if size is not None and not part.even:
            part = part.fitted(_region(part, size))
        object.__setattr__(self, "_dim", size)
        object.__setattr__(self, "base", part)

    def __repr__(self) -> str:
        return f"Whole({shown(self._dim, self.base, _HEAVY).removeprefix(', ')})"

    @property
    def described(self) -> str:
        """What a receipt calls it: with its limits, where it has some."""
        ends = self.base.limits
        if ends is None:
            return repr(self)
        low, high = (f"[{listed(map(show, end))}]" for end in ends)
        return f"{self!r} cut to {low} .. {high}"

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return known(self._dim, repr(self))

    @property
    def bounded(self) -> bool:
        """Whether its base measure has limits; the space itself has no corners."""
        return self.base.limits is not None

    @property
    def proper(self) -> bool:
        """Whether the base measure has finite mass."""
        return self.base.finite

    def refusal(self) -> str | None:
        """Say why no density that is only bounded can be drawn on it, or None if one can."""
        if self.base.finite:
            return None
        return f"{self!r} has no finite mass. Use base=HeavyTailed(), or Box or L1Ball."

    def sized(self, dim: int) -> Whole:
        """Return the space with as many coordinates as the loss, or refuse."""
        return Whole(agreed(self._dim, dim, repr(self)), self.base)

    def scaled(self, factor: Fraction) -> Whole:
        """Return the same set in other units: itself, with its base measure in them."""
        return self.based(rescaled(self.base, positive(factor, "factor")))

    def based(self, base: Base) -> Whole:
        """Return the same with another base measure."""
        return Whole(self._dim, base)

    def region(self) -> Region:
        """Return a region without bounds, or the limits of the base measure."""
        return _region(self.base, self.dim)

    def given(self, grid: Grid, drawn: Sequence[Point]) -> Whole:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether a theta has the right number of coordinates, and lies within the limits."""
        if len(theta) != self.dim:
            return False
        return not self.bounded or self._box().contains(theta)

    def on(self, grid: Grid) -> LatticeBox:
        """Return the lattice points within its limits; refuse if it has infinitely many."""
        if not self.bounded:
            raise IncompatibleParts(
                f"{self!r} is unbounded, so it has no finite number of lattice points. "
                "Use Box or L1Ball."
            )
        return self._box().on(grid)

    def _box(self) -> Box:
        """Return the limits as a box."""
        region = self.region()
        assert region.low is not None
        assert region.high is not None
        return Box.between(region.low, region.high, self.base)


def _region(base: Base, dim: int) -> Region:
    """Return the limits of a base measure, or everything."""
    if base.limits is None:
        return Region.everything(dim)
    low, high = (_spread(end, dim) for end in base.limits)
    return Region.between(low, high)


def _spread(end: Theta, dim: int) -> Theta:
    """Return one number for each coordinate."""
    return end * dim if len(end) == 1 else end
