"""What a caller states of any domain: how many coordinates it has, and its base measure."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kng.bases import Earlier, Uniform
from kng.core.errors import IncompatibleParts
from kng.core.exact import whole
from kng.core.kinds import members, require
from kng.core.parts import Base
from kng.core.regions import Region
from kng.core.release import Release

UNIFORM = Uniform()


def stated(dim: Any) -> int | None:
    """Read a number of coordinates; None leaves it to the loss."""
    return None if dim is None else whole(dim, "dim", 1)


def known(dim: int | None, name: str) -> int:
    """Return the number of coordinates, or refuse if nobody has said it."""
    if dim is None:
        raise IncompatibleParts(
            f"{name} does not say how many coordinates it has. Give dim=, or use it with a loss."
        )
    return dim


def agreed(stated: int | None, dim: int, name: str, other: str = "loss") -> int:
    """Return the other part's number of coordinates, or refuse if the domain has another one."""
    if stated not in {None, dim}:
        raise IncompatibleParts(
            f"{name} has {stated} coordinate{'s' * (stated != 1)}, but the {other} has {dim}."
        )
    return dim


def based(base: Any, region: Region | None) -> Base:
    """Read a base measure, and fit it to where theta lies, once that is known.

    An earlier release stands for the density around it.
    """
    if base == UNIFORM:
        return UNIFORM
    part: Base = Earlier(base) if isinstance(base, Release) else base
    if not hasattr(part, "fitted"):
        require(part, "base", members(Base))
    return part if region is None else part.fitted(region)


def rescaled(base: Base, factor: Fraction) -> Base:
    """Return a base measure in other units; a uniform one has none."""
    return base if base.even else base.scaled(factor)


def shown(dim: int | None, base: Base, usual: Base) -> str:
    """Write what was stated besides the set, as arguments."""
    size = "" if dim is None else f", dim={dim}"
    return size if base == usual else f"{size}, base={base!r}"
