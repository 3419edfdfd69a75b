"""Figure 2 of the paper: median regression with two coefficients, on the same records.

    non-private            the minimiser of the check loss
    exponential-printed    exp(-eps/(4 max(tau, 1-tau) (1+B)) loss) on ||theta||_1 <= B
    exponential-derived    Proposition 2.2 for the same loss: twice the rate
    kng                    exp(-eps/(4 (1-tau) C_X) ||gradient||_inf); at tau = 1/2 the printed and
                           the derived constant agree
    ...-chain              the same laws by the paper's 1,000 steps, one coordinate at a time, with
                           a fixed reach; a step is a proposal for one coordinate
    ...-chain-sweeps       the same, where a step is a sweep over both coordinates
    ...-chain-tuned        1,000 proposals with a reach that adapts

The paper states no Theta for KNG, on which its density has a finite integral; it is taken to be the
ball of the rival, ||theta||_1 <= B = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.chain import Chain, Score
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
)
from kng.reproduce.experiment import Measured, Task, grid, method_bits
from kng.reproduce.plane import Leaves, gradient_score, loss_score
from kng.reproduce.simplex import quantile_regression

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
_CHAIN = Chain(QUANTILE_STEPS)
_SWEEPS = _CHAIN.sweeping(len(QUANTILE_TRUTH))
_TUNED = Chain(QUANTILE_STEPS, QUANTILE_STEPS // 2)


@dataclass(frozen=True, slots=True)
class Figure2:
    """Sizes and replicates; the paper's unless stated."""

    sizes: tuple[int, ...] = QUANTILE_SIZES
    replicates: int = REPLICATES
    name: str = "figure2"

    def tasks(self) -> list[Task]:
        """Return every replicate of every size."""
        return grid(self.sizes, self.replicates)

    def cost(self, task: Task) -> float:
        """Return about how many milliseconds."""
        return 10 + task.n / 80

    def measure(self, task: Task, seed: int, methods: Collection[str] = tuple(METHODS)) -> Measured:
        """Return each method's distance to theta*, and R."""
        key = (seed, 2, task.replicate)
        X, response = Sample(QUANTILE_TRUTH, task.n, key).records()
        largest = float(np.abs(response).max())
        y = response / largest
        gentle, steep = rates()
        kng = kng_rate()

        def exact(score: Score, rate: float, bits: Bits) -> Vector:
            return draw(score, X, y, rate, bits)

        def chained(chain: Chain, score: Score, rate: float, bits: Bits) -> Vector:
            return chain.check(score, X, y, rate, float(B), bits)

        estimates: dict[str, Callable[[Bits], Vector]] = {
            "non-private": lambda _: quantile_regression(X, y, float(TAU)),
            "exponential-printed": lambda bits: exact(loss_score, gentle, bits),
            "exponential-derived": lambda bits: exact(loss_score, steep, bits),
            "kng": lambda bits: exact(gradient_score, kng, bits),
            "exponential-printed-chain": lambda b: chained(_CHAIN, loss_score, gentle, b),
            "exponential-derived-chain": lambda b: chained(_CHAIN, loss_score, steep, b),
            "kng-chain": lambda b: chained(_CHAIN, gradient_score, kng, b),
            "kng-chain-sweeps": lambda b: chained(_SWEEPS, gradient_score, kng, b),
            "kng-chain-tuned": lambda b: chained(_TUNED, gradient_score, kng, b),
        }
        truth = np.array(QUANTILE_TRUTH)
        errors = {
            name: float(
                np.linalg.norm(largest * estimate(method_bits((*key, task.n), name)) - truth)
            )
            for name, estimate in estimates.items()
            if name in methods
        }
        inside = float(np.abs(truth).sum() / largest <= float(B))
        return Measured(errors, {"R": largest, "truth inside": inside})


def rates() -> tuple[float, float]:
    """Return the exponential mechanism's rates, printed and derived."""
    return (
        float(exponential_quantile_printed(EPSILON, TAU, B)),
        float(exponential_quantile_derived(EPSILON, TAU, B)),
    )


def kng_rate() -> float:
    """Return KNG's rate, on which print and theorem agree at tau = 1/2."""
    return float(kng_quantile_derived(EPSILON, TAU, C_X))


def draw(score: Score, X: Matrix, y: Vector, rate: float, bits: Bits) -> Vector:
    """Return an exact draw from exp(-rate score) on the ball."""
    return np.asarray(Leaves.grown(score, X, y, rate, float(B)).draw(bits, 1)[0])
