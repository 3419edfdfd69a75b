"""Random polytopes by half-spaces, and their corners in plain arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction as F
from itertools import combinations

import numpy as np
from flint import fmpq, fmpq_mat

from kng.domains import Polytope

Row = tuple[F, ...]


def random_rows(rng: np.random.Generator, d: int, m: int) -> tuple[list[Row], list[F]]:
    """Return m half-spaces around 0, those of a cube among them if there is room for them."""
    rows = [tuple(F(int(v), 4) for v in rng.integers(-8, 9, d)) for _ in range(m)]
    limits = [F(int(v), 8) for v in rng.integers(4, 20, m)]
    for i in range(min(m, 2 * d)):
        rows[i] = tuple(F((1, -1)[i % 2]) if j == i // 2 else F(0) for j in range(d))
    return rows, limits


def random_polytope(seed: int, d: int, m: int) -> Polytope:
    return Polytope(*random_rows(np.random.default_rng(seed), d, m))


def corners(rows: Sequence[Row], limits: Sequence[F]) -> Iterator[Row]:
    """Yield the corners: where d planes meet, and no half-space is left."""
    d = len(rows[0])
    for chosen in combinations(range(len(rows)), d):
        square = fmpq_mat(d, d, [_ratio(v) for i in chosen for v in rows[i]])
        if square.det() == 0:
            continue
        at = square.solve(fmpq_mat(d, 1, [_ratio(limits[i]) for i in chosen]))
        point = tuple(F(int(at[j, 0].p), int(at[j, 0].q)) for j in range(d))
        if holds(rows, limits, point):
            yield point


def holds(rows: Sequence[Row], limits: Sequence[F], theta: Sequence[F]) -> bool:
    """Whether a theta satisfies all inequalities, by their definition."""
    return all(
        sum((a * v for a, v in zip(row, theta, strict=True)), F(0)) <= limit
        for row, limit in zip(rows, limits, strict=True)
    )


def _ratio(value: F) -> fmpq:
    return fmpq(value.numerator, value.denominator)
