"""The largest value of a quadratic form over boxes."""

from __future__ import annotations

import numpy as np

from kng.norms.rounding import Array

# Up to so many coordinates all corners are looked at; so many corners at a time.
_CORNERS, _BLOCK = 16, 2**12


def largest_over_box(matrix: Array, half_widths: Array) -> float:
    """Return the largest u'matrix u with |u_j| <= half_widths_j, never below it.

    A form that is nowhere negative is convex, so it is largest at a corner. Beyond 16 coordinates
    it is at most the sum of all absolute entries, and d times the largest eigenvalue.
    """
    scaled = matrix * np.outer(half_widths, half_widths)
    d = len(scaled)
    if d > _CORNERS:
        spread = d * float(np.linalg.eigvalsh(scaled)[-1])
        return min(float(np.abs(scaled).sum()), spread)
    largest = 0.0
    for at in range(0, 1 << (d - 1), _BLOCK):  # a corner and its opposite are alike
        numbers = np.arange(at, min(at + _BLOCK, 1 << (d - 1)))
        signs = 1.0 - 2.0 * (numbers[:, None] >> np.arange(d) & 1)
        forms = np.einsum("ij,ij->i", signs @ scaled, signs)
        largest = max(largest, float(forms.max()))
    return largest
