"""Figure 1 of the paper: linear regression by every method, on the same records.

A sample is read once, into X'X and X'Y; every method with a squared loss works from these. Huber's
loss is read again for each step of its solver.

    non-private            least squares
    exponential            exponential mechanism, exp(-eps/(2 (1+B)^2) sum r^2) on ||theta||_1 <= B
    objective-perturbation noise eps/(8 (1+B)), gamma = 2 d / (e^(eps/2) - 1), the same ball
    kng-printed            equation (1), eps/(8 (1+B))
    kng-derived            Theorem 3.1 for the same sum, eps/(4 (1+B))
    ...-chain              the same laws by the paper's 10,000 steps, one coordinate at a time, with
                           a fixed reach; a step is a proposal for one coordinate
    ...-chain-sweeps       the same, where a step is a sweep over all d coordinates
    ...-chain-tuned        10,000 proposals with a reach that adapts

and beyond the paper, with public bounds of +-8 for Y where it takes R = max |Y| from the records:

    ours-default           kng.LinearRegression(mechanism="kng", ..), the default of 0.1
    ours-objective         the same with coef_bound=8, whose automatic choice is objective
                           perturbation with a tuned split of epsilon
    ours-huber             kng.HuberRegressor(epsilon=1, threshold=1, bounds_X=..); no bound on Y

"Ours" means the plans and samplers of these estimators; records are not rounded to integers here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kng.bases import Uniform
from kng.core.bits import Bits
from kng.core.bounds import bounds_of
from kng.core.capabilities import SmoothField
from kng.core.design import Design
from kng.core.encoding import encoding_of
from kng.core.parts import Domain, Norm
from kng.core.perturbed import PerturbedPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.quadratic import AffineGradient, Quadratic, Vector
from kng.domains import L1Ball, Whole
from kng.losses import Huber, Linear, Squared
from kng.losses.pointwise.function import Pointwise
from kng.mechanisms import KNG, Exponential, ObjectivePerturbation
from kng.norms import CoordinateSup, LInf
from kng.reproduce.algorithm1 import PUBLIC_BOUND, Sample, SampleMoments
from kng.reproduce.chain import Chain
from kng.reproduce.constants import (
    EPSILON,
    LINEAR_SIZES,
    LINEAR_STEPS,
    LINEAR_TRUTH,
    REPLICATES,
    B,
    exponential_linear,
    kng_linear_derived,
    kng_linear_printed,
)
from kng.reproduce.experiment import Measured, Task, grid, method_bits
from kng.samplers.exact.objective import Perturbed
from kng.samplers.real.affine import coefficients as affine_draw
from kng.samplers.real.gaussian import coefficients as gaussian_draw

METHODS = {
    "non-private": "non-private",
    "exponential": "exponential mechanism",
    "objective-perturbation": "objective perturbation",
    "kng-printed": "KNG as printed, ε/8(1+B)",
    "kng-derived": "KNG as derived, ε/4(1+B)",
    "exponential-chain": "exponential mechanism, chain",
    "kng-printed-chain": "KNG as printed, chain",
    "kng-derived-chain": "KNG as derived, chain",
    "kng-derived-chain-sweeps": "KNG as derived, chain of sweeps",
    "kng-derived-chain-tuned": "KNG as derived, tuned chain",
    "ours-default": "ours: least squares, default",
    "ours-objective": "ours: tuned objective perturbation",
    "ours-huber": "ours: Huber",
}
_CHAIN = Chain(LINEAR_STEPS)
_SWEEPS = _CHAIN.sweeping(len(LINEAR_TRUTH))
_TUNED = Chain(LINEAR_STEPS, LINEAR_STEPS // 2)


@dataclass(frozen=True, slots=True)
class Figure1:
    """Sizes and replicates; the paper's unless stated."""

    sizes: tuple[int, ...] = LINEAR_SIZES
    replicates: int = REPLICATES
    truth: tuple[float, ...] = LINEAR_TRUTH
    name: str = "figure1"

    def tasks(self) -> list[Task]:
        """Return every replicate of every size."""
        return grid(self.sizes, self.replicates)

    def cost(self, task: Task) -> float:
        """Return about how many milliseconds: one pass for the squares, five for Huber."""
        return 60 + task.n / 1_000

    def measure(self, task: Task, seed: int, methods: Collection[str] = tuple(METHODS)) -> Measured:
        """Return each method's distance to theta*, and R."""
        key = (seed, 1, task.replicate)
        sample = Sample(self.truth, task.n, key)
        moments = sample.moments()
        problem = Paper(moments)
        truth = np.array(self.truth)
        estimates: dict[str, Callable[[Bits], Vector]] = {
            "non-private": lambda _: problem.least_squares(),
            "exponential": problem.exponential,
            "objective-perturbation": problem.objective,
            "kng-printed": lambda bits: problem.kng(EPSILON / 2, bits),
            "kng-derived": lambda bits: problem.kng(EPSILON, bits),
            "exponential-chain": problem.exponential_chain,
            "kng-printed-chain": lambda bits: problem.kng_chain(_CHAIN, printed_rate(), bits),
            "kng-derived-chain": lambda bits: problem.kng_chain(_CHAIN, derived_rate(), bits),
            "kng-derived-chain-sweeps": lambda b: problem.kng_chain(_SWEEPS, derived_rate(), b),
            "kng-derived-chain-tuned": lambda b: problem.kng_chain(_TUNED, derived_rate(), b),
            "ours-default": lambda bits: default(moments, bits),
            "ours-objective": lambda bits: tuned_objective(moments, bits),
            "ours-huber": lambda bits: huber(sample, moments, bits),
        }
        errors = {
            name: float(np.linalg.norm(estimate(method_bits((*key, task.n), name)) - truth))
            for name, estimate in estimates.items()
            if name in methods
        }
        inside = float(np.abs(truth).sum() / moments.largest <= float(B))
        return Measured(errors, {"R": moments.largest, "truth inside": inside})


