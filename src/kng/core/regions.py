"""What is public of a set of thetas: between which corners it lies, and how long theta can be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kng.core.lattice import Lattice

Theta = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A set of thetas that lies between two corners and in an l1 ball; None where it is unbounded.

    low_j <= theta_j <= high_j,     ||theta||_1 <= length
    """

    dim: int
    low: Theta | None
    high: Theta | None
    length: Fraction | None

    @classmethod
    def between(cls, low: Theta, high: Theta) -> Region:
        """Return what is known of a box."""
        length = sum((max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)), Fraction(0))
        return cls(len(low), low, high, length)

    @classmethod
    def at(cls, theta: Theta) -> Region:
        """Return the region of one point."""
        return cls.between(theta, theta)

    @classmethod
    def ball(cls, radius: Fraction, dim: int) -> Region:
        """Return what is known of an l1 ball."""
        return cls(dim, (-radius,) * dim, (radius,) * dim, radius)

    @classmethod
    def everything(cls, dim: int) -> Region:
        """Return the whole space."""
        return cls(dim, None, None, None)

    @property
    def bounded(self) -> bool:
        """Whether it lies between two corners."""
        return self.low is not None

    def sides(self) -> list[tuple[Fraction, Fraction]]:
        """Return the ends of each coordinate of a bounded region."""
        assert self.low is not None
        assert self.high is not None
        return list(zip(self.low, self.high, strict=True))


@dataclass(frozen=True, slots=True)
class Grid:
    """Where lattice points stand: theta_j = origin_j + step_j k_j."""

    origin: Theta
    step: Theta

    def theta(self, point: tuple[int, ...]) -> Theta:
        """Return the theta of a lattice point."""
        return tuple(o + h * k for o, h, k in zip(self.origin, self.step, point, strict=True))

    def between(self, first: tuple[int, ...], last: tuple[int, ...]) -> Lattice:
        """Return the lattice of all points between two of them."""
        counts = tuple(b - a for a, b in zip(first, last, strict=True))
        return Lattice(self.theta(first), self.step, counts)

    def region(self, first: tuple[int, ...], last: tuple[int, ...]) -> Region:
        """Return the region between two lattice points."""
        return Region.between(self.theta(first), self.theta(last))
