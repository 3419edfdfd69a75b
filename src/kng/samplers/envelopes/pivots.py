"""Which coordinates the data see, in the order of what each adds to those before."""

from __future__ import annotations

import numpy as np

from kng.core.regression import Matrix


def pivots(matrix: Matrix) -> tuple[list[int], int]:
    """Order coordinates by what they add to those before, and count those that add anything."""
    rest = matrix.copy()
    floor = 1e-9 * float(np.max(np.diag(matrix), initial=0.0))
    order: list[int] = []
    usable = 0
    for _ in range(len(matrix)):
        left = [j for j in range(len(matrix)) if j not in order]
        j = max(left, key=lambda i: float(rest[i, i]))
        order.append(j)
        if rest[j, j] <= floor or usable < len(order) - 1:
            continue
        usable += 1
        rest = rest - np.outer(rest[:, j], rest[j]) / rest[j, j]
    return order, usable