def printed_rate() -> float:
    """Return the c of equation (1)."""
    return float(kng_linear_printed(EPSILON, B))


def derived_rate() -> float:
    """Return the c that Theorem 3.1 gives for the same sum."""
    return float(kng_linear_derived(EPSILON, B))


@dataclass(frozen=True)
class Paper:
    """The paper's methods on Y / R over ||theta||_1 <= B; estimates come back times R."""

    moments: SampleMoments

    @property
    def field(self) -> AffineGradient:
        """The gradient of half the squared loss, A theta - b."""
        return AffineGradient(self.moments.gram, self.moments.products / self.moments.largest)

    @property
    def regression(self) -> Problem:
        """The library's problem for the paper's ball and norm."""
        d = len(self.moments.products)
        return regression(self.moments, LInf(), L1Ball(B, dim=d))

    def least_squares(self) -> Vector:
        """Return the minimiser; R cancels."""
        return np.asarray(np.linalg.solve(self.moments.gram, self.moments.products))

    def kng(self, epsilon: Fraction, bits: Bits) -> Vector:
        """Return an exact draw; the printed density is the derived one at half of epsilon."""
        plan = KNG().plan(self.regression, epsilon)
        return self.moments.largest * affine_draw(plan, self.field, bits)

    def exponential(self, bits: Bits) -> Vector:
        """Return an exact draw of the exponential mechanism."""
        plan = Exponential().plan(self.regression, EPSILON)
        return self.moments.largest * gaussian_draw(plan, self.field, bits)

    def objective(self, bits: Bits) -> Vector:
        """Return the minimiser of the perturbed objective, half of epsilon for the noise."""
        plan = ObjectivePerturbation(Fraction(1, 2)).plan(self.regression, EPSILON)
        return self.moments.largest * minimised(plan, self.field, bits)

    def kng_chain(self, chain: Chain, rate: float, bits: Bits) -> Vector:
        """Return where a chain for KNG ends."""
        field = self.field
        end = chain.gradient(field.matrix, field.vector, rate, float(B), bits)
        return self.moments.largest * end

    def exponential_chain(self, bits: Bits) -> Vector:
        """Return where a chain for the exponential mechanism ends."""
        rate, field = float(exponential_linear(EPSILON, B)), self.field
        end = _CHAIN.square(field.matrix, field.vector, rate, float(B), bits)
        return self.moments.largest * end


