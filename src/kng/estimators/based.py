"""The option ``base=``: words and earlier releases become base measures, in the units of theta."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from kng.bases import Earlier, Gaussian, HeavyTailed, Student, Uniform
from kng.core.design import Design
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.kinds import members, require
from kng.core.lattice import Lattice
from kng.core.naming import argument, in_python
from kng.core.parts import Base, Domain, described
from kng.core.regions import Region
from kng.core.release import Release
from kng.domains import Box
from kng.losses.linear import Linear

NAMES = ("uniform", "heavy-tailed", "gaussian", "student")
# How far effects may well have moved since an earlier release, in half ranges of y.
_MOVED = Fraction(1, 10)


def base_part(value: Any) -> None:
    """Refuse what is neither a base measure, nor the name of one, nor a release."""
    if value is None or isinstance(value, Release) or (isinstance(value, str) and value in NAMES):
        return
    if type(value).__module__ == "builtins" and not isinstance(value, type):
        raise SpecError(
            f"{argument('base')} must be one of "
            f"{', '.join(map(repr, NAMES))}{in_python(', a base of kng.bases')} or an earlier "
            f"Release; got {value!r}."
        )
    require(value, "base", members(Base))


def effects_based(base: Any, domain: Domain, half: Fraction | None) -> Domain:
    """Return a domain of effects with the base that is stated; by name its scale is ``half``."""
    if half is None and base in ("gaussian", "student"):
        raise SpecError(
            f"{argument('base', base)} has half the range of y as its scale, and "
            f"{argument('bounds_y')} is missing. Give "
            f"it{in_python(', or a base such as kng.bases.Gaussian(10)')}."
        )
    ours: Domain = domain.based(base_of(base, [Fraction(0)], [half or Fraction(1)]))  # type: ignore[attr-defined]
    return ours


def base_of(value: Any, middle: Sequence[Fraction], half: Sequence[Fraction]) -> Base:
    """Return the base that an option names, or is.

    By name a Gaussian or a Student density has the centre ``middle`` and the scale ``half``.
    """
    base_part(value)
    if isinstance(value, Release):
        return Earlier(value)
    if not isinstance(value, str):
        base: Base = value
        return base
    if value in ("gaussian", "student"):
        return (Gaussian if value == "gaussian" else Student)(half, centre=middle)
    return Uniform() if value == "uniform" else HeavyTailed()


def between(lattice: Lattice, base: Any) -> Box:
    """Return the box around a lattice of records, with the base that an option states."""
    box = Box.of(lattice)
    if base is None:
        return box
    sides = list(zip(box.low, box.high, strict=True))
    middle, half = [(a + b) / 2 for a, b in sides], [(b - a) / 2 for a, b in sides]
    found = base_of(base, middle, half)
    refuse_coefficients(found)
    return box.based(found)


def said(value: Any) -> dict[str, str]:
    """Return what a receipt says of a base that the caller states."""
    if value is None:
        return {}
    if isinstance(value, Release):
        return {"base": f"an earlier release ({value.statistic})"}
    return {"base": value if isinstance(value, str) else described(value)}


def refuse_coefficients(base: Base) -> None:
    """Refuse coefficients of a linear model as a guess of a location."""
    if isinstance(base, Earlier) and base.coefficients:
        raise IncompatibleParts(
            "The earlier release holds coefficients of a linear model, which say nothing of a "
            "location. Use a release of the same kind."
        )


def on_design(domain: Domain, loss: Linear, design: Design) -> Domain:
    """Return a domain of effects whose base, if it is an earlier release, is one of effects.

    Coefficients are in the caller's units; the design makes effects of them, in units of y.
    """
    base = domain.base
    if not isinstance(base, Earlier):
        return domain
    base.fitted(Region.everything(design.dim))
    replaced = getattr(domain, "based", None)
    if not base.coefficients or replaced is None:
        what = "The earlier release holds no coefficients" if replaced else described(domain)
        raise IncompatibleParts(
            f"{what}: it cannot be read as effects of a linear model. Use a release of the same "
            "kind, on a Box, an L1Ball or Whole."
        )
    effects = tuple(design.half_y * v for v in design.units.inverse(base.values))
    usual = design.half_y * (_MOVED if loss.pointwise.scale is None else 1)
    known: Domain = replaced(base.around(effects, usual))
    return known
