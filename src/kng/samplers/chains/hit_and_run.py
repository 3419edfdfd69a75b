"""Hit-and-run with slices of chords, for any score. Approximate, by name only.

From the current point a uniform direction is taken, because directions follow the narrow ridges on
which coordinate moves get stuck. A height under the density is drawn, and points of the chord are
tried, each outside the slice shortening the chord, until one has a density above that height:

    gamma(x + s v)  <=  gamma(x) - log(u)

Paper    none; offered beside the paper's chain, and beside exact draws where there are more
         coordinates than these reach.
Privacy  None is claimed: a chain of fixed length has no certified distance to its target.
Cost     Some twenty scores for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.boxes.covering import ShiftedField
from kng.core.parts import Field, Point
from kng.core.plan import Certificate, DensityPlan
from kng.core.privacy import Guarantee
from kng.core.regression import AffineField, CoefficientPlan, Vector
from kng.samplers.chains.chart import Chart
from kng.samplers.chains.target import CHAIN_ASSUMPTIONS

Array = NDArray[np.float64]

# A chord is this often shortened at most; it is then shorter than a step of any lattice here.
_TRIES = 128


class Room(Protocol):
    """Where a chain walks."""

    def exponent(self, x: Array) -> float:
        """Return gamma, so that the density is exp(-gamma); infinite outside."""
        ...

    def chord(self, x: Array, direction: Array) -> tuple[float, float]:
        """Return how far the room reaches from a point along a direction, at most."""
        ...


@dataclass(frozen=True, slots=True)
class HitAndRun:
    """A public number of steps from a point that no record decides.

    200 and 100 a coordinate on a lattice, 500 and 100 a coordinate where theta is real.
    """

    name: ClassVar[str] = "hit-and-run"

    def refusal(self, plan: DensityPlan | CoefficientPlan) -> str | None:  # noqa: ARG002
        """Return None: any score can be walked on."""
        return None

    @overload
    def certify(self, plan: DensityPlan) -> DensityPlan: ...

    @overload
    def certify(self, plan: CoefficientPlan) -> CoefficientPlan: ...

    def certify(self, plan: DensityPlan | CoefficientPlan) -> DensityPlan | CoefficientPlan:
        """Promise nothing but a number of steps."""
        return plan.certified(Certificate(self.name, Guarantee.APPROXIMATE, CHAIN_ASSUMPTIONS))

    @overload
    def draw(self, plan: DensityPlan, field: Field, bits: Bits) -> Point: ...

    @overload
    def draw(self, plan: CoefficientPlan, field: AffineField, bits: Bits) -> Vector: ...

    def draw(
        self, plan: DensityPlan | CoefficientPlan, field: Field | AffineField, bits: Bits
    ) -> Point | Vector:
        """Return where the chain stands after its steps; on a lattice, the point next to it."""
        if isinstance(plan, CoefficientPlan):
            assert isinstance(field, AffineField)
            chart = Chart(plan, field)
            d = len(field.vector)
            return chart.theta(walked(chart, np.zeros(d), 500 + 100 * d, bits))
        if isinstance(field, ShiftedField):
            field = field.shifted(bits)
        assert not isinstance(field, AffineField)
        cells = Cells(plan, field)
        home = np.array(plan.domain.home(), np.float64)
        return cells.point(walked(cells, home, 200 + 100 * len(home), bits))


def walked(room: Room, x: Array, steps: int, bits: Bits) -> Array:
    """Return where a chain stands that starts at a point inside."""
    gamma = room.exponent(x)
    for _ in range(steps):
        direction = _direction(bits, len(x))
        start, end = room.chord(x, direction)
        height = gamma - float(np.log(bits.uniforms(1)[0]))
        if not start < 0 < end:
            continue
        for u in bits.uniforms(_TRIES).tolist():
            step = start + u * (end - start)
            there = x + step * direction
            found = room.exponent(there)
            if found <= height:
                x, gamma = there, found
                break
            start, end = (step, end) if step < 0 else (start, step)
    return x


def _direction(bits: Bits, dim: int) -> Array:
    """Return a uniform direction, not of length 1."""
    angles = 2 * np.pi * bits.uniforms(dim)
    return np.asarray(np.sqrt(-2 * np.log(bits.uniforms(dim))) * np.cos(angles))


class Cells:
    """The cells of the lattice points of a domain; a score is that of the cell's point."""

    def __init__(self, plan: DensityPlan, field: Field) -> None:
        self._plan, self._field = plan, field
        self._first = np.array(plan.domain.first, np.float64)
        self._last = np.array(plan.domain.last, np.float64)

    def point(self, x: Array) -> Point:
        """Return the lattice point of the cell."""
        nearest = np.clip(np.rint(x), self._first, self._last)
        return tuple(int(v) for v in nearest.tolist())

    def exponent(self, x: Array) -> float:
        """Return the exponent at the cell's point."""
        point = self.point(x)
        if not self._plan.domain.contains(point):
            return np.inf
        return float(self._plan.exponent(point, self._field.score(point)))

    def chord(self, x: Array, direction: Array) -> tuple[float, float]:
        """Return how far it is to the walls of the box around the domain."""
        with np.errstate(divide="ignore", invalid="ignore"):
            low = (self._first - 0.5 - x) / direction
            high = (self._last + 0.5 - x) / direction
        # A wall along the direction is not met; no comparison with what is not a number holds.
        return float(np.minimum(low, high).max()), float(np.maximum(low, high).min())