def regression(
    moments: SampleMoments,
    norm: Norm,
    domain: Domain,
    pointwise: Pointwise | None = None,
    scale: int | None = None,
) -> Problem:
    """Return the library's regression for records of Algorithm 1."""
    d = len(moments.products)
    records = encoding_of(bounds_of(([-1] * d, [1] * d)), granularity=None, missing=None, bits=16)
    design = Design(records, True, None if scale is None else Fraction(scale))
    unit = PrivacyUnit(ReplaceOne(moments.n), 1)
    loss = Linear(pointwise or Squared()).over(design)
    return Problem(loss, norm, domain, records, design.lattice, unit)


def default(moments: SampleMoments, bits: Bits) -> Vector:
    """Return what kng.LinearRegression(mechanism="kng") draws, within public bounds of Y."""
    d = len(moments.products)
    plan = KNG().plan(regression(moments, CoordinateSup(), Whole(d)), EPSILON)
    field = AffineGradient(moments.gram, moments.clipped / PUBLIC_BOUND)
    return PUBLIC_BOUND * affine_draw(plan, field, bits)


def tuned_objective(moments: SampleMoments, bits: Bits) -> Vector:
    """Return objective perturbation with a tuned split, within public bounds of Y."""
    d = len(moments.products)
    plan = ObjectivePerturbation().plan(regression(moments, LInf(), L1Ball(B, dim=d)), EPSILON)
    field = AffineGradient(moments.gram, moments.clipped / PUBLIC_BOUND)
    return PUBLIC_BOUND * minimised(plan, field, bits)


def huber(sample: Sample, moments: SampleMoments, bits: Bits) -> Vector:
    """Return what kng.HuberRegressor(threshold=1) draws; Y has no bound.

    The minimiser does not depend on where the solver starts; from least squares it is few passes.
    """
    d = len(moments.products)
    problem = regression(moments, LInf(), Whole(d, base=Uniform()), Huber(1), scale=1)
    plan = ObjectivePerturbation().plan(problem, EPSILON)
    start = Paper(moments).least_squares()
    centre = tuple(-Fraction(v) for v in start)
    return start + minimised(replace(plan, centre=centre), HuberStream(sample, start), bits)


def minimised(plan: PerturbedPlan, field: SmoothField, bits: Bits) -> Vector:
    """Return a draw of objective perturbation in standardised units."""
    return floats(plan.lattice.units(Perturbed().draw(plan, field, bits)))


def floats(theta: Sequence[Fraction]) -> Vector:
    """Return a point in float64."""
    return np.array([float(v) for v in theta])


@dataclass(frozen=True)
class HuberStream:
    """Huber's loss with threshold 1 at start + theta, one pass for each piece."""

    sample: Sample
    start: Vector

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:
        """Return the quadratic around theta; its sums are those of float64."""
        at, reach = self.start + floats(theta), float(width)
        matrix, vector = np.zeros((len(at), len(at))), np.zeros(len(at))
        for X, y in self.sample.blocks():
            residual = X @ at - y
            within = np.abs(residual) <= reach
            inlier = X[within]
            matrix += inlier.T @ inlier
            # the response from where theta starts, so that theta is small
            vector += (y[within] - inlier @ self.start) @ inlier
            vector -= reach * np.sign(residual[~within]) @ X[~within]
        return AffineGradient(matrix / reach, vector / reach).piece(theta, width)
