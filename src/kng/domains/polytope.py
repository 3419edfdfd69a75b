"""Sets between planes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import lcm
from operator import mul
from typing import Any, ClassVar

from kng.core.errors import IncompatibleParts, SpecError, SpecTypeError
from kng.core.exact import exact, positive, show
from kng.core.parts import Base, Point
from kng.core.regions import Grid, Region, Theta
from kng.core.shapes import FacetShape, Shape
from kng.core.solve.linear_program import EndlessError, farthest
from kng.domains.half_spaces import HalfSpaces, Wall, between, cut, point_inside, walls_on
from kng.domains.points import LatticeBox
from kng.domains.stated import UNIFORM, agreed, based, rescaled, shown

# Up to so many coordinates the largest l1 norm is looked for in every orthant.
_MOST_ORTHANTS = 6
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Polytope:
    """All theta on one side of each of some planes.

        Theta = { theta : A theta <= b }

    It must be bounded and have points inside, which linear programs in rational numbers decide. A
    half-space that cuts nothing off is kept and does no harm.

    Parameters
    ----------
    A : sequence of sequences of numbers
        One row for each half-space, one number for each coordinate. Floats are read by their repr:
        0.1 is one tenth.
    b : sequence of numbers
        One limit for each row.
    base : base of `kng.bases`, or an earlier Release
        The base measure, by default uniform.

    Paper    none; Section 4.2 has an l1 ball.
    Privacy  Public: the caller states the half-spaces. docs/proofs/domains/half_spaces.md.
    Cost     Some 2d + 2^d small linear programs once, in up to 6 coordinates; then O(d) a
             half-space. Rows of long decimals make whole numbers too large for compiled covers,
             which is slower.
    """

    A: tuple[Theta, ...]
    b: Theta
    base: Base
    _region: Region = field(compare=False)
    _walls: tuple[Wall, ...] = field(compare=False)  # the rows and limits in whole numbers

    waits: ClassVar[bool] = False

    def __init__(self, A: Any, b: Any, base: Base = UNIFORM) -> None:
        rows, limits = _read(A, b)
        self._set(rows, limits, base, _region(rows, limits))

    def _set(self, rows: tuple[Theta, ...], limits: Theta, base: Base, region: Region) -> Polytope:
        object.__setattr__(self, "A", rows)
        object.__setattr__(self, "b", limits)
        object.__setattr__(self, "base", base if base is UNIFORM else based(base, region))
        object.__setattr__(self, "_region", region)
        object.__setattr__(self, "_walls", tuple(map(_whole, rows, limits)))
        return self

    def __repr__(self) -> str:
        rows = ", ".join(f"[{', '.join(map(show, row))}]" for row in self.A)
        limits = ", ".join(map(show, self.b))
        return f"Polytope([{rows}], [{limits}]{shown(None, self.base, UNIFORM)})"

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return repr(self)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.A[0])

    @property
    def gauge(self) -> tuple[Shape, Fraction] | None:
        """The norm whose unit ball it is, if it is symmetric about 0: |a'theta| / b <= 1."""
        sides = [(row, limit) for row, limit in zip(self.A, self.b, strict=True) if any(row)]
        if min(limit for _, limit in sides) <= 0:
            return None
        rows = {tuple(a / limit for a in row) for row, limit in sides}
        if any(tuple(-a for a in row) not in rows for row in rows):
            return None
        facets = sorted(row for row in rows if next(a for a in row if a) > 0)
        return FacetShape(tuple(facets)), _ONE

    @property
    def bounded(self) -> bool:
        """It was refused otherwise."""
        return True

    @property
    def proper(self) -> bool:
        """A bounded domain has finite mass."""
        return True

    def refusal(self) -> None:
        """Refuse nothing: a bounded domain has finite mass."""

    def sized(self, dim: int) -> Polytope:
        """Return itself; refuse a loss with another number of coordinates."""
        agreed(self.dim, dim, self._name)
        return self

    def scaled(self, factor: Fraction) -> Polytope:
        """Return the same polytope in other units: its limits times a positive factor."""
        positive(factor, "factor")
        known = self._region
        assert known.low is not None
        assert known.high is not None
        assert known.length is not None
        low, high = (tuple(factor * v for v in end) for end in (known.low, known.high))
        region = Region(known.dim, low, high, factor * known.length)
        limits = tuple(factor * v for v in self.b)
        return object.__new__(Polytope)._set(self.A, limits, rescaled(self.base, factor), region)

    def based(self, base: Base) -> Polytope:
        """Return the same polytope with another base measure."""
        return object.__new__(Polytope)._set(self.A, self.b, base, self._region)

    def region(self) -> Region:
        """Return the smallest box around it, and the largest l1 norm or a bound on it."""
        return self._region

    def given(self, grid: Grid, drawn: Sequence[Point]) -> Polytope:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether a theta lies on the right side of every plane."""
        if len(theta) != self.dim:
            return False
        under = lcm(*(v.denominator for v in theta))
        steps = [v.numerator * (under // v.denominator) for v in theta]
        return all(sum(map(mul, row, steps)) <= limit * under for row, limit in self._walls)

    def on(self, grid: Grid) -> LatticeBox | HalfSpaces:
        """Return its lattice points, in the box around it."""
        agreed(self.dim, len(grid.step), self._name, "lattice")
        rows = [(row, limit) for row, limit in zip(self.A, self.b, strict=True) if any(row)]
        walls = walls_on([row for row, _ in rows], tuple(limit for _, limit in rows), grid)
        assert self._region.low is not None
        assert self._region.high is not None
        box = between(self._region.low, self._region.high, grid)
        home = None if box is None else point_inside(box, tuple(walls))
        if box is None or home is None:
            raise IncompatibleParts(
                f"{self._name} holds no point of the lattice, or too few to be found; its steps "
                f"are {', '.join(map(show, grid.step))}. Use a wider polytope or a smaller step."
            )
        return cut(box, walls, home)

    @property
    def _name(self) -> str:
        """What a message calls it."""
        return f"Polytope of {len(self.A)} half-space{'s'[: len(self.A) > 1]}"


def _read(rows: Any, limits: Any) -> tuple[tuple[Theta, ...], Theta]:
    """Read half-spaces as the caller wrote them."""
    for name, given in (("A", rows), ("b", limits)):
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise SpecTypeError(f"{name} of Polytope must be a list, got {given!r}.")
    lines, ends = list(rows), list(limits)
    for line in lines:
        if isinstance(line, str) or not isinstance(line, Iterable):
            raise SpecTypeError(f"each row of A of Polytope must be a list, got {line!r}.")
    read = tuple(tuple(exact(a, "A of Polytope") for a in line) for line in lines)
    if not read or not read[0] or len({len(line) for line in read}) != 1:
        raise SpecError("Polytope needs rows of A, each with one number per coordinate.")
    if len(ends) != len(read):
        raise SpecError(
            f"Polytope: A has {len(read)} rows and b has {len(ends)} numbers; give as many of both."
        )
    return read, tuple(exact(end, "b of Polytope") for end in ends)


def _whole(row: Theta, limit: Fraction) -> Wall:
    """Return a half-space in whole numbers."""
    under = lcm(limit.denominator, *(a.denominator for a in row))
    return tuple(int(a * under) for a in row), int(limit * under)


def _region(rows: tuple[Theta, ...], limits: Theta) -> Region:
    """Return the smallest box around a polytope and a bound on the l1 norm, or refuse.

    Points inside are where  a_i'theta + t ||a_i||_1 <= b_i  for some t > 0.
    """
    d, up = len(rows[0]), (_ZERO,) * len(rows[0]) + (_ONE,)
    wide = [(*row, sum(map(abs, row), _ZERO)) for row in rows]
    most = None  # a row of zeros is no plane: it holds everywhere, or nowhere
    if all(any(row) or limit >= 0 for row, limit in zip(rows, limits, strict=True)):
        most = farthest([*wide, up], (*limits, _ONE), up).value
    if most is None or most < 0:
        raise SpecError(
            f"Polytope is empty: no theta satisfies its {len(rows)} half-spaces together. Leave "
            "some of them out, or enlarge b."
        )
    if most == 0:
        raise SpecError(
            "Polytope is flat: every theta that satisfies its half-spaces lies on the edge of one, "
            "so that it has no volume. Enlarge b, or use fewer coordinates."
        )
    low: list[Fraction] = []
    high: list[Fraction] = []
    for j in range(d):
        for sign, ends in ((-1, low), (1, high)):
            try:
                ends.append(_reach(rows, limits, [sign * (i == j) for i in range(d)]))
            except EndlessError:
                raise SpecError(
                    f"Polytope is unbounded: coordinate {j} has no bound "
                    f"{'above' if sign > 0 else 'below'}. Add half-spaces."
                ) from None
    first, last = tuple(-v for v in low), tuple(high)
    box = Region.between(first, last)
    if d > _MOST_ORTHANTS:
        return box
    signs = product(*((1,) if a >= 0 else (-1,) if b <= 0 else (1, -1) for a, b in box.sides()))
    return Region(d, first, last, max(_reach(rows, limits, chosen) for chosen in signs))


def _reach(rows: Sequence[Theta], limits: Theta, direction: Sequence[int]) -> Fraction:
    return farthest(rows, limits, direction).value
