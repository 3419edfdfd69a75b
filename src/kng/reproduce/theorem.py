"""Theorem 3.2: the law of n (theta~ - theta_hat) against its K-norm limit, as n grows.

Linear regression of Algorithm 1, the paper's ball, Theorem 3.1's constant c = eps / (4 (1 + B)).
For one sample, with A = X'X and H = E x x',

    f_n(z) proportional to exp(-c ||A z / n||_inf)  where theta_hat + z/n is in Theta
    f(z)   proportional to exp(-c ||H z||_inf)      the limit, whose ||H z|| is Gamma(d, c)

Both normalisers are known, so the total variation distance of Scheffe's theorem, which the proof
ends with, is an average over draws u from the limit,  E max(0, 1 - f_n / f).

Beside it the size of the noise, || theta~ - theta_hat ||_2: it falls like 1/n for KNG and like
1/sqrt(n) for the exponential mechanism, whose limit is normal.

Median regression has no second derivative, and the theorem does not apply. Near theta_hat the
gradient is no line but a staircase whose steps, single records, do not shrink against the noise:
n (theta~ - theta_hat) stays of order one and *does not converge* to the K-norm law at a fixed
epsilon. It does if epsilon falls while n epsilon grows, because the noise then spreads over
1/epsilon records. Shown is the Kolmogorov distance of  c ||n f(0) H (theta~ - theta_hat)||_inf  to
Gamma(2, 1), at epsilon = 1 and at epsilon = 1/sqrt(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, pi, sqrt
from typing import Protocol

import numpy as np
from scipy.special import gammainc

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector
from kng.mechanisms import KNG, Exponential
from kng.reproduce.algorithm1 import Sample, SampleMoments
from kng.reproduce.constants import C_X, EPSILON, LINEAR_TRUTH, QUANTILE_TRUTH, TAU, B
from kng.reproduce.constants import kng_quantile_derived as quantile_rate
from kng.reproduce.experiment import Measured, Task, grid, method_bits
from kng.reproduce.figure1 import Paper, derived_rate
from kng.reproduce.plane import Leaves, gradient_score
from kng.reproduce.simplex import quantile_regression
from kng.samplers.real import affine, gaussian

METHODS = {
    "distance-linear": "linear regression, total variation",
    "distance-quantile": "median regression, ε = 1, Kolmogorov",
    "distance-quantile-vanishing": "median regression, ε = n^-1/2, Kolmogorov",
    "noise-kng": "KNG, linear regression",
    "noise-exponential": "exponential mechanism, linear regression",
    "noise-quantile": "KNG, median regression",
}
LEVELS = tuple(k / 20 for k in range(1, 20))
LARGEST_PLANE = 10**5


@dataclass(frozen=True, slots=True)
class Theorem:
    """Sizes, samples of each, and draws from each sample."""

    sizes: tuple[int, ...] = tuple(10**k for k in range(2, 7))
    replicates: int = 40
    draws: int = 4000
    name: str = "theorem"

    def tasks(self) -> list[Task]:
        """Return every replicate of every size."""
        return grid(self.sizes, self.replicates)

    def cost(self, task: Task) -> float:
        """Return about how many milliseconds."""
        plane = 200 + task.n / 55 if task.n <= LARGEST_PLANE else 0
        return 100 + plane + task.n / 20_000

    def measure(self, task: Task, seed: int) -> Measured:
        """Return distances to the limit, sizes of the noise, and quantiles of ||H z||."""
        key = (seed, 3, task.replicate)
        moments = Sample(LINEAR_TRUTH, task.n, key).moments()
        errors, facts = self._linear(moments, method_bits((*key, task.n), "linear"))
        if task.n <= LARGEST_PLANE:
            bits = method_bits((*key, task.n), "quantile")
            errors |= self._quantile(Sample(QUANTILE_TRUTH, task.n, key), bits)
        return Measured(errors, facts)

    def _linear(
        self, moments: SampleMoments, bits: Bits
    ) -> tuple[dict[str, float], dict[str, float]]:
        paper = Paper(moments)
        centre = paper.least_squares() / moments.largest
        ours = affine.best(KNG().plan(paper.regression, EPSILON), paper.field)
        rival = gaussian.best(Exponential().plan(paper.regression, EPSILON), paper.field)
        drawn = accepted(ours, bits, self.draws)
        errors = {
            "distance-linear": total_variation(moments, centre, derived_rate(), bits, self.draws),
            "noise-kng": _mean_distance(drawn, centre),
            "noise-exponential": _mean_distance(accepted(rival, bits, self.draws), centre),
        }
        scaled = moments.n * (drawn - centre) @ limit_hessian(len(centre))
        radius = derived_rate() * np.abs(scaled).max(axis=1)
        return errors, {f"{q:.2f}": float(np.quantile(radius, q)) for q in LEVELS}

    def _quantile(self, sample: Sample, bits: Bits) -> dict[str, float]:
        X, response = sample.records()
        largest = float(np.abs(response).max())
        y = response / largest
        centre = quantile_regression(X, y, float(TAU))
        slope = sample.n * largest / sqrt(2 * pi) * limit_hessian(2)  # n f(0) H for y / R
        found = {}
        fixed, falling = "distance-quantile", "distance-quantile-vanishing"
        for name, epsilon in ((fixed, EPSILON), (falling, Fraction(1 / sqrt(sample.n)))):
            rate = float(quantile_rate(epsilon, TAU, C_X))
            drawn = Leaves.grown(gradient_score, X, y, rate, float(B)).draw(bits, self.draws)
            radius = rate * np.abs((drawn - centre) @ slope).max(axis=1)
            found[name] = kolmogorov(radius, 2)
            if name == fixed:
                found["noise-quantile"] = _mean_distance(drawn, centre)
        return found


def limit_hessian(dim: int) -> Matrix:
    """Return E x x' of Algorithm 1: 1 for the intercept, 1/3 for a uniform covariate."""
    return np.diag([1.0] + [1 / 3] * (dim - 1))


