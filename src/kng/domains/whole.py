"""The whole space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

from kng.bases import HeavyTailed
from kng.core.errors import IncompatibleParts
from kng.core.exact import positive
from kng.core.parts import Base, Point
from kng.core.regions import Grid, Region
from kng.domains.stated import agreed, known, shown, stated

_HEAVY = HeavyTailed(3)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Whole:
    """Every theta, with a base measure that has finite mass.

        Theta = R^d

    With ``base=Uniform()`` it is improper: only additive noise, whose normaliser is the same for
    every dataset, and objective perturbation, which has none, may be used on it.

    Parameters
    ----------
    dim : int, optional
        Number of coordinates; by default as many as the loss has.
    base : Base
        The base measure, by default heavy-tailed with 3 degrees of freedom.

    Paper    The remarks after mean estimation (a location family needs no factor 2, but only here)
             and after linear regression (without the bound B a base measure is needed).
    Privacy  Public. docs/proofs/domains/heavy.md.
    Cost     None.
    """

    _dim: int | None
    base: Base

    waits: ClassVar[bool] = False

    def __init__(self, dim: Any = None, base: Base = _HEAVY) -> None:
        object.__setattr__(self, "_dim", stated(dim))
        object.__setattr__(self, "base", base)

    def __repr__(self) -> str:
        return f"Whole({shown(self._dim, self.base, _HEAVY).removeprefix(', ')})"

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
        """The whole space has no corners."""
        return False

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
        """Return the same set in other units: itself."""
        positive(factor, "factor")
        return self

    def region(self) -> Region:
        """Return a region without bounds."""
        return Region.everything(self.dim)

    def given(self, grid: Grid, drawn: Sequence[Point]) -> Whole:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether a theta has the right number of coordinates."""
        return len(theta) == self.dim

    def on(self, grid: Grid) -> NoReturn:  # noqa: ARG002 - no grid is finite here
        """Refuse: it has infinitely many lattice points."""
        raise IncompatibleParts(
            f"{self!r} is unbounded, so it has no finite number of lattice points. "
            "Use Box or L1Ball."
        )
