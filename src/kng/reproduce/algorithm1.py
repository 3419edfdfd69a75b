"""The paper's Algorithm 1: simulated regressions, as a stream that can be read again.

    X_i1 = 1,  X_ij uniform on (-1, 1),  Y_i = X_i theta* + e_i,  e_i standard normal
    R = max |Y_i|;  estimators see Y / R, and their estimates are multiplied by R

Blocks of records are made from seeds of their own, so that ten million of them need no more memory
than one block, and a second pass sees the same records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kng.core.bits import simulator
from kng.core.quadratic import Matrix, Vector

BLOCK = 2**15
# Public bounds on |Y| for the methods that may not look at R: |X theta*| <= 5.55, errors 2.45.
PUBLIC_BOUND = 8.0


@dataclass(frozen=True, slots=True)
class SampleMoments:
    """All that least squares ever needs of the records, and R."""

    n: int
    gram: Matrix
    products: Vector  # X'Y
    clipped: Vector  # X'Y with Y cut to the public bounds
    largest: float  # R


@dataclass(frozen=True, slots=True)
class Sample:
    """n records of Algorithm 1; the same ones for the same seed."""

    truth: tuple[float, ...]
    n: int
    seed: tuple[int, ...]

    def blocks(self) -> Iterator[tuple[Matrix, Vector]]:
        """Yield the records; a block is overwritten by the next one."""
        d = len(self.truth)
        theta = np.array(self.truth)
        X, covariates = np.ones((min(BLOCK, self.n), d)), np.empty((min(BLOCK, self.n), d - 1))
        for index, start in enumerate(range(0, self.n, BLOCK)):
            rows = min(BLOCK, self.n - start)
            generator = simulator(*self.seed, self.n, index)
            generator.random(out=covariates[:rows])
            np.multiply(covariates[:rows], 2.0, out=X[:rows, 1:])
            X[:rows, 1:] -= 1.0
            yield X[:rows], X[:rows] @ theta + generator.standard_normal(rows)

    def records(self) -> tuple[Matrix, Vector]:
        """Return all records at once, for samples that fit into memory."""
        pairs = [(X.copy(), y) for X, y in self.blocks()]
        return np.concatenate([X for X, _ in pairs]), np.concatenate([y for _, y in pairs])

    def moments(self) -> SampleMoments:
        """Read the records once."""
        d = len(self.truth)
        gram, products, clipped, largest = np.zeros((d, d)), np.zeros(d), np.zeros(d), 0.0
        for X, y in self.blocks():
            gram += X.T @ X
            products += y @ X
            clipped += np.clip(y, -PUBLIC_BOUND, PUBLIC_BOUND) @ X
            largest = max(largest, float(np.abs(y).max()))
        return SampleMoments(self.n, gram, products, clipped, largest)
