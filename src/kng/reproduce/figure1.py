"""Figure 1 of the paper: linear regression by every method, on the same records.

A sample is read once, into X'X and X'Y; every method with a squared loss works from these. Huber's
loss is read again for each step of its solver. Densities and noise are the library's plans, draws
those of its samplers; a release for each would read ten million records eleven times.

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

The bound is ||theta*||_1 + 2.45, rounded up. "Ours" means the plans and samplers of these
estimators; for a squared loss records are not rounded to integers here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kng.bases import Uniform
from kng.core.bits import Bits
from kng.core.bounds import bounds_of
from kng.core.capabilities import SmoothField
from kng.core.design import Design
from kng.core.encoding import encoding_of
from kng.core.exact import show
from kng.core.parts import Domain, Norm
from kng.core.perturbed import PerturbedPlan
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.quadratic import AffineGradient, Vector
from kng.domains import L1Ball, Whole
from kng.estimators.planned import planned
from kng.estimators.posed import Asked, posed
from kng.estimators.public_facts import Columns
from kng.losses import Huber, Linear, Squared
from kng.losses.fields.piecewise_field import PiecewiseField
from kng.mechanisms import KNG, Exponential, ObjectivePerturbation
from kng.norms import CoordinateSup, LInf
from kng.reproduce.algorithm1 import Sample, SampleMoments, Stream, public_bound
from kng.reproduce.constants import (
    EPSILON,
    LINEAR_SIZES,
    LINEAR_STEPS,
    LINEAR_TRUTH,
    REPLICATES,
    ZOOM_SIZES,
    B,
    kng_linear_derived,
    kng_linear_printed,
)
from kng.reproduce.experiment import Measured, Task, grid, method_bits
from kng.samplers.chains.metropolis import Metropolis
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
# Those of the paper, without chains: they take a moment at small n.
DRAWN = ("non-private", "exponential", "objective-perturbation", "kng-printed", "kng-derived")
CHAIN = Metropolis(LINEAR_STEPS)
TUNED = Metropolis(LINEAR_STEPS, tuning=LINEAR_STEPS // 2)


@dataclass(frozen=True, slots=True)
class Figure1:
    """Sizes, replicates, theta*, epsilon and methods; the paper's unless stated."""

    sizes: tuple[int, ...] = LINEAR_SIZES
    replicates: int = REPLICATES
    truth: tuple[float, ...] = LINEAR_TRUTH
    epsilon: Fraction = EPSILON
    methods: tuple[str, ...] = tuple(METHODS)
    name: str = "figure1"

    @property
    def title(self) -> str:
        """What tables and pictures are called."""
        numbers = f"d = {len(self.truth)}, ε = {show(self.epsilon)}"
        return f"Figure 1: linear regression, {numbers}"

    @property
    def labels(self) -> dict[str, str]:
        """Every method that is run, and what it is called."""
        return {method: METHODS[method] for method in self.methods}

    def tasks(self) -> list[Task]:
        """Return every replicate of every size."""
        return grid(self.sizes, self.replicates)

    def cost(self, task: Task) -> float:
        """Return about how many milliseconds: one pass for the squares, five for Huber."""
        huber = "ours-huber" in self.methods
        return 60 + task.n * (1 if huber else 0.2) / 700

    def measure(self, task: Task, seed: int, methods: Collection[str] | None = None) -> Measured:
        """Return each method's distance to theta*, and R."""
        key = (seed, 1, task.replicate)
        sample = Sample(self.truth, task.n, key)
        moments = sample.moments()
        problem = Paper(moments, self.epsilon)
        truth, sweeps = np.array(self.truth), CHAIN.sweeping(len(self.truth))
        full, half = self.epsilon, as_printed(self.epsilon)
        estimates: dict[str, Callable[[Bits], Vector]] = {
            "non-private": lambda _: problem.least_squares(),
            "exponential": problem.exponential,
            "objective-perturbation": problem.objective,
            "kng-printed": lambda bits: problem.kng(half, bits),
            "kng-derived": lambda bits: problem.kng(full, bits),
            "exponential-chain": lambda bits: problem.exponential_chain(CHAIN, bits),
            "kng-printed-chain": lambda bits: problem.kng_chain(CHAIN, half, bits),
            "kng-derived-chain": lambda bits: problem.kng_chain(CHAIN, full, bits),
            "kng-derived-chain-sweeps": lambda bits: problem.kng_chain(sweeps, full, bits),
            "kng-derived-chain-tuned": lambda bits: problem.kng_chain(TUNED, full, bits),
            "ours-default": lambda bits: default(sample, moments, full, bits),
            "ours-objective": lambda bits: tuned_objective(sample, moments, full, bits),
            "ours-huber": lambda bits: huber(sample, full, bits),
        }
        wanted = self.methods if methods is None else methods
        errors = {
            name: float(np.linalg.norm(estimate(method_bits((*key, task.n), name)) - truth))
            for name, estimate in estimates.items()
            if name in wanted
        }
        inside = float(np.abs(truth).sum() / moments.largest <= float(B))
        return Measured(errors, {"R": moments.largest, "truth inside": inside})


def zoom() -> Figure1:
    """Return the third plot that a note in the paper's source asks for: n = 100 to 5,000."""
    return Figure1(sizes=ZOOM_SIZES, methods=DRAWN, name="figure1-zoom")


def quick_zoom() -> Figure1:
    """Return a few samples of the same."""
    sizes = ZOOM_SIZES[::2]
    return Figure1(sizes=sizes, replicates=20, methods=DRAWN, name="figure1-quick-zoom")


