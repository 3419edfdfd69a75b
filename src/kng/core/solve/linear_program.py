"""Linear programs in rational numbers: how far a polytope reaches in a direction, exactly.

    largest  c'x   with  A x <= b        equals        least  b'y   with  A'y = c,  y >= 0

The right one is solved by the simplex method in two phases. It ends: costs fall, or Bland's rule is
followed until they do. It has no y if x may go on for ever (or if there is no x), and no least
value if there is no x.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import fmpq

Row = Sequence[Fraction | int]


class Farthest(NamedTuple):
    """The largest c'x and a corner x where it is reached."""

    value: Fraction
    at: tuple[Fraction, ...]


class EmptyError(Exception):
    """No x satisfies A x <= b."""


class EndlessError(Exception):
    """c'x has no largest value where there is any x at all."""


def farthest(rows: Sequence[Row], limits: Row, direction: Row) -> Farthest:
    """Return the largest c'x over all x with A x <= b, one row of A for each limit.

    Raises `EndlessError` if no y >= 0 has A'y = c, and `EmptyError` if b'y has no least value.
    """
    d, m = len(direction), len(rows)
    wanted = [_ratio(c) for c in direction]
    signs = [-1 if c < 0 else 1 for c in wanted]
    # Rows of A'y = c with right sides that are not negative, then artificial variables, then c.
    tableau = [
        [signs[j] * _ratio(row[j]) for row in rows]
        + [fmpq(int(i == j)) for i in range(d)]
        + [signs[j] * wanted[j]]
        for j in range(d)
    ]
    basis = list(range(m, m + d))
    zero = fmpq(0)
    first = [-sum((line[k] for line in tableau), zero) for k in range(m)] + [zero] * d
    first.append(-sum((line[-1] for line in tableau), zero))
    _descend(tableau, first, basis, m)
    if first[-1] != 0:
        raise EndlessError
    _drive_out(tableau, basis, m)
    costs = [_ratio(b) for b in limits] + [zero] * (d + 1)
    second = list(costs)
    for line, k in zip(tableau, basis, strict=True):
        if costs[k]:
            second = [a - costs[k] * b for a, b in zip(second, line, strict=True)]
    if not _descend(tableau, second, basis, m):
        raise EmptyError
    # Reduced costs of the artificial variables are the multipliers of their equations.
    corner = tuple(_fraction(-signs[j] * second[m + j]) for j in range(d))
    return Farthest(_fraction(-second[-1]), corner)


def _descend(
    tableau: list[list[fmpq]], costs: list[fmpq], basis: list[int], variables: int
) -> bool:
    """Pivot until no variable lowers the cost; False if the cost has no least value."""
    stuck = False
    while True:
        falling = [k for k in range(variables) if costs[k] < 0]
        if not falling:
            return True
        # The steepest is quick; where a pivot has changed nothing the first one cannot go round.
        enters = falling[0] if stuck else min(falling, key=costs.__getitem__)
        ratios = [
            (line[-1] / line[enters], basis[i], i)
            for i, line in enumerate(tableau)
            if line[enters] > 0
        ]
        if not ratios:
            return False
        ratio, _, leaves = min(ratios)
        stuck = ratio == 0
        _pivot(tableau, leaves, enters)
        basis[leaves] = enters
        factor, line = costs[enters], tableau[leaves]
        for k, value in enumerate(line):
            if value:
                costs[k] -= factor * value


def _drive_out(tableau: list[list[fmpq]], basis: list[int], variables: int) -> None:
    """Take artificial variables, all of them 0, out of the basis; one alone in its row may stay."""
    for i, k in enumerate(basis):
        if k < variables:
            continue
        enters = next((j for j in range(variables) if tableau[i][j] != 0), None)
        if enters is not None:
            _pivot(tableau, i, enters)
            basis[i] = enters


def _pivot(tableau: list[list[fmpq]], row: int, column: int) -> None:
    """Make a column that of the unit vector with 1 in a row."""
    by = tableau[row][column]
    line = tableau[row] = [v / by for v in tableau[row]]
    for i, other in enumerate(tableau):
        factor = other[column]
        if i != row and factor != 0:
            tableau[i] = [a - factor * b if b else a for a, b in zip(other, line, strict=True)]


def _ratio(value: Fraction | int) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
