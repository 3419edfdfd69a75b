"""The norms that every conformance test runs over: at least one of each kind, in d coordinates.

A norm that is listed here is tested at once, alone and with every body.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from kng.core.parts import Norm
from kng.norms import L1, L2, CoordinateSup, InterceptSup, LInf, Polytope, WeightedSup

DIMS = (1, 2, 3)
# Norms whose values are rounded up; those of all others are exact.
ROUNDED = ("l2", "l2 weighted")
_WEIGHTS: tuple[Any, ...] = ("1/3", 2, 0.7)


def norms(dim: int) -> dict[str, Norm]:
    """Return example norms for vectors of so many coordinates, by name."""
    weights = _WEIGHTS[:dim]
    return {
        "l1": L1(),
        "l1 weighted": L1(weights=weights),
        "l2": L2(),
        "l2 weighted": L2(weights=weights),
        "linf": LInf(),
        "linf weighted": LInf(weights=weights),
        "weighted sup": WeightedSup(weights),
        "intercept 5/9": InterceptSup(Fraction(5, 9)),
        "intercept 1/2": InterceptSup(Fraction(1, 2)),
        "coordinate": CoordinateSup(),
        "cross": Polytope(facets=_cross(dim)),
        "hexagon": Polytope(facets=_hexagon(dim)),
        "partial sums": Polytope(facets=_partial_sums(dim)),
        "random facets": Polytope(facets=_random(dim, 7)),
        "random vertices": Polytope(vertices=_opposites(_random(dim, 11))),
    }


def _cross(dim: int) -> list[list[int]]:
    """max(|v_1 + v_2|, 10 |v_1 - v_2|) and so on: far from monotone."""
    steps = [[10 * ((k == j) - (k == j + 1)) for k in range(dim)] for j in range(dim - 1)]
    return [[1] * dim, *steps]


def _hexagon(dim: int) -> list[list[int]]:
    """The coordinates and the differences of neighbours."""
    units = [[int(k == j) for k in range(dim)] for j in range(dim)]
    return units + [[(k == j) - (k == j + 1) for k in range(dim)] for j in range(dim - 1)]


def _partial_sums(dim: int) -> list[list[float]]:
    """A tenth of v_1, v_1 + v_2, ...; the last of them twice."""
    rows = [[0.1 * (k <= j) for k in range(dim)] for j in range(dim)]
    return [*rows, rows[-1]]


def _random(dim: int, seed: int) -> list[list[Fraction]]:
    """2 d + 2 vectors at random, among them tilted ones: far from monotone."""
    rng = random.Random(100 * seed + dim)
    return [
        [Fraction(rng.randint(-9, 9) or 1, rng.randint(1, 5)) for _ in range(dim)]
        for _ in range(2 * dim + 2)
    ]


def _opposites(points: list[list[Fraction]]) -> list[list[Fraction]]:
    return [*points, *([-v for v in point] for point in points)]


NORMS = {(name, dim): norm for dim in DIMS for name, norm in norms(dim).items()}
