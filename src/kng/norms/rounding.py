"""Rows of boxes in float64, with what rounding could have lost put back on either side.

    near_j = least |v_j|,    far_j = largest |v_j|      between two corners

A norm that depends on the |v_j| alone and falls with none of them lies between those of the two.
Most norms here do; `kng.norms.polytope` does not, and never asks for them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A product below 2**-1022 loses digits, 2**-1075 at most; its square root 2**-537.
TINY, TINY_ROOT = 2.0**-1050, 2.0**-500
_LARGEST = float(np.finfo(np.float64).max)


def near_far(low: Array, high: Array) -> tuple[Array, Array]:
    """Return the least and the largest size of each coordinate, exactly."""
    return np.maximum(np.maximum(low, -high), 0.0), np.maximum(-low, high)


def outwards(lower: Array, upper: Array, roundings: int, tiny: float = TINY) -> tuple[Array, Array]:
    """Widen bounds that so many roundings of positive numbers have led to.

    n roundings change a number by a factor of at most 1 + 1.01 n 2**-53.
    """
    share = roundings * 2.0**-52
    # A bound that has left float64 is not finite any more, but what it bounds may be.
    down = np.minimum(lower, _LARGEST) * (1 - share) - tiny
    return np.maximum(down, 0.0), upper * (1 + share) + tiny
