"""How far a point is from the minimiser of a convex objective, by a bound on its Hessian nearby.

    w     the gradient at theta, less what the border of Theta takes up
    M     a lower bound on the Hessian at all thetas with  |z'(theta' - theta)| <= reach

for every record's z, whose entries lie within [-1, 1]. At the minimiser theta'

    |theta'_j - theta_j|  <=  sqrt((M^-1)_jj) ||w||_{M^-1}

if these bounds keep within the reach, and  ||theta' - theta||_2 <= ||w||_2 / gamma  always. A
gradient in float64 is off by sum e_i z_i with |e_i| <= doubt_i, and

    || sum e_i z_i ||_{M^-1}  <=  sqrt( sum doubt_i * tr(M^-1 D) ),      D = sum doubt_i z_i z_i'.

`docs/proofs/mechanisms/curved.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from kng.core.enclosures import ball, floor_ceil, precision, root_above
from kng.core.quadratic import Matrix, Vector
from kng.core.regions import Theta

# Small matrices are inverted with so many bits, and bounds are rounded up to steps of 2**-128.
_BITS = 256
_STEP = 128
_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Around:
    """Sums over records in float64, with bounds on what was rounded.

    ``gradient`` is off by sum e_i z_i, |e_i| <= doubt_i, and by ``rounding`` in l2. ``least`` and
    ``doubts`` are sums of w_i z_i z_i', w_i a lower bound of a record's slope within the reach, and
    its doubt; each is off by its fuzz in the operator norm. ``doubt`` is at least sum doubt_i.
    """

    theta: Theta
    reach: Fraction
    gradient: Vector
    rounding: float
    least: Matrix
    fuzz: float
    doubts: Matrix
    doubts_fuzz: float
    doubt: float

    @property
    def off(self) -> Fraction:
        """How far the gradient is off, in l2: no z is longer than sqrt(d)."""
        longest = root_above(Fraction(len(self.theta)))
        return longest * Fraction(self.doubt) + Fraction(self.rounding)


class Curvature:
    """The bound M near a theta, factored, and the distances that follow from it."""

    def __init__(self, around: Around, ridge: Fraction) -> None:
        self._around, self._ridge = around, ridge
        with precision(_BITS):
            self._rows = _inverse_factor(around.least, ball(ridge) - arb(around.fuzz))
            if self._rows is None:  # rounding could hide that it is positive definite
                return
            d = len(self._rows)
            squares = [_sum(row[j] ** 2 for row in self._rows[j:]) for j in range(d)]
            roots = [value.sqrt() for value in squares]
            self._widest, self._total = _largest(roots), _sum(roots)
            self._trace = _sum(squares).sqrt()
            self._doubt = self._spread() + arb(around.rounding) * self._trace

    def _spread(self) -> arb:
        """Return sqrt(sum doubt_i * tr(W D W')) for W = L^-1."""
        assert self._rows is not None
        around = self._around
        doubts = [[arb(v) for v in row] for row in around.doubts.tolist()]
        total = arb(around.doubts_fuzz) * self._trace**2
        for row in self._rows:
            total += _sum(a * _dot(row, doubts[i]) for i, a in enumerate(row))
        return (arb(around.doubt) * total).sqrt()

    def away(self, theta: Theta, residual: Theta, off: Fraction | None) -> Fraction:
        """Return how far theta, whose residual w is, can be from the minimiser in a coordinate.

        ``off`` is how far w may be off in l2, or None if it is that of the sums in float64.
        """
        everywhere = self._around.off if off is None else off
        length = root_above(sum((v * v for v in residual), _ZERO))
        farthest = (length + everywhere) / self._ridge
        if self._rows is None:
            return farthest
        with precision(_BITS):
            values = [ball(v) for v in residual]
            energy = _sum(_dot(row, values) ** 2 for row in self._rows).sqrt()
            energy += self._doubt if off is None else ball(off) * self._trace
            near, reach = _above(energy * self._widest), _above(energy * self._total)
        moved = sum((abs(a - b) for a, b in zip(theta, self._around.theta, strict=True)), _ZERO)
        return min(near, farthest) if moved + reach < self._around.reach else farthest


def _inverse_factor(matrix: Matrix, shift: arb) -> list[list[arb]] | None:
    """Return the rows of L^-1 for  matrix + shift I = L L', or None if that is not certain."""
    lower: list[list[arb]] = []
    for i, entries in enumerate(matrix.tolist()):
        row: list[arb] = []
        for j in range(i):
            row.append((arb(entries[j]) - _dot(row, lower[j])) / lower[j][j])
        rest = arb(entries[i]) + shift - _dot(row, row)
        if not rest > 0:
            return None
        lower.append([*row, rest.sqrt()])
    rows: list[list[arb]] = []
    for i, row in enumerate(lower):
        left = [-_sum(row[k] * rows[k][j] for k in range(j, i)) / row[i] for j in range(i)]
        rows.append([*left, 1 / row[i]])
    return rows


def _sum(values: Iterable[arb]) -> arb:
    total = arb(0)
    for value in values:
        total += value
    return total


def _dot(row: Sequence[arb], values: Sequence[arb]) -> arb:
    """Return the product with as many values as the row has."""
    return _sum(a * b for a, b in zip(row, values, strict=False))


def _largest(values: Sequence[arb]) -> arb:
    found = arb(0)
    for value in values:
        found = found.max(value)
    return found


def _above(value: arb) -> Fraction:
    """Return a fraction that is not below an enclosed number."""
    return Fraction(floor_ceil(value, _STEP)[1], 2**_STEP)
