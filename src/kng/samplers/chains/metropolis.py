"""The paper's chain: one coordinate at a time. Approximate, by name only.

Paper    Section 4.3: 10,000 steps of a one-at-a-time Metropolis chain, its start and its step
         not stated. Ours starts at 0, or inside a domain without it, which no record decides, and
         moves by up to 0.1.
Privacy  None is claimed: a chain of fixed length has no certified distance to its target. With
         the sup norm two gradient coordinates tie along a narrow ridge that coordinate moves
         cannot follow, so it may not have arrived at all.
Cost     d a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kng.core.bits import Bits
from kng.core.capabilities import AffineField, RealNorm
from kng.core.certificate import Certificate
from kng.core.parts import Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import Guarantee
from kng.samplers.chains.target import CHAIN_ASSUMPTIONS, Target


@dataclass(frozen=True, slots=True)
class Metropolis:
    """Random steps along one coordinate after the other, accepted by the density's ratio."""

    steps: int = 10_000
    reach: float = 0.1
    name: ClassVar[str] = "metropolis"

    def refusal(self, plan: DensityPlan) -> str | None:
        """Refuse norms whose value it cannot compute in float64."""
        norm = plan.problem.norm
        if plan.weighs == "value" or isinstance(norm, RealNorm):
            return None
        return f"The Metropolis chain cannot compute the norm {described(norm)}."

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise nothing but a number of steps."""
        return plan.certified(Certificate(self, Guarantee.APPROXIMATE, CHAIN_ASSUMPTIONS))

    def draw(self, plan: DensityPlan, field: AffineField, bits: Bits) -> Point:
        """Return the lattice point nearest to where the chain stands after its steps."""
        target = Target(plan, field)
        d = len(field.vector)
        theta = target.home
        current = target.log_density(theta)
        moves = self.reach * (2 * bits.uniforms(self.steps) - 1)
        thresholds = np.log(bits.uniforms(self.steps))
        for i in range(self.steps):
            trial = theta.copy()
            trial[i % d] += moves[i]
            proposed = target.log_density(trial)
            if thresholds[i] < proposed - current:
                theta, current = trial, proposed
        return plan.nearest(theta)
