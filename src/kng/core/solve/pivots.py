"""Which coordinates records determine, in the order of what each adds to those before."""

from __future__ import annotations

import numpy as np

from kng.core.quadratic import Matrix

# Pivots, and eigenvalues of what they leave, that count as 0: shares of the largest entry.
_PIVOT, _EIGENVALUE = 1e-9, 1e-11


def pivots(matrix: Matrix) -> tuple[list[int], int]:
    """Order coordinates by what they add to those before, and count those that add anything.

    Pivots alone can miss that many columns together are nearly dependent, so the block of those
    that count has no eigenvalue near 0 either: float64 can solve with it.
    """
    rest = matrix.copy()
    largest = float(np.max(np.diag(matrix), initial=0.0))
    order: list[int] = []
    usable = 0
    for _ in range(len(matrix)):
        left = [j for j in range(len(matrix)) if j not in order]
        j = max(left, key=lambda i: float(rest[i, i]))
        order.append(j)
        if rest[j, j] <= _PIVOT * largest or usable < len(order) - 1:
            continue
        usable += 1
        rest = rest - np.outer(rest[:, j], rest[j]) / rest[j, j]
    while usable and _least(matrix, order[:usable]) <= _EIGENVALUE * largest:
        usable -= 1
    return order, usable


def _least(matrix: Matrix, chosen: list[int]) -> float:
    return float(np.linalg.eigvalsh(matrix[np.ix_(chosen, chosen)])[0])
