"""The paper's chain: one coordinate at a time. Approximate, by name only.

A proposal moves one coordinate, in turn, by a uniform step within a reach. The reach is the same
throughout, or tuned during the first proposals: a coordinate's own grows by 1.3 when its proposal
is taken and shrinks when it is not, so that 44 % are.

Paper    Section 4.3: 10,000 steps of a one-at-a-time Metropolis chain, its start, its reach and the
         meaning of a step not stated. Ours starts at 0 or inside a domain without it, which no
         record decides, and moves by up to 0.1; a step is a proposal, or a sweep (`sweeping`).
Privacy  None is claimed: a chain of fixed length has no certified distance to its target. With
         the sup norm two gradient coordinates tie along a narrow ridge that coordinate moves
         cannot follow, so it may not have arrived at all.
Cost     d a proposal; on an l1 ball compiled, a microsecond.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from kng.core.bits import Bits
from kng.core.boxes.covering import ShiftedField
from kng.core.capabilities import AffineField, BallDomain, RealNorm
from kng.core.certificate import Certificate
from kng.core.parts import Field, Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import Guarantee
from kng.core.quadratic import Vector
from kng.core.shapes import BoxShape
from kng.samplers.chains.target import CHAIN_ASSUMPTIONS, Cells, Target, walk_of

# A reach is steady where 44 % of proposals are taken, which suits a normal law on a line.
_GROW = 1.3
_SHRINK = _GROW ** (-0.44 / 0.56)


@dataclass(frozen=True, slots=True)
class Metropolis:
    """Random steps along one coordinate after the other, accepted by the density's ratio.

    ``steps`` counts proposals, ``reach`` is in the units of theta, and the reach is tuned during
    the first ``tuning`` proposals.
    """

    steps: int = 10_000
    reach: float = 0.1
    tuning: int = 0
    name: ClassVar[str] = "metropolis"

    def sweeping(self, dim: int) -> Metropolis:
        """Return the chain of as many sweeps over all coordinates."""
        return replace(self, steps=self.steps * dim, tuning=self.tuning * dim)

    def refusal(self, plan: DensityPlan) -> str | None:
        """Refuse norms whose value it cannot compute in float64."""
        norm = plan.problem.norm
        if plan.weighs == "value" or isinstance(norm, RealNorm):
            return None
        return f"The Metropolis chain cannot compute the norm {described(norm)}."

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise nothing but a number of steps."""
        if _on_a_ball(plan):
            from kng.samplers.chains.ball_walks import load_walks

            load_walks()
        return plan.certified(Certificate(self, Guarantee.APPROXIMATE, CHAIN_ASSUMPTIONS))

    def draw(self, plan: DensityPlan, field: Field | AffineField, bits: Bits) -> Point:
        """Return the lattice point nearest to where the chain stands after its steps."""
        luck = self._luck(bits)
        if isinstance(field, ShiftedField):
            field = field.shifted(bits)
        walk = walk_of(plan, cast("Field", field))
        return walk.nearest(self._end(walk, *luck))

    def coefficients(self, plan: DensityPlan, field: AffineField, bits: Bits) -> Vector:
        """Return where the chain stands after its steps, in real numbers."""
        return self._end(Target(plan, field), *self._luck(bits))

    def _luck(self, bits: Bits) -> tuple[Vector, Vector]:
        return bits.uniforms(self.steps), bits.uniforms(self.steps)

    def _end(self, walk: Target | Cells, moves: Vector, coins: Vector) -> Vector:
        if isinstance(walk, Target) and _on_a_ball(walk.plan):
            from kng.samplers.chains.ball_walks import walked  # loaded by `certify`

            return walked(walk, self.reach, (self.tuning, _GROW, _SHRINK), moves, coins)
        return self.walked(walk, moves, coins)

    def walked(self, walk: Target | Cells, moves: Vector, coins: Vector) -> Vector:
        """Return where uniform numbers lead the chain from home, whatever the density is."""
        theta, reach = walk.home, self.reach * walk.unit
        current, thresholds = walk.log_density(theta), np.log(coins)
        for i in range(self.steps):
            j = i % len(theta)
            trial = theta.copy()
            trial[j] += reach[j] * (2 * moves[i] - 1)
            proposed = walk.log_density(trial) if walk.holds(trial) else -np.inf
            taken = thresholds[i] < proposed - current
            if taken:
                theta, current = trial, proposed
            if i < self.tuning:
                reach[j] *= _GROW if taken else _SHRINK
        return theta


def _on_a_ball(plan: DensityPlan) -> bool:
    """Tell whether the compiled walks serve: real space, an l1 ball, a sup norm or a value."""
    domain = plan.problem.domain
    return (
        "space" in plan.offers
        and isinstance(domain, BallDomain)
        and domain.base.even
        and (plan.weighs == "value" or plan.problem.norm.shape == BoxShape())
        and plan.steady is not None
        and plan.ridge == 0
    )
