"""Hit-and-run with slices of chords, for any field. Approximate, by name only.

From the current point a uniform direction is taken. A height under the density is drawn, and points
of the chord are tried, each outside the slice shortening the chord, until one has a density above
that height. Directions follow the narrow ridges on which coordinate moves get stuck.

Paper    none; offered beside exact draws, where there are more coordinates than these reach.
Privacy  None is claimed: a chain of fixed length has no certified distance to its target.
Cost     Some twenty scores for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kng.core.bits import Bits
from kng.core.boxes.covering import ShiftedField
from kng.core.capabilities import RealNorm
from kng.core.certificate import Certificate
from kng.core.parts import Field, Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import Guarantee
from kng.core.quadratic import Vector
from kng.samplers.chains.target import CHAIN_ASSUMPTIONS, Cells, Target, walk_of

# A chord is this often shortened at most; it is then shorter than a step of any lattice here.
_TRIES = 128


@dataclass(frozen=True, slots=True)
class HitAndRun:
    """A public number of steps from a point that no record decides: 400 and 100 a coordinate."""

    name: ClassVar[str] = "hit-and-run"

    def refusal(self, plan: DensityPlan) -> str | None:
        """Refuse norms that a density on real space cannot be computed in."""
        norm = plan.problem.norm
        if "space" not in plan.offers or plan.weighs == "value" or isinstance(norm, RealNorm):
            return None
        return f"The chain cannot compute the norm {described(norm)} in float64."

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise nothing but a number of steps."""
        return plan.certified(Certificate(self, Guarantee.APPROXIMATE, CHAIN_ASSUMPTIONS))

    def draw(self, plan: DensityPlan, field: Field, bits: Bits) -> Point:
        """Return the lattice point nearest to where the chain stands after its steps."""
        if isinstance(field, ShiftedField):
            field = field.shifted(bits)
        walk = walk_of(plan, field)
        theta = walk.home
        height = walk.log_density(theta)
        for _ in range(400 + 100 * len(theta)):
            theta, height = _step(walk, theta, height, bits)
        return walk.nearest(theta)


def _step(walk: Target | Cells, theta: Vector, height: float, bits: Bits) -> tuple[Vector, float]:
    """Draw a direction and a height, then a point of the slice on the chord."""
    dim = len(theta)
    angles = 2 * np.pi * bits.uniforms(dim)
    direction = np.sqrt(-2 * np.log(bits.uniforms(dim))) * np.cos(angles)
    ends = np.sort([(walk.low - theta) / direction, (walk.high - theta) / direction], axis=0)
    start, end = float(ends[0].max()), float(ends[1].min())
    least = height + float(np.log(bits.uniforms(1)[0]))
    for u in bits.uniforms(_TRIES):
        step = start + float(u) * (end - start)
        there = theta + step * direction
        found = walk.log_density(there)
        if found >= least:
            return there, found
        start, end = (step, end) if step < 0 else (start, step)
    return theta, height
