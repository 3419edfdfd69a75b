"""Two kinds of public bound on what one record can do to a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from kng.core.protocols import Point


@dataclass(frozen=True, slots=True)
class Constant:
    """The same bound at every theta."""

    value: Fraction

    def at(self, theta: Point) -> Fraction:
        """Return the bound."""
        return self.over(theta, theta)

    def over(self, first: Point, last: Point) -> Fraction:  # noqa: ARG002
        """Return the bound."""
        return self.value


@dataclass(frozen=True, slots=True)
class Varying:
    """A bound that depends on theta, known exactly at a point and bounded over a box."""

    supremum: Callable[[Point, Point], Fraction]

    def at(self, theta: Point) -> Fraction:
        """Return the bound at one lattice point."""
        return self.supremum(theta, theta)

    def over(self, first: Point, last: Point) -> Fraction:
        """Return a bound for all lattice points of a box."""
        return self.supremum(first, last)
