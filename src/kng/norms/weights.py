"""Weights of a norm: one positive number per coordinate, or () for ones in any number of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Weights = tuple[Fraction, ...]


def spread(weights: Weights, dim: int) -> Weights:
    """Return the weight of each of so many coordinates."""
    return weights or (Fraction(1),) * dim


def rounded(weights: Weights) -> NDArray[np.float64] | float:
    """Return the nearest floats, ready to multiply rows."""
    return np.array([float(w) for w in weights]) if weights else 1.0


def mismatch(part: str, weights: Weights, dim: int) -> str | None:
    """Say that there are not as many weights as coordinates, or None."""
    if not weights or len(weights) == dim:
        return None
    return (
        f"{part} has {len(weights)} weights and the score {dim} coordinates; give one weight "
        "per coordinate."
    )
