"""The minimiser of a quadratic over R^d or an l1 ball, in rational numbers: no rounding anywhere.

    argmin of  theta'Q theta / 2 - r'theta,      ||theta||_1 <= B

Q is positive definite. If the free minimiser Q^-1 r lies outside the ball, the answer has
||theta||_1 = B, and some coordinates S with signs s are not 0. On them

    Q_SS theta_S + nu s = r_S,     s'theta_S = B,

and it is the minimiser if and only if s_j theta_j >= 0 on S and |r - Q theta|_j <= nu elsewhere.
Floats guess S and s; all of this is solved and checked exactly, and a guess that fails is mended
one coordinate at a time. If that goes in circles, the path of the penalty (`kng.samplers.path`) is
followed exactly, for a vector r that is shifted by 2^-200 so that no two events coincide.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from math import isfinite

import numpy as np
from flint import fmpq, fmpq_mat

from kng.core.regression import Quadratic
from kng.samplers.path import Path

Signs = dict[int, int]
Point = tuple[Fraction, ...]

# Shifts are far below any cell of a lattice, and odd multiples of this, each of its own.
_SHIFT = fmpq(1, 2**200)
# A path has seldom more than two events a coordinate; this many would take minutes.
_EVENTS = 10_000


def minimiser(quadratic: Quadratic, radius: Fraction | None) -> Point:
    """Return the exact minimiser; a radius of None is the whole space."""
    d = len(quadratic.vector)
    square = fmpq_mat(d, d, [_exact(v) for row in quadratic.matrix for v in row])
    right = [_exact(v) for v in quadratic.vector]
    free = _solved(square, right)
    if radius is None or sum(map(abs, free), fmpq(0)) <= (bound := _exact(radius)):
        return _point(free)
    found = _mended(square, right, bound, _guess(quadratic, radius))
    if found is None:
        found = _followed(square, right, bound)
    return _point(found)


def slope(quadratic: Quadratic, theta: Point, direction: Point) -> Fraction:
    """Return the derivative along a direction, exactly."""
    d = len(theta)
    square = fmpq_mat(d, d, [_exact(v) for row in quadratic.matrix for v in row])
    gradient = square * fmpq_mat(d, 1, [_exact(v) for v in theta])
    along = zip(quadratic.vector, direction, strict=True)
    total = sum(
        ((gradient[j, 0] - _exact(r)) * _exact(p) for j, (r, p) in enumerate(along)), fmpq(0)
    )
    return Fraction(int(total.p), int(total.q))


def _exact(number: Fraction) -> fmpq:
    return fmpq(number.numerator, number.denominator)


def _point(values: Sequence[fmpq]) -> Point:
    return tuple(Fraction(int(v.p), int(v.q)) for v in values)


def _solved(square: fmpq_mat, right: Sequence[fmpq]) -> list[fmpq]:
    d = len(right)
    found = square.solve(fmpq_mat(d, 1, list(right)))
    return [found[j, 0] for j in range(d)]


def _guess(quadratic: Quadratic, radius: Fraction) -> Signs:
    """Return the signs at the end of the path in float64."""
    matrix = np.array([[float(v) for v in row] for row in quadratic.matrix])
    vector = np.array([float(v) for v in quadratic.vector])
    largest = int(np.argmax(np.abs(vector)))
    signs = {}
    with suppress(np.linalg.LinAlgError):
        end = Path.of(matrix, vector, float(radius)).end
        signs = {j: int(np.sign(v)) for j, v in enumerate(end) if v and isfinite(v)}
    return signs or {largest: int(np.sign(vector[largest]))}


def _bordered(
    square: fmpq_mat, right: Sequence[fmpq], bound: fmpq, signs: Signs
) -> tuple[list[fmpq], fmpq]:
    """Return theta and nu for one choice of signs."""
    active, m = list(signs), len(signs)
    table = fmpq_mat(m + 1, m + 1)
    for a, i in enumerate(active):
        for b, j in enumerate(active):
            table[a, b] = square[i, j]
        table[a, m] = table[m, a] = fmpq(signs[i])
    *held, nu = _solved(table, [*(right[j] for j in active), bound])
    theta = [fmpq(0)] * len(right)
    for j, value in zip(active, held, strict=True):
        theta[j] = value
    return theta, nu


def _mended(
    square: fmpq_mat, right: Sequence[fmpq], bound: fmpq, signs: Signs
) -> list[fmpq] | None:
    """Drop what has the wrong sign, then take in what pulls harder than nu, until neither is left.

    None if it comes back to signs that it has had.
    """
    d, signs, seen = len(right), dict(signs), set()
    while (key := frozenset(signs.items())) not in seen and signs:
        seen.add(key)
        theta, nu = _bordered(square, right, bound, signs)
        wrong = [j for j, s in signs.items() if theta[j] * s < 0]
        if wrong:
            del signs[min(wrong, key=lambda j: theta[j] * signs[j])]
            continue
        pushed = square * fmpq_mat(d, 1, theta)
        pulls = {j: right[j] - pushed[j, 0] for j in range(d) if j not in signs}
        worst = max(pulls, key=lambda j: abs(pulls[j]), default=None)
        if worst is None or abs(pulls[worst]) <= nu:
            return theta if nu >= 0 else None
        signs[worst] = 1 if pulls[worst] > 0 else -1
    return None


def _followed(square: fmpq_mat, right: Sequence[fmpq], bound: fmpq) -> list[fmpq]:
    """Follow the path of the penalty, event by event, to where ||theta||_1 is the radius.

    The minimiser for a shifted r lies within ||shift||_2 / gamma of the one asked for, gamma the
    least eigenvalue of Q; and its signs are tried for r itself.
    """
    d = len(right)
    shifted = [r + _SHIFT * (2 * j * j + 1) for j, r in enumerate(right)]
    first = max(range(d), key=lambda j: abs(shifted[j]))
    signs, mu = {first: 1 if shifted[first] > 0 else -1}, abs(shifted[first])
    fresh: tuple[int, int] = (first, signs[first])
    for _ in range(_EVENTS):
        active, m = list(signs), len(signs)
        table = fmpq_mat(m, m, [square[i, j] for i in active for j in active])
        both = table.solve(
            fmpq_mat(m, 2, [v for j in active for v in (shifted[j], fmpq(signs[j]))])
        )
        start, rate = [both[a, 0] for a in range(m)], [both[a, 1] for a in range(m)]
        length = sum((signs[j] * s for j, s in zip(active, start, strict=True)), fmpq(0))
        growth = sum((signs[j] * r for j, r in zip(active, rate, strict=True)), fmpq(0))
        events = [((length - bound) / growth, -1, 0)]
        for j, s, r in zip(active, start, rate, strict=True):
            if r and s / r <= mu and j != fresh[0]:
                events.append((s / r, j, 0))
        for j in range(d):
            if j not in signs:
                across = [square[j, i] for i in active]
                c = shifted[j] - sum((x * s for x, s in zip(across, start, strict=True)), fmpq(0))
                e = sum((x * r for x, r in zip(across, rate, strict=True)), fmpq(0))
                joins = ((c / (side - e), side) for side in (1, -1) if e != side)
                events += [(at, j, side) for at, side in joins if at <= mu and (j, side) != fresh]
        possible = [event for event in events if event[0] <= mu]
        mu, j, side = max(possible, key=lambda event: event[0], default=(mu, -1, 0))
        if j < 0 or (not side and m == 1):
            break
        if side:
            signs[j] = side
            fresh = (j, side)
        else:
            fresh = (j, signs.pop(j))
    theta, nu = _bordered(square, right, bound, signs)
    pushed = square * fmpq_mat(d, 1, theta)
    right_signs = all(theta[j] * s >= 0 for j, s in signs.items())
    if right_signs and all(abs(right[j] - pushed[j, 0]) <= nu for j in range(d) if j not in signs):
        return theta
    return _bordered(square, shifted, bound, signs)[0]
