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

A loss with a kink meets every assumption of the theorem as stated, and its conclusion is false:
near theta_hat the gradient has the slope 1 of the Hessian and the staircase's 2 besides. Shown is
the total variation distance to the claimed limit (`claimed_limit`), for records that are uniform.

The geometric median of normal records in the plane is not strongly convex, and the theorem does not
apply; but n times the size of its noise is flat, as Section 4.4 says.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, pi, sqrt
from typing import Protocol

import numpy as np
from scipy.special import gammainc

from kng import mechanisms
from kng.core.bits import Bits, simulator
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.quadratic import Matrix, Vector
from kng.data import open_source
from kng.domains import Box
from kng.estimators.planned import planned
from kng.estimators.posed import Asked, posed
from kng.losses import Distance
from kng.mechanisms import KNG, Exponential
from kng.norms import L2
from kng.reproduce.algorithm1 import Sample, SampleMoments
from kng.reproduce.claimed_limit import kink_distance
from kng.reproduce.constants import (
    C_X,
    EPSILON,
    LINEAR_TRUTH,
    QUANTILE_TRUTH,
    TAU,
    B,
    kng_linear_derived,
    kng_quantile_derived,
)
from kng.reproduce.experiment import Measured, Task, grid, method_bits
from kng.reproduce.figure1 import Paper
from kng.reproduce.minimisers import geometric_median
from kng.reproduce.planes import Planes, drawn
from kng.reproduce.simplex import quantile_regression
from kng.samplers.real import affine, gaussian

METHODS = {
    "distance-linear": "linear regression, total variation",
    "distance-quantile": "median regression, Kolmogorov",
    "distance-quantile-vanishing": "median regression, ε = n^-1/2, Kolmogorov",
    "distance-kink": "a loss with a kink, total variation",
    "noise-kng": "KNG, linear regression",
    "noise-exponential": "exponential mechanism, linear regression",
    "noise-quantile": "KNG, median regression",
    "noise-geometric": "KNG, geometric median",
}
LEVELS = tuple(k / 20 for k in range(1, 20))
# Records of everything but least squares are held in memory.
LARGEST_HELD = 10**5
# Records of the geometric median are normal, cut at 4, where one in 8,000 lies beyond.
_CUT = 4


@dataclass(frozen=True, slots=True)
class Theorem:
    """Sizes, samples of each, draws from each sample, and epsilon."""

    sizes: tuple[int, ...] = tuple(10**k for k in range(2, 7))
    replicates: int = 40
    draws: int = 4000
    epsilon: Fraction = EPSILON
    name: str = "theorem"

    @property
    def rate(self) -> float:
        """The c that Theorem 3.1 gives for the sum of equation (1)."""
        return float(kng_linear_derived(self.epsilon, B))

    def tasks(self) -> list[Task]:
        """Return every replicate of every size."""
        return grid(self.sizes, self.replicates)

    def cost(self, task: Task) -> float:
        """Return about how many milliseconds."""
        held = self.draws + task.n / 10 if task.n <= LARGEST_HELD else 0
        return 100 + held + task.n / 20_000

    def measure(self, task: Task, seed: int) -> Measured:
        """Return distances to the limit, sizes of the noise, and quantiles of ||H z||."""
        key = (seed, 3, task.replicate)
        moments = Sample(LINEAR_TRUTH, task.n, key).moments()
        errors, facts = self.linear(moments, method_bits((*key, task.n), "linear"))
        if task.n <= LARGEST_HELD:
            bits = method_bits((*key, task.n), "quantile")
            errors |= self.quantile(Sample(QUANTILE_TRUTH, task.n, key), bits)
            records = simulator(*key, task.n, 1).uniform(-0.5, 0.5, task.n)
            errors["distance-kink"] = kink_distance(records, self.epsilon)
            points = simulator(*key, task.n, 2).standard_normal((task.n, 2))
            bits = method_bits((*key, task.n), "geometric")
            errors["noise-geometric"] = self.geometric(np.clip(points, -_CUT, _CUT), bits)
        return Measured(errors, facts)

    def linear(
        self, moments: SampleMoments, bits: Bits
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return what least squares shows, and quantiles of its radius."""
        paper = Paper(moments)
        centre = paper.least_squares() / moments.largest
        ours = affine.best(KNG().plan(paper.regression, self.epsilon), paper.field)
        rival = gaussian.best(Exponential().plan(paper.regression, self.epsilon), paper.field)
        found = accepted(ours, bits, self.draws)
        errors = {
            "distance-linear": total_variation(moments, centre, self.rate, bits, self.draws),
            "noise-kng": _mean_distance(found, centre),
            "noise-exponential": _mean_distance(accepted(rival, bits, self.draws), centre),
        }
        scaled = moments.n * (found - centre) @ limit_hessian(len(centre))
        radius = self.rate * np.abs(scaled).max(axis=1)
        return errors, {f"{q:.2f}": float(np.quantile(radius, q)) for q in LEVELS}

    def quantile(self, sample: Sample, bits: Bits) -> dict[str, float]:
        """Return what median regression shows, at a fixed epsilon and at one that falls."""
        X, response = sample.records()
        largest = float(np.abs(response).max())
        planes = Planes(X, response / largest, TAU)
        centre = quantile_regression(X, planes.y, float(TAU))
        slope = sample.n * largest / sqrt(2 * pi) * limit_hessian(2)  # n f(0) H for y / R
        found = {}
        fixed, falling = "distance-quantile", "distance-quantile-vanishing"
        for name, epsilon in ((fixed, self.epsilon), (falling, Fraction(1 / sqrt(sample.n)))):
            plan, rate = planes.kng_plan(epsilon), float(kng_quantile_derived(epsilon, TAU, C_X))
            theta = drawn(plan, planes.field(plan), bits, self.draws)
            radius = rate * np.abs((theta - centre) @ slope).max(axis=1)
            found[name] = kolmogorov(radius, 2)
            if name == fixed:
                found["noise-quantile"] = _mean_distance(theta, centre)
        return found

    def geometric(self, records: Matrix, bits: Bits) -> float:
        """Return the mean size of the noise of KNG in the Euclidean norm."""
        box = Box((-_CUT, -_CUT), (_CUT, _CUT))
        setting = posed(Distance(), box, "gradient", Asked(((-_CUT,) * 2, (_CUT,) * 2)), None)
        unit = PrivacyUnit(ReplaceOne(len(records)), 1)
        problem = Problem(
            setting.loss, L2(), setting.domain, setting.records, setting.answers, unit
        )
        plan = planned(mechanisms.KNG(), problem, self.epsilon, "auto")
        for load in plan.loaders:
            load()
        field = plan.read(open_source(records, setting.records), [plan])[0]
        theta = drawn(plan, field, bits, max(2, self.draws // 16))  # each looks at every record
        return _mean_distance(theta, geometric_median(records))


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
        taken = theta[np.log(bits.uniforms(len(theta))) < log_accept]
        kept.append(taken)
        found += len(taken)
    return np.concatenate(kept)[:size]


def _mean_distance(theta: Matrix, centre: Vector) -> float:
    return float(np.linalg.norm(theta - centre, axis=1).mean())


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