def total_variation(
    moments: SampleMoments, centre: Vector, rate: float, bits: Bits, size: int
) -> float:
    """Return the distance of the law of n (theta~ - theta_hat) to its limit, by Monte Carlo."""
    d = len(centre)
    limit, now = limit_hessian(d), moments.gram / moments.n
    z = knorm(bits, size, d, rate) @ np.linalg.inv(limit)
    own = knorm(bits, size, d, rate) @ np.linalg.inv(now)
    inside = np.abs(centre + own / moments.n).sum(axis=1) <= float(B)
    if not inside.any():
        return 1.0  # nearly all of the law without a bound on theta is cut away
    log_ratio = rate * (np.abs(z @ limit).max(axis=1) - np.abs(z @ now).max(axis=1))
    log_ratio += np.linalg.slogdet(now)[1] - np.linalg.slogdet(limit)[1] - np.log(inside.mean())
    here = np.abs(centre + z / moments.n).sum(axis=1) <= float(B)
    return float(np.maximum(0.0, 1 - np.where(here, np.exp(log_ratio), 0.0)).mean())


def knorm(bits: Bits, size: int, dim: int, rate: float) -> Matrix:
    """Return draws from exp(-rate ||u||_inf): Gamma(d + 1) times a point of the cube."""
    radius = -np.log(bits.uniforms(size, dim + 1)).sum(axis=1) / rate
    return np.asarray(radius[:, None] * (2 * bits.uniforms(size, dim) - 1))


class Batches(Protocol):
    """Proposals of one of the library's samplers."""

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        ...


def accepted(proposals: Batches, bits: Bits, size: int) -> Matrix:
    """Return independent draws: all proposals that are accepted, and not the first alone."""
    kept, found = [], 0
    while found < size:
        theta, log_accept = proposals.batch(bits, 2**14)
        drawn = theta[np.log(bits.uniforms(len(theta))) < log_accept]
        kept.append(drawn)
        found += len(drawn)
    return np.concatenate(kept)[:size]


def _mean_distance(drawn: Matrix, centre: Vector) -> float:
    return float(np.linalg.norm(drawn - centre, axis=1).mean())


def floor(draws: int) -> float:
    """Return the mean Kolmogorov distance of draws to the very law that they come from.

    The limit of sqrt(draws) times it is sqrt(pi / 2) ln 2 = 0.87; a distance near it is none.
    """
    return sqrt(pi / 2) * log(2) / sqrt(draws)


def kolmogorov(values: Vector, shape: int) -> float:
    """Return the largest distance of the empirical distribution to that of Gamma(shape, 1)."""
    model = gammainc(shape, np.sort(values))
    steps = np.arange(len(values) + 1) / len(values)
    return float(max((model - steps[:-1]).max(), (steps[1:] - model).max()))
