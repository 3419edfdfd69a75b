"""A plane to start from and shears to try; they decide how many boxes a cover takes, and only that.

pilot   a plane near the wanted quantile, from a sample of the records
shear   makes the covariates orthogonal, so that boxes fit the valley of the loss: those of all
records, or where that is another matter those of the records next to the pilot
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from kng.losses.enclosures.plane_field import PlaneField

Array = NDArray[np.float64]

# Records that are looked at, and steps of the fit.
_SAMPLE, _STEPS = 2**14, 24
# Shears that differ by no more than this serve alike.
_ALIKE = 0.25


def pilot_of(field: PlaneField) -> tuple[Array, list[Array]]:
    """Return a plane near the wanted quantile, and the shears to try.

    Least squares, in which a record weighs as 1 / its distance from the plane before. Records next
    to the plane are those that can count or not; where many are equal, their plane is what boxes
    should lie along.
    """
    spaced = slice(None, None, max(1, len(field.rows) // _SAMPLE))
    x, y = field.rows[spaced].astype(np.float64), field.response[spaced].astype(np.float64)
    n, d = x.shape
    tau, weight = float(field.tau), np.ones(n)
    near = min(n - 1, 8 * d + isqrt(n))
    for _ in range(_STEPS):
        weighted = (x * weight[:, None]).T
        gram = weighted @ x
        ridge = 1e-9 * np.trace(gram) / d or 1.0  # no covariate is other than 0: any plane will do
        pilot = np.linalg.solve(gram + ridge * np.eye(d), weighted @ y)
        residual = y - x @ pilot
        size = np.abs(residual)
        close = np.partition(size, near)[near] + 1.0
        weight = np.where(residual > 0, tau, 1 - tau) / np.maximum(size, close)
    beside = x[size <= close]
    shears = [_orthogonal(part.T @ part) for part in (x, beside)]
    alike = np.abs(shears[0] - shears[1]).max() <= _ALIKE
    return np.asarray(pilot), shears[:1] if alike else shears


def _orthogonal(gram: Array) -> Array:
    """Return V, unit upper triangular, that makes the columns of x V orthogonal.

    A column that those before it explain is passed over, so that what follows leans on few columns
    and in round numbers: then boxes lie along planes that collinear records cannot tell apart.
    """
    rest, unit = gram.copy(), np.eye(len(gram))
    for k in range(len(gram)):
        if rest[k, k] > 1e-9 * gram[k, k]:
            unit[k, k + 1 :] = rest[k, k + 1 :] / rest[k, k]
            rest -= np.outer(rest[k], rest[k]) / rest[k, k]
    return np.asarray(np.linalg.inv(unit))
