"""Where answers live: whole numbers of public steps from a public origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Lattice:
    """The points ``origin + step * k`` for whole k with ``0 <= k <= last``, per coordinate."""

    origin: tuple[Fraction, ...]
    step: tuple[Fraction, ...]
    last: tuple[int, ...]

    @property
    def points(self) -> int:
        """How many points there are, M in the smoothing lemma."""
        product = 1
        for last in self.last:
            product *= last + 1
        return product

    def units(self, integers: Sequence[int]) -> tuple[Fraction, ...]:
        """Map whole numbers to the caller's units, exactly."""
        return tuple(
            origin + step * k
            for origin, step, k in zip(self.origin, self.step, integers, strict=True)
        )

    def nearest(self, values: Sequence[Fraction]) -> tuple[int, ...]:
        """Return the point of the lattice nearest to a value in the caller's units."""
        return self.clamp(
            [
                round((value - origin) / step)
                for origin, step, value in zip(self.origin, self.step, values, strict=True)
            ]
        )

    def cell(self, values: Sequence[Fraction], reach: Fraction) -> tuple[int, ...] | None:
        """Return the point nearest to all values within ``reach`` of these; None if several are.

        Half way between two points the larger one is taken.
        """
        ends = [
            [
                floor((value + side - origin) / step + _HALF)
                for origin, step, value in zip(self.origin, self.step, values, strict=True)
            ]
            for side in (-reach, reach)
        ]
        first, last = map(self.clamp, ends)
        return first if first == last else None

    def around(self, radius: Fraction) -> Lattice:
        """Return a lattice of at most these steps with -radius, 0 and radius as points."""
        half = [ceil(radius / step) for step in self.step]
        return Lattice(
            (-radius,) * len(half), tuple(radius / k for k in half), tuple(2 * k for k in half)
        )

    def beside(self, other: Lattice) -> Lattice:
        """Return the lattice of points of both, one after the other."""
        return Lattice(self.origin + other.origin, self.step + other.step, self.last + other.last)

    def repeated(self, times: int) -> Lattice:
        """Return the lattice of so many points of this one, one after the other."""
        return Lattice(self.origin * times, self.step * times, self.last * times)

    def refined(self, times: int) -> Lattice:
        """Return the lattice with each step cut into so many."""
        return Lattice(
            self.origin, tuple(h / times for h in self.step), tuple(times * k for k in self.last)
        )

    def scaled(self, factor: Fraction) -> Lattice:
        """Return the same points in other units: each times a factor."""
        return Lattice(
            tuple(factor * v for v in self.origin), tuple(factor * v for v in self.step), self.last
        )

    def clamp(self, integers: Sequence[int]) -> tuple[int, ...]:
        """Move each coordinate to the nearest one inside; post-processing, hence free."""
        return tuple(min(max(k, 0), last) for k, last in zip(integers, self.last, strict=True))


@dataclass(frozen=True, slots=True)
class AffineMap:
    """A public map ``matrix @ v + offset``, exact."""

    matrix: tuple[tuple[Fraction, ...], ...]
    offset: tuple[Fraction, ...]

    def __call__(self, vector: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Apply the map."""
        return tuple(
            sum((m * v for m, v in zip(row, vector, strict=True) if m), start)
            for row, start in zip(self.matrix, self.offset, strict=True)
        )

    def ignoring(self, further: int) -> AffineMap:
        """Return the map that leaves so many further coordinates alone."""
        return AffineMap(tuple(row + (Fraction(0),) * further for row in self.matrix), self.offset)

    def repeated(self, times: int) -> AffineMap:
        """Return the map that acts on each of several blocks of coordinates."""
        d, zero = len(self.matrix[0]), Fraction(0)
        matrix = tuple(
            (zero,) * (d * block) + row + (zero,) * (d * (times - 1 - block))
            for block in range(times)
            for row in self.matrix
        )
        return AffineMap(matrix, self.offset * times)

    def inverse(self, values: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return what is mapped to ``values``, if the matrix is triangular with no 0 within it."""
        found = [Fraction(0)] * len(self.offset)
        for i in reversed(range(len(found))):
            rest = sum((m * v for m, v in zip(self.matrix[i], found, strict=True)), self.offset[i])
            found[i] = (values[i] - rest) / self.matrix[i][i]
        return tuple(found)


def power_of_two_below(number: Fraction) -> Fraction:
    """Return the largest power of two that is at most ``number``."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    power = Fraction(2) ** exponent
    return power if power <= number else power / 2
