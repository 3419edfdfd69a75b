"""What one record does to (sum y, sum y^2, count), -1 <= y <= 1: polytopes around it, by name.

    replaced   both records count, and nothing is said of the count
    absent     a record is replaced, and each of both may be absent
    added      a record comes or goes

Facets are quadratics that touch the curve (y, y^2, 1) at y = k / 4 and at the farther end
(docs/proofs/losses/second_moments.md). A receipt holds the name, so these never change.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product

import numpy as np

from kng.core.noise.tails import Array

CHANGES = ("replaced", "absent", "added")
_ONE, _ZERO = Fraction(1), Fraction(0)
# Corners are found in floats and moved outwards by far more than these are off.
_OUT = 1e-9


def dimension(change: str) -> int:
    """Return how many sums there are."""
    return 2 if change == "replaced" else 3


@lru_cache(maxsize=4)
def facets(change: str) -> frozenset[tuple[Fraction, ...]]:
    """Return the v with |v'u| <= 1 for all changes u, one of each pair v, -v."""
    turns = [Fraction(k, 4) for k in range(-4, 5)]
    # (y - t)^2 over its largest value
    squares = [(-2 * t / m, 1 / m, t * t / m) for t in turns for m in [(1 + abs(t)) ** 2]]
    if change == "replaced":
        return frozenset(leading((a, b)) for a, b, _ in squares)
    if change == "absent":
        found = [*squares, *((-a, -b, 1 - c) for a, b, c in squares)]
    else:
        found = [(2 * a, 2 * b, 2 * c - 1) for a, b, c in squares]
    return frozenset(leading(v) for v in ((_ZERO, _ZERO, _ONE), *found))


def named(given: tuple[tuple[Fraction, ...], ...]) -> str | None:
    """Return the name of the polytope with these facets, if it is one of ours."""
    found = frozenset(map(leading, given))
    return next((change for change in CHANGES if facets(change) == found), None)


def leading(facet: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return one of a facet and its opposite: the one whose first number is positive."""
    first = next(v for v in facet if v)
    return facet if first > 0 else tuple(-v for v in facet)


@lru_cache(maxsize=4)
def corners(change: str) -> Array:
    """Return points whose hull holds the polytope, and little more; 0 for a count it has not."""
    rows = np.array(sorted(facets(change)), dtype=float)
    dim = rows.shape[1]
    chosen = np.array(list(combinations(range(len(rows)), dim)))
    signs = np.array(list(product([1.0, -1.0], repeat=dim)))
    systems = rows[chosen]
    meet = np.abs(np.linalg.det(systems)) > _OUT
    # Where facets meet: one point for each choice of sides.
    points = np.linalg.solve(systems[meet][:, None], signs[None, :, :, None]).reshape(-1, dim)
    inside = points[np.abs(points @ rows.T).max(axis=1) <= 1 + _OUT]
    found = np.unique(np.round(inside, 12), axis=0) * (1 + 2 * _OUT)
    return np.pad(found, ((0, 0), (0, 3 - dim)))
