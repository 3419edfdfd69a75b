"""Means on a line, from the moments of the records."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Protocol

from kng.core.parts import Point


class Weighing(Protocol):
    """What is asked of a plan."""

    def exponent(self, theta: Point, score: Fraction) -> Fraction:
        """Return gamma(theta), so that the density is exp(-gamma)."""
        ...


def _nearest(total: int, n: int) -> int:
    """Return the whole number nearest to total / n, 0 without records."""
    return floor(Fraction(2 * total + n, 2 * n)) if n else 0


@dataclass(frozen=True, slots=True)
class DistanceField:
    """|n theta - sum x|: the gradient's size, zero at the mean, in units of the step."""

    n: int
    total: int
    plan: Weighing
    step: Fraction = Fraction(1)

    def mode(self) -> int:
        """Return the whole step beside the mean with the smaller normalised score."""
        below = self.total // self.n if self.n else 0
        return min((below, below + 1), key=lambda t: self.plan.exponent((t,), self.score((t,))))

    def score(self, theta: Point) -> Fraction:
        """Return the size of the gradient at theta."""
        return abs(self.n * theta[0] - self.total) * self.step


@dataclass(frozen=True, slots=True)
class ParabolaField:
    """sum (x - theta)^2 / 2: the loss itself."""

    n: int
    total: int
    squares: int
    step: Fraction = Fraction(1)

    def mode(self) -> int:
        """Return the whole step nearest to the mean."""
        return _nearest(self.total, self.n)

    def score(self, theta: Point) -> Fraction:
        """Return the summed loss at theta."""
        k = theta[0]
        whole = self.n * k * k - 2 * k * self.total + self.squares
        return Fraction(whole, 2) * self.step**2
