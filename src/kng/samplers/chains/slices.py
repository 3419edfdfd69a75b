"""Hit-and-run with slices of chords. Approximate, by name only.

From the current point a uniform direction is taken. A height under the density is drawn, and points
of the chord are tried, each outside the slice shortening the chord, until one has a density above
that height. Any score can be walked on so; it is that of the nearest lattice point.

Paper    none; offered beside exact draws, where there are more coordinates than these reach.
Privacy  None is claimed: a chain of fixed length has no certified distance to its target.
Cost     Some twenty scores for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kng.core.bits import Bits
from kng.core.plan import Certificate, DensityPlan
from kng.core.privacy import Guarantee
from kng.core.protocols import CurvedField, Point
from kng.samplers.chains.target import CHAIN_ASSUMPTIONS

# A chord is this often shortened at most; it is then shorter than a step of any lattice here.
_TRIES = 128


@dataclass(frozen=True, slots=True)
class Slices:
    """A public number of steps from a point that no record decides: 200 and 100 a coordinate."""

    name: ClassVar[str] = "hit-and-run"

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise nothing but a number of steps."""
        return plan.certified(Certificate(self.name, Guarantee.APPROXIMATE, CHAIN_ASSUMPTIONS))

    def draw(self, plan: DensityPlan, field: CurvedField, bits: Bits) -> Point:
        """Return the lattice point nearest to where the chain stands after its steps."""
        domain = plan.domain
        rate = float(plan.exponent(domain.first, Fraction(1)))
        # The chain walks on the cells of lattice points.
        low = np.array([float(k) for k in domain.first]) - 0.5
        high = np.array([float(k) for k in domain.last]) + 0.5
        theta = np.array([float(k) for k in domain.home()])
        gamma = rate * float(field.score(domain.home()))
        for _ in range(200 + 100 * domain.dim):
            angles = 2 * np.pi * bits.uniforms(domain.dim)
            direction = np.sqrt(-2 * np.log(bits.uniforms(domain.dim))) * np.cos(angles)
            ends = np.sort([(low - theta) / direction, (high - theta) / direction], axis=0)
            start, end = float(ends[0].max()), float(ends[1].min())
            height = gamma - float(np.log(bits.uniforms(1)[0]))
            for u in bits.uniforms(_TRIES):
                step = start + float(u) * (end - start)
                there = np.clip(np.rint(theta + step * direction), low + 0.5, high - 0.5)
                found = rate * float(field.score(tuple(int(v) for v in there)))
                if found <= height:
                    theta, gamma = theta + step * direction, found
                    break
                start, end = (step, end) if step < 0 else (start, step)
        nearest = np.clip(np.rint(theta), low + 0.5, high - 0.5)
        return tuple(int(v) for v in nearest)
