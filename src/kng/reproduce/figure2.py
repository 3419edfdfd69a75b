"""Figure 2 of the paper: median regression with two coefficients, on the same records.

    non-private            the minimiser of the check loss
    exponential-printed    exp(-eps/(4 max(tau, 1-tau) (1+B)) loss) on ||theta||_1 <= B
    exponential-derived    Proposition 2.2 for the same loss: twice the rate
    kng                    exp(-eps/(4 max(tau, 1-tau) C_X) ||gradient||_inf), by Theorem 3.1
    kng-printed            equation (2), eps/(4 (1-tau) C_X); at tau = 1/2 the same, and left out
    ...-chain              the same laws by the paper's 1,000 steps, one coordinate at a time, with
                           a fixed reach; a step is a proposal for one coordinate
    ...-chain-sweeps       the same, where a step is a sweep over all coordinates
    ...-chain-tuned        1,000 proposals with a reach that adapts

All are public calls: `kng.KNG` and `kng.Exponential` over `kng.losses.Linear(kng.losses.Pinball)`
and `kng.domains.L1Ball`; chains are the library's own, for the plans of these calls.

The paper states no Theta for KNG, on which its density has a finite integral; it is taken to be the
ball of the rival, ||theta||_1 <= B = 1. For other tau than 1/2, which the paper does not run, the
truth is theta* with the quantile of the error added to its intercept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from kng.core.bits import Bits
from kng.core.exact import show
from kng.core.quadratic import Vector
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.constants import (
    C_X,
    EPSILON,
    QUANTILE_SIZES,
    QUANTILE_STEPS,
    QUANTILE_TRUTH,
    REPLICATES,
    TAU,
    B,
    exponential_quantile_derived,
    exponential_quantile_printed,
    kng_quantile_derived,
    kng_quantile_printed,
)
from kng.reproduce.experiment import Measured, Task, grid, method_bits
from kng.reproduce.planes import Planes
from kng.reproduce.simplex import quantile_regression
from kng.samplers.chains.metropolis import Metropolis

METHODS = {
    "non-private": "non-private",
    "exponential-printed": "exponential mechanism as printed",
    "exponential-derived": "exponential mechanism as derived",
    "kng": "KNG",
    "exponential-printed-chain": "exponential mechanism as printed, chain",
    "exponential-derived-chain": "exponential mechanism as derived, chain",
    "kng-chain": "KNG, chain",
    "kng-chain-sweeps": "KNG, chain of sweeps",
    "kng-chain-tuned": "KNG, tuned chain",
}
# Where print and theorem differ: for tau > 1/2 what is printed is not private.
PRINTED = {"kng-printed": "KNG as printed, ε/4(1-τ)"}
CHAIN = Metropolis(QUANTILE_STEPS)
TUNED = Metropolis(QUANTILE_STEPS, tuning=QUANTILE_STEPS // 2)


@dataclass(frozen=True, slots=True)
class Figure2:
    """Sizes, replicates, theta*, tau and epsilon; the paper's unless stated."""

    sizes: tuple[int, ...] = QUANTILE_SIZES
    replicates: int = REPLICATES
    truth: tuple[float, ...] = QUANTILE_TRUTH
    tau: Fraction = TAU
    epsilon: Fraction = EPSILON
    name: str = "figure2"

    @property
    def title(self) -> str:
        """What tables and pictures are called."""
        numbers = f"d = {len(self.truth)}, ε = {show(self.epsilon)}"
        return f"Figure 2: quantile regression, τ = {show(self.tau)}, {numbers}"

    @property
    def labels(self) -> dict[str, str]:
        """Every method that is run, and what it is called."""
        return METHODS if self.tau == TAU else {**METHODS, **PRINTED}

    def tasks(self) -> list[Task]:
        """Return every replicate of every size."""
        return grid(self.sizes, self.replicates)

    def cost(self, task: Task) -> float:
        """Return about how many milliseconds."""
        return 400 + task.n / 60

    def measure(self, task: Task, seed: int, methods: Collection[str] | None = None) -> Measured:
        """Return each method's distance to the truth, and R."""
        key = (seed, 2, task.replicate)
        X, response = Sample(self.truth, task.n, key).records()
        largest = float(np.abs(response).max())
        planes = Planes(X, response / largest, self.tau)
        sweeps, full = CHAIN.sweeping(len(self.truth)), self.epsilon
        gentle = exponential_as_printed(full, self.tau)
        steep = kng_as_printed(full, self.tau)
        estimates: dict[str, Callable[[Bits], Vector]] = {
            "non-private": lambda _: quantile_regression(planes.X, planes.y, float(self.tau)),
            "exponential-printed": lambda bits: planes.exponential(gentle, bits),
            "exponential-derived": lambda bits: planes.exponential(full, bits),
            "kng": lambda bits: planes.kng(full, bits),
            "exponential-printed-chain": lambda b: planes.exponential_chain(CHAIN, gentle, b),
            "exponential-derived-chain": lambda b: planes.exponential_chain(CHAIN, full, b),
            "kng-chain": lambda bits: planes.kng_chain(CHAIN, full, bits),
            "kng-chain-sweeps": lambda bits: planes.kng_chain(sweeps, full, bits),
            "kng-chain-tuned": lambda bits: planes.kng_chain(TUNED, full, bits),
            "kng-printed": lambda bits: planes.kng(steep, bits),
        }
        truth, wanted = self.target(), self.labels if methods is None else methods
        errors = {
            name: float(
                np.linalg.norm(largest * estimate(method_bits((*key, task.n), name)) - truth)
            )
            for name, estimate in estimates.items()
            if name in wanted
        }
        inside = float(np.abs(truth).sum() / largest <= float(B))
        return Measured(errors, {"R": largest, "truth inside": inside})

    def target(self) -> Vector:
        """Return theta*_tau: the errors' quantile raises the intercept."""
        first, *rest = self.truth
        raised = 0.0 if self.tau == TAU else NormalDist().inv_cdf(float(self.tau))
        return np.array([first + raised, *rest])


def exponential_as_printed(epsilon: Fraction, tau: Fraction) -> Fraction:
    """Return the epsilon at which Proposition 2.2 gives the density that Section 4.5.1 prints."""
    printed, derived = exponential_quantile_printed, exponential_quantile_derived
    return epsilon * printed(EPSILON, tau, B) / derived(EPSILON, tau, B)


def kng_as_printed(epsilon: Fraction, tau: Fraction) -> Fraction:
    """Return the epsilon at which Theorem 3.1 gives the density that equation (2) prints."""
    printed, derived = kng_quantile_printed, kng_quantile_derived
    return epsilon * printed(EPSILON, tau, C_X) / derived(EPSILON, tau, C_X)
