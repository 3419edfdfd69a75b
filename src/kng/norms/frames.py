"""A frame of a set of vectors: d of them, and every other one as a short combination of these.

    a_k = sum_j c_kj b_j,      |c_kj| <= 1,      b_1, ..., b_d  among the a_k

The d vectors are chosen so that no exchange of one of them makes |det(b_1, ..., b_d)| larger. By
Cramer's rule c_kj is the factor by which putting a_k in the place of b_j changes the determinant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, floor, lcm

import numpy as np
from flint import fmpq, fmpq_mat

Vector = tuple[Fraction, ...]
Vectors = tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of facets; with w_j = b_j'v the unit ball is a part of the cube [-1, 1]^d.

    ``back`` holds the rows of the matrix that takes w to v. ``walls`` are the facets that cut the
    cube, each as whole numbers (C, D):  |sum_j C_j w_j| <= D.

    Privacy  docs/proofs/norms/polytope.md.
    """

    chosen: tuple[int, ...]
    back: Vectors
    walls: tuple[tuple[tuple[int, ...], int], ...]

    @property
    def proposals(self) -> int:
        """How many points of the cube it takes, on average and at most, to find one of the ball.

        The ball holds the cross-polytope, 1 / d! of the cube, and the cube with sides 2 / L, where
        L is the largest sum_j |c_kj|.
        """
        dim = len(self.chosen)
        sums = [Fraction(sum(map(abs, row)), most) for row, most in self.walls]
        longest = max(sums, default=Fraction(1))
        return min(factorial(dim), floor(longest**dim) + 1 if longest > 1 else 1)


def rank(vectors: Sequence[Vector]) -> int:
    """Return how many coordinates vectors span, exactly."""
    return int(_matrix(vectors).rank())


def frame_of(vectors: Sequence[Vector]) -> Frame:
    """Return a frame of vectors that span the space; in rational numbers, so it is one."""
    given = _matrix(vectors)
    chosen = _far_apart(vectors)
    if _matrix([vectors[k] for k in chosen]).rank() < len(chosen):
        chosen = _independent(given)
    while True:
        back = _matrix([vectors[k] for k in chosen]).inv()
        combined = _rows(given * back)
        size, k, j = max(
            (abs(c), k, j) for k, row in enumerate(combined) for j, c in enumerate(row)
        )
        # |det| grows with each exchange and there are finitely many choices, so this ends.
        if size <= 1:
            break
        chosen[j] = k
    walls = [_whole(row) for row in combined]
    # A wall with sum_j |C_j| <= D holds in the whole cube; of two equal ones one is enough.
    cutting = dict.fromkeys(w for w in walls if sum(map(abs, w[0])) > w[1])
    return Frame(tuple(chosen), _rows(back), tuple(cutting))


def _far_apart(vectors: Sequence[Vector]) -> list[int]:
    """Guess a good start in float64: always the vector that is furthest from those chosen."""
    rest = np.array([[float(a) for a in vector] for vector in vectors])
    rest /= max(np.abs(rest).max(), np.finfo(np.float64).tiny)
    chosen: list[int] = []
    for _ in range(rest.shape[1]):
        lengths = np.sqrt((rest * rest).sum(axis=1))
        k = int(lengths.argmax())
        chosen.append(k)
        unit = rest[k] / max(lengths[k], np.finfo(np.float64).tiny)
        rest = rest - np.outer(rest @ unit, unit)
    return chosen


def _independent(given: fmpq_mat) -> list[int]:
    """Return the first vectors that span the space: the pivots of the transpose."""
    reduced = given.transpose().rref()[0]
    count = given.nrows()
    return [next(k for k in range(count) if reduced[row, k] != 0) for row in range(given.ncols())]


def _whole(row: Vector) -> tuple[tuple[int, ...], int]:
    """Write |sum_j c_j w_j| <= 1 in whole numbers, the first of them positive."""
    scale = lcm(*(c.denominator for c in row))
    sign = next((1 if c > 0 else -1 for c in row if c), 1)
    return tuple(int(sign * scale * c) for c in row), scale


def _matrix(vectors: Sequence[Vector]) -> fmpq_mat:
    entries = [fmpq(a.numerator, a.denominator) for vector in vectors for a in vector]
    return fmpq_mat(len(vectors), len(vectors[0]), entries)


def _rows(matrix: fmpq_mat) -> Vectors:
    rows = matrix.tolist()
    return tuple(tuple(Fraction(int(v.p), int(v.q)) for v in row) for row in rows)
