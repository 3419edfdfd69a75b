"""exp(-t) in float64 from sums, products and powers of two, with a proved error.

It is off by less than 2**-50 of it for 0 <= t < 64 (docs/proofs/losses/logistic.md); NumPy's own
promises nothing.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# exp(-f) for |f| <= ln(2) / 2: what follows f^13 / 13! is below 2**-57 of it.
_EXP = tuple((-1) ** k / factorial(k) for k in range(13, -1, -1))
# ln(2) in two parts: whole numbers up to 2**20 times the first are exact.
_PER_LN2, _LN2, _LN2_REST = 1.4426950408889634, 2977044471 / 2**32, 1.9082149292705877e-10
# Beyond 64 it is taken as 0.
FAR = 64.0


def horner(terms: tuple[float, ...], x: Array) -> Array:
    """Return the polynomial with these terms, the highest power first."""
    value = np.full_like(x, terms[0])
    for term in terms[1:]:
        value *= x
        value += term
    return value


def exp_minus(t: Array) -> Array:
    """Return exp(-t) for t >= 0, and 0 beyond 64: exp(-t) = 2**-n exp(-f), f = t - n ln(2)."""
    near = np.minimum(t, FAR)
    n = np.rint(near * _PER_LN2)
    f = (near - n * _LN2) - n * _LN2_REST
    return np.where(t < FAR, np.ldexp(horner(_EXP, f), -n.astype(np.int64)), 0.0)
