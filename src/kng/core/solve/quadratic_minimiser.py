"""The minimiser of a quadratic over R^d or an l1 ball, in rational numbers: no rounding anywhere.

    argmin of  theta'Q theta / 2 - r'theta,      ||theta||_1 <= B

Q is positive definite. If the free minimiser Q^-1 r lies outside the ball, the answer has
||theta||_1 = B, and some coordinates S with signs s are not 0. On them

    Q_SS theta_S + nu s = r_S,     s'theta_S = B,

and it is the minimiser if and only if s_j theta_j >= 0 on S and |r - Q theta|_j <= nu elsewhere.
Floats guess S and s; all of this is solved and checked exactly, and a guess that fails is mended
one coordinate at a time. If that goes in circles, the path of the penalty (`core.solve.l1_path`) is
followed exactly, for a vector r that is shifted by 2^-200 or less so that no two events coincide.
The minimiser for the shifted r lies within ||shift||_2 / gamma of the one asked for, where gamma is
the least eigenvalue of Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import count
from math import isfinite

import numpy as np
from flint import fmpq, fmpq_mat

from kng.core.quadratic import Quadratic, fraction, rational
from kng.core.regions import Theta
from kng.core.solve.l1_path import Path

Signs = dict[int, int]

# Shifts are far below any cell of a lattice.
_SHIFT = 200


def minimiser(
    quadratic: Quadratic, radius: Fraction | None, fineness: int = 0
) -> tuple[Theta, Fraction]:
    """Return the exact minimiser and 0, or that of a shifted r and a bound on the shift's length.

    A radius of None is the whole space. A shift is at most 2**-fineness of what it is at 0.
    """
    square, right = quadratic.matrix, quadratic.vector.entries()
    free = _solved(square, right)
    if radius is None or sum(map(abs, free), fmpq(0)) <= (bound := rational(radius)):
        return _point(free), Fraction(0)
    found = _mended(square, right, bound, _guess(quadratic, radius))
    if found is not None:
        return _point(found), Fraction(0)
    theta, shift = _followed(square, right, bound, fineness)
    return _point(theta), shift


def gradient(quadratic: Quadratic, theta: Theta) -> list[Fraction]:
    """Return the gradient at a point, exactly."""
    return [fraction(v) for v in _gradient(quadratic, theta).entries()]


def slope(quadratic: Quadratic, theta: Theta, direction: Theta) -> Fraction:
    """Return the derivative along a direction, exactly."""
    along = fmpq_mat(1, quadratic.dim, [rational(v) for v in direction])
    return fraction((along * _gradient(quadratic, theta))[0, 0])


def _gradient(quadratic: Quadratic, theta: Theta) -> fmpq_mat:
    point = fmpq_mat(quadratic.dim, 1, [rational(v) for v in theta])
    return quadratic.matrix * point - quadratic.vector


def _point(values: Sequence[fmpq]) -> Theta:
    return tuple(map(fraction, values))


def _solved(square: fmpq_mat, right: Sequence[fmpq]) -> list[fmpq]:
    d = len(right)
    found = square.solve(fmpq_mat(d, 1, list(right)))
    return [found[j, 0] for j in range(d)]


def _guess(quadratic: Quadratic, radius: Fraction) -> Signs:
    """Return the signs at the end of the path in float64."""
    matrix = np.array([[float(v) for v in row] for row in quadratic.rows])
    vector = np.array([float(v) for v in quadratic.right])
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
    signs, seen = dict(signs), set()
    while (key := frozenset(signs.items())) not in seen and signs:
        seen.add(key)
        theta, nu = _bordered(square, right, bound, signs)
        wrong = [j for j, s in signs.items() if theta[j] * s < 0]
        if wrong:
            del signs[min(wrong, key=lambda j: theta[j] * signs[j])]
            continue
        pulls = _pulls(square, right, theta, signs)
        worst = max(pulls, key=lambda j: abs(pulls[j]), default=None)
        if worst is None or abs(pulls[worst]) <= nu:
            return theta if nu >= 0 else None
        signs[worst] = 1 if pulls[worst] > 0 else -1
    return None


def _pulls(
    square: fmpq_mat, right: Sequence[fmpq], theta: list[fmpq], signs: Signs
) -> dict[int, fmpq]:
    """Return r - Q theta where theta is 0 by its signs."""
    d = len(right)
    pushed = square * fmpq_mat(d, 1, theta)
    return {j: right[j] - pushed[j, 0] for j in range(d) if j not in signs}


def _followed(
    square: fmpq_mat, right: Sequence[fmpq], bound: fmpq, fineness: int
) -> tuple[list[fmpq], Fraction]:
    """Follow the path of the penalty for shifted vectors until one has no two events at once.

    The first shifts are odd multiples of 2^-200, the later ones powers t, t^2, .. t^d of a t that
    gets smaller: events coincide at the roots of finitely many polynomials in t, none of which is
    0 everywhere, so that t leaves them behind.
    """
    d = len(right)
    for attempt in count():
        t = fmpq(1, 2 ** (_SHIFT + fineness + attempt))
        shifts = [t * (2 * j * j + 1) if attempt < 2 else t ** (j + 1) for j in range(d)]
        shifted = [r + s for r, s in zip(right, shifts, strict=True)]
        signs = _signs_at_the_end(square, shifted, bound)
        if signs is None:
            continue
        length = sum((fraction(s) for s in shifts), Fraction(0))  # at least the Euclidean one
        for vector, away in ((right, Fraction(0)), (shifted, length)):
            theta, nu = _bordered(square, vector, bound, signs)
            agree = all(theta[j] * s >= 0 for j, s in signs.items())
            if agree and nu >= max(
                map(abs, _pulls(square, vector, theta, signs).values()), default=fmpq(0)
            ):
                return theta, away
    raise AssertionError("unreachable: attempts have no end")


def _signs_at_the_end(square: fmpq_mat, right: Sequence[fmpq], bound: fmpq) -> Signs | None:
    """Follow the path, event by event, to where ||theta||_1 is the radius; None if it repeats."""
    d = len(right)
    first = max(range(d), key=lambda j: abs(right[j]))
    signs, mu = {first: 1 if right[first] > 0 else -1}, abs(right[first])
    fresh: tuple[int, int] = (first, signs[first])
    seen = set()
    while (state := (str(mu), frozenset(signs.items()))) not in seen:
        seen.add(state)
        active, m = list(signs), len(signs)
        table = fmpq_mat(m, m, [square[i, j] for i in active for j in active])
        both = table.solve(fmpq_mat(m, 2, [v for j in active for v in (right[j], fmpq(signs[j]))]))
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
                c = right[j] - sum((x * s for x, s in zip(across, start, strict=True)), fmpq(0))
                e = sum((x * r for x, r in zip(across, rate, strict=True)), fmpq(0))
                joins = ((c / (side - e), side) for side in (1, -1) if e != side)
                events += [(at, j, side) for at, side in joins if at <= mu and (j, side) != fresh]
        possible = [event for event in events if event[0] <= mu]
        mu, j, side = max(possible, key=lambda event: event[0], default=(mu, -1, 0))
        if j < 0 or (not side and m == 1):
            return signs
        if side:
            signs[j] = side
            fresh = (j, side)
        else:
            fresh = (j, signs.pop(j))
    return None
