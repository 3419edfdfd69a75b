"""How far the law of KNG for a loss with a kink is from the limit that Theorem 3.2 claims.

    ell = sum (theta - x)^2 / 2 + |theta - x|,      x in [-1/2, 1/2],      Delta = 3

The Hessian is n wherever there is one, so the claimed limit of z = n (theta~ - theta_hat) has the
density exp(-(epsilon / 2 Delta) |z|). The law is summed over `kng.KNG(..).density`, at points of a
fine lattice; distances are in total variation.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.quadratic import Vector
from kng.domains import Box
from kng.estimators.assembled import KNG
from kng.losses import Location
from kng.reproduce.kinked import Kinked
from kng.reproduce.minimisers import kinked_minimiser

# Points of the sum; at its ends the claimed limit has fallen by e^-20.
_POINTS, _DEPTH = 2400, 20
# Steps of records and answers: at n = 10^5 a step is 1/40,000 of z = 1.
_FINE = Fraction(1, 2**32)


def kink_distance(records: Vector, epsilon: Fraction) -> float:
    """Return the total variation distance to the claimed limit."""
    n, half = len(records), Fraction(1, 2)
    mechanism = KNG(Location(Kinked()), domain=Box(-half, half))
    stated: dict[str, Any] = {"bounds": (-half, half), "epsilon": epsilon, "granularity": _FINE}
    rate = float(epsilon) / (2 * mechanism.plan(**stated).sensitivity([0.0]))
    z = ((np.arange(_POINTS) + 0.5) / _POINTS * 2 - 1) * _DEPTH / rate
    theta = kinked_minimiser(records) + z / n
    inside = np.abs(theta) < 0.5
    points = theta[inside][:, None].tolist()
    found = mechanism.density(records, **stated, grid=points, public=True)
    law, limit = np.zeros(_POINTS), np.exp(-rate * np.abs(z))
    law[inside] = found.mass
    return float(np.abs(law - limit / limit.sum()).sum() / 2)


def even_records(n: int) -> Vector:
    """Return +-(i - 1/2) / n for i = 1 .. n/2: between them the gradient is z + 2 round(z)."""
    half = (np.arange(n // 2) + 0.5) / n
    return np.concatenate([-half, half])