def as_printed(epsilon: Fraction) -> Fraction:
    """Return the epsilon at which Theorem 3.1 gives the density that equation (1) prints."""
    return epsilon * kng_linear_printed(EPSILON, B) / kng_linear_derived(EPSILON, B)


def derived_rate() -> float:
    """Return the c of exp(-c ||sum||) that Theorem 3.1 gives for the sum of equation (1)."""
    return float(kng_linear_derived(EPSILON, B))


@dataclass(frozen=True)
class Paper:
    """The paper's methods on Y / R over ||theta||_1 <= B; estimates come back times R."""

    moments: SampleMoments
    epsilon: Fraction = EPSILON

    @property
    def field(self) -> AffineGradient:
        """The gradient of half the squared loss, A theta - b."""
        return AffineGradient(self.moments.gram, self.moments.products / self.moments.largest)

    @property
    def regression(self) -> Problem:
        """The library's problem for the paper's ball and norm."""
        return squares(self.moments, LInf(), L1Ball(B, dim=len(self.moments.products)))

    def least_squares(self) -> Vector:
        """Return the minimiser; R cancels."""
        return np.asarray(np.linalg.solve(self.moments.gram, self.moments.products))

    def kng(self, epsilon: Fraction, bits: Bits) -> Vector:
        """Return an exact draw; the printed density is the derived one at half of epsilon."""
        plan = KNG().plan(self.regression, epsilon)
        return self.moments.largest * affine_draw(plan, self.field, bits)

    def exponential(self, bits: Bits) -> Vector:
        """Return an exact draw of the exponential mechanism."""
        plan = Exponential().plan(self.regression, self.epsilon)
        return self.moments.largest * gaussian_draw(plan, self.field, bits)

    def objective(self, bits: Bits) -> Vector:
        """Return the minimiser of the perturbed objective, half of epsilon for the noise."""
        plan = ObjectivePerturbation(Fraction(1, 2)).plan(self.regression, self.epsilon)
        return self.moments.largest * minimised(plan, self.field, bits)

    def kng_chain(self, chain: Metropolis, epsilon: Fraction, bits: Bits) -> Vector:
        """Return where a chain for KNG ends."""
        return self._ended(chain, KNG().plan(self.regression, epsilon), bits)

    def exponential_chain(self, chain: Metropolis, bits: Bits) -> Vector:
        """Return where a chain for the exponential mechanism ends."""
        return self._ended(chain, Exponential().plan(self.regression, self.epsilon), bits)

    def _ended(self, chain: Metropolis, plan: DensityPlan, bits: Bits) -> Vector:
        end = chain.coefficients(chain.certify(plan), self.field, bits)
        return self.moments.largest * end


def squares(moments: SampleMoments, norm: Norm, domain: Domain) -> Problem:
    """Return the library's least squares for records of Algorithm 1."""
    d = len(moments.products)
    records = encoding_of(bounds_of(([-1] * d, [1] * d)), granularity=None, missing=None, bits=16)
    design = Design(records, True, None)
    unit = PrivacyUnit(ReplaceOne(moments.n), 1)
    return Problem(Linear(Squared()).over(design), norm, domain, records, design.lattice, unit)


def default(sample: Sample, moments: SampleMoments, epsilon: Fraction, bits: Bits) -> Vector:
    """Return what kng.LinearRegression(mechanism="kng") draws, within public bounds of Y."""
    bound, domain = public_bound(sample.truth), Whole(len(moments.products))
    plan = KNG().plan(squares(moments, CoordinateSup(), domain), epsilon)
    field = AffineGradient(moments.gram, moments.clipped / bound)
    return bound * affine_draw(plan, field, bits)


def tuned_objective(
    sample: Sample, moments: SampleMoments, epsilon: Fraction, bits: Bits
) -> Vector:
    """Return objective perturbation with a tuned split, within public bounds of Y."""
    bound, domain = public_bound(sample.truth), L1Ball(B, dim=len(moments.products))
    plan = ObjectivePerturbation().plan(squares(moments, LInf(), domain), epsilon)
    field = AffineGradient(moments.gram, moments.clipped / bound)
    return bound * minimised(plan, field, bits)


def huber(sample: Sample, epsilon: Fraction, bits: Bits) -> Vector:
    """Return what kng.HuberRegressor(threshold=1) draws; Y has no bound."""
    everything, width = Whole(base=Uniform()), len(sample.truth) - 1
    asked = Asked(bounds_X=(-1, 1))
    setting = posed(Linear(Huber(1)), everything, "smooth", asked, Columns(width))
    unit, norm = PrivacyUnit(ReplaceOne(sample.n), 1), LInf()
    problem = Problem(setting.loss, norm, setting.domain, setting.records, setting.answers, unit)
    plan = planned(ObjectivePerturbation(), problem, epsilon, "auto")
    for load in plan.loaders:
        load()
    assert isinstance(setting.loss, Linear)
    stream = Stream(sample, setting.records)
    return minimised(plan, PiecewiseField(stream, setting.loss.design, norm), bits)


def minimised(plan: PerturbedPlan, field: SmoothField, bits: Bits) -> Vector:
    """Return a draw of objective perturbation in standardised units."""
    return floats(plan.lattice.units(Perturbed().draw(plan, field, bits)))


def floats(theta: Sequence[Fraction]) -> Vector:
    """Return a point in float64."""
    return np.array([float(v) for v in theta])
