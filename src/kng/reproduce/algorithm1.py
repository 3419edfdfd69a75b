"""The paper's Algorithm 1: simulated regressions, as a stream that can be read again.

    X_i1 = 1,  X_ij uniform on (-1, 1),  Y_i = X_i theta* + e_i,  e_i standard normal
    R = max |Y_i|;  estimators see Y / R, and their estimates are multiplied by R

Blocks of records are made from seeds of their own, so that ten million of them need no more memory
than one block, and a second pass sees the same records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from kng.core.bits import simulator
from kng.core.encoding import Encoding
from kng.core.quadratic import Matrix, Vector
from kng.core.records import Kernel, Rows, Selection, State
from kng.data import open_regression

BLOCK = 2**15
# The part of an error that public bounds on |Y| leave room for, beside |X theta*|.
_ERROR = 2.45


def public_bound(truth: tuple[float, ...]) -> float:
    """Return public bounds on |Y| for methods that may not look at R: 8 for the paper's theta*.

    |X theta*| <= ||theta*||_1 = 5.55 there, and 2.45 for the error.
    """
    return float(ceil(sum(map(abs, truth)) + _ERROR))


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
        d, bound = len(self.truth), public_bound(self.truth)
        gram, products, clipped, largest = np.zeros((d, d)), np.zeros(d), np.zeros(d), 0.0
        for X, y in self.blocks():
            gram += X.T @ X
            products += y @ X
            clipped += np.clip(y, -bound, bound) @ X
            largest = max(largest, float(np.abs(y).max()))
        return SampleMoments(self.n, gram, products, clipped, largest)


@dataclass(frozen=True, slots=True)
class Stream:
    """The records as the library reads them, made again for every pass; it adds the intercept."""

    sample: Sample
    encoding: Encoding

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over all records, block by block."""
        state = kernel.zero()
        for X, y in self.sample.blocks():
            block = open_regression(X[:, 1:], y, self.encoding)
            state = kernel.merge(state, block.reduce(kernel))
        return state

    def collect(self, selection: Selection) -> Rows:
        """Bring home the selected rows; for samples that fit into memory."""
        X, y = self.sample.records()
        return open_regression(X[:, 1:], y, self.encoding).collect(selection)
