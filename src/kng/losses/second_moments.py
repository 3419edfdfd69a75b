"""The variance of a column by its sums: what one record does to them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kng.core.bodies import Body, Cuboid, Reaching, Spread, Vector
from kng.core.encoding import Encoding
from kng.core.parts import Point
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import Source
from kng.losses.kernels.moments import Moments
from kng.losses.location_sum import counted

_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class SecondMoments:
    """Sums of y and y^2, y from -1 to 1 between the bounds, and the number of present records.

        number of present records public     (sum y, sum y^2)
        private                              (sum y, sum y^2, count)

    Measured from the middle of the bounds: the variance is the same from everywhere, and squares
    are smallest there. A record adds a point of the curve (y, y^2), so that what it can do is
    known along every direction (a, b, c) by the range of a y + b y^2 + c.

    Paper    Section 4.1, the remark on location families, for two moments.
    Privacy  docs/proofs/losses/second_moments.md.
    Cost     One pass.

    Parameters
    ----------
    records : Encoding
        One column.
    ddof : int
        The sum of squares around the mean is divided by n - ddof.
    """

    records: Encoding
    ddof: int

    @property
    def dim(self) -> int:
        """One variance."""
        return 1

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return "SecondMoments()"

    def body(self, unit: PrivacyUnit) -> Body:
        """Return what holds a record's part, and how far two of them lie apart."""
        count = (_ONE,) if counted(unit) else ()
        none = tuple(0 * one for one in count)
        each = Cuboid((-_ONE, 0 * _ONE, *count), (_ONE, _ONE, *count))
        apart = Cuboid((-2 * _ONE, -_ONE, *none), (2 * _ONE, _ONE, *none))
        return Spread(Reaching(each, _farthest), Reaching(apart, _range))

    def directions(self, unit: PrivacyUnit) -> tuple[Vector, ...]:
        """Return along which directions the changes of one record are measured.

        They are quadratics that touch the curve where the hull of the changes bends. The polytope
        between them is the hull but for a few percent (docs/proofs/losses/second_moments.md).
        """
        turns = [Fraction(k, 4) for k in range(-4, 5)]
        if not counted(unit):
            return tuple((-2 * t, _ONE) for t in turns)
        squares = [(-2 * t / m, 1 / m, t * t / m) for t in turns for m in [(1 + abs(t)) ** 2]]
        if isinstance(unit.neighbours, ReplaceOne):
            # Between 0 and 1 on the curve, and the same from above.
            above = [(-a, -b, 1 - c) for a, b, c in squares]
            return (0 * _ONE, 0 * _ONE, _ONE), *squares, *above
        # Between -1 and 1 on the curve.
        return (0 * _ONE, 0 * _ONE, _ONE), *((2 * a, 2 * b, 2 * c - 1) for a, b, c in squares)

    def steps(self, unit: PrivacyUnit) -> tuple[Fraction, ...]:
        """Return the size of one whole step of each sum."""
        last = self.records.last[0]
        both = Fraction(1, last), Fraction(1, last * last)
        return (*both, _ONE) if counted(unit) else both

    def read(self, source: Source, unit: PrivacyUnit) -> Point:
        """Return the sums of t = 2 k - last and of t^2, and the count; below the charge."""
        found, last = source.reduce(Moments()), self.records.last[0]
        n, total, squares = found.n, found.sums[0], found.squares[0]
        both = 2 * total - n * last, 4 * squares - 4 * last * total + n * last * last
        return (*both, n) if counted(unit) else both

    def minimiser(self, total: Point, problem: Problem) -> tuple[Fraction, ...]:
        """Return the variance that noisy sums stand for, in the caller's units.

        h^2 (q - m^2) n / (n - ddof),  with m in [-1, 1], q in [m^2, 1], h half the range.
        """
        unit, steps = problem.unit, self.steps(problem.unit)
        first, second = (h * s for h, s in zip(steps[:2], total[:2], strict=True))
        n = self.number(total, unit)
        mean = min(max(first / n, -_ONE), _ONE)
        square = min(max(second / n, mean * mean), _ONE)
        return (self.half**2 * (square - mean * mean) * n / (n - self.ddof),)

    def number(self, total: Point, unit: PrivacyUnit) -> int:
        """Return the number of records: the public one, or the noisy one where it can be."""
        neighbours = unit.neighbours
        if not counted(unit):
            assert isinstance(neighbours, ReplaceOne)
            return neighbours.n
        most = neighbours.n if isinstance(neighbours, ReplaceOne) else neighbours.n_max
        return max(min(total[2], most), self.ddof + 1)

    @property
    def half(self) -> Fraction:
        """Half the range of the column."""
        return self.records.step[0] * self.records.last[0] / 2

    @property
    def most(self) -> Fraction:
        """The largest variance that there can be: half the records at either bound."""
        return self.half**2 * (self.ddof + 1)


def _ends(direction: Vector) -> tuple[Fraction, Fraction]:
    """Return the least and the largest a y + b y^2 + c for -1 <= y <= 1."""
    a, b, *rest = direction
    values = [b + a, b - a]
    if b and abs(a) <= 2 * abs(b):
        values.append(-a * a / (4 * b))
    (shift,) = rest or (Fraction(0),)
    return min(values) + shift, max(values) + shift


def _farthest(direction: Vector) -> Fraction:
    """Return the largest |a y + b y^2 + c|."""
    low, high = _ends(direction)
    return max(-low, high)


def _range(direction: Vector) -> Fraction:
    """Return the largest difference of two of them; both records are counted."""
    low, high = _ends(direction)
    return high - low
