"""Points of the l1 ball, uniform or shrunk towards 0, and its volume."""

from __future__ import annotations

from math import lgamma, log

import numpy as np

from kng.core.bits import Bits
from kng.core.quadratic import Matrix


def log_l1_volume(dim: int) -> float:
    """Return the log of the volume, 2^dim / dim!."""
    return dim * log(2) - lgamma(dim + 1)


def log_tail_mass(dim: int, powers: int) -> float:
    """Return the log of the mean of (1 - ||phi||_1)^powers over the unit l1 ball."""
    return lgamma(powers + 1) + lgamma(dim + 1) - lgamma(powers + dim + 1)


def l1_ball(bits: Bits, size: int, dim: int, powers: int = 0) -> Matrix:
    """Return points of the unit l1 ball with density proportional to (1 - ||phi||_1)^powers.

    Spacings of exponentials, with signs; powers + 1 of them lie between a point and the edge.
    """
    if dim == 0:
        return np.zeros((size, 0))
    signed = 2 * bits.uniforms(size, dim) - 1
    sizes = -np.log(np.abs(signed))
    slack = -np.log(bits.uniforms(size, powers + 1)).sum(axis=1, keepdims=True)
    return np.asarray(np.sign(signed) * sizes / (sizes.sum(axis=1, keepdims=True) + slack))


def l1_sphere(bits: Bits, size: int, dim: int) -> Matrix:
    """Return points of l1 norm one, uniform on every face."""
    signed = 2 * bits.uniforms(size, dim) - 1
    sizes = -np.log(np.abs(signed))
    return np.asarray(np.sign(signed) * sizes / sizes.sum(axis=1, keepdims=True))
