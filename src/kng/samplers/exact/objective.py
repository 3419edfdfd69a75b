"""Noise in the objective, then the lattice cell of its minimiser, decided without rounding.

    minimise  J(theta) = F(theta) + (gamma / 2) ||theta - c||^2 + u'theta   over R^d or an l1 ball

u consists of uniform numbers that are known to some bits. J is strongly convex, so the minimiser
moves by at most ||e||_2 / gamma when u moves by e. It is found for the middle of what is known of u
(`exact.piecewise_minimiser`), and if all points within that distance lie in one cell of the
lattice, the cell is the answer. Otherwise more bits are asked for.

Paper    Section 4.3, supplement.
Privacy  docs/proofs/mechanisms/objective.md. The answer is the cell that holds the minimiser for a
         real vector u: a function of an epsilon-private draw. No float decides anything.
Cost     One pass over the records a step for Huber, one altogether for least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from kng.core.bits import Bits
from kng.core.capabilities import BallDomain, LazyNorm, SmoothField
from kng.core.certificate import Certificate
from kng.core.enclosures import floor_ceil, precision, root_above
from kng.core.lazy_noise import GUARD, LazyNoise, noise_refusal
from kng.core.parts import Point
from kng.core.perturbed import PerturbedPlan
from kng.core.privacy import Assumption, Guarantee
from kng.core.regions import Theta
from kng.core.solve.piecewise import PerturbedLoss, descent, first_point


@dataclass(frozen=True, slots=True)
class Perturbed:
    """Draw the linear term, then minimise."""

    name: ClassVar[str] = "perturbed"

    def refusal(self, plan: PerturbedPlan) -> str | None:
        """Refuse norms whose noise cannot be refined."""
        refused = noise_refusal(plan.problem.norm, plan.problem.loss.dim)
        return None if refused is None else f"Objective perturbation {refused}"

    def certify(self, plan: PerturbedPlan) -> PerturbedPlan:
        """Promise the cell of the exact minimiser for noise in real numbers."""
        assumptions = (Assumption.RANDOM_BITS, Assumption.UNSEEN_CLOCK)
        return plan.certified(Certificate(self, Guarantee.EXACT, assumptions))

    def draw(self, plan: PerturbedPlan, field: SmoothField, bits: Bits) -> Point:
        """Return the lattice point nearest to the minimiser."""
        domain, noise = plan.problem.domain, LinearTerm(plan)
        radius = domain.l1_radius if isinstance(domain, BallDomain) else None
        theta: Theta | None = None
        while True:
            enclosed = noise.refined(bits)
            if enclosed is None:
                continue
            middle, error = enclosed
            blur = error / plan.ridge
            objective = PerturbedLoss(field, middle, plan.ridge, plan.centre, radius)
            theta = first_point(objective) if theta is None else theta
            for found, away in descent(objective, theta, noise.length):
                theta = found
                cell = plan.lattice.cell(theta, blur + away)
                if cell is not None:
                    return cell
                if away <= blur:  # only more bits of u can decide
                    break


class LinearTerm:
    """The vector u, with density proportional to exp(-rate ||u||_K), known to some bits."""

    def __init__(self, plan: PerturbedPlan) -> None:
        norm = plan.problem.norm
        assert isinstance(norm, LazyNorm)
        self._noise = LazyNoise(norm, plan.rate, plan.problem.loss.dim)

    @property
    def length(self) -> int:
        """How many bits of each uniform are known."""
        return self._noise.length

    def refined(self, bits: Bits) -> tuple[Theta, Fraction] | None:
        """Look at one more word of each uniform; return a middle and how far u can be from it.

        None while nothing bounds it yet. The distance is Euclidean.
        """
        enclosed = self._noise.refined(bits)
        if enclosed is None:
            return None
        with precision(self.length + GUARD):
            ends = [floor_ceil(value, self.length) for value in enclosed]
        return _middle(ends, self.length)


def _middle(ends: Sequence[tuple[int, int]], length: int) -> tuple[Theta, Fraction]:
    """Return the middle of a box given in multiples of 2**-length, and half of its diagonal."""
    scale = 2 ** (length + 1)
    middle = tuple(Fraction(low + high, scale) for low, high in ends)
    square = sum((high - low) ** 2 for low, high in ends)
    return middle, root_above(Fraction(square, scale**2))
