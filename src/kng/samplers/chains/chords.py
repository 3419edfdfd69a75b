"""Hit-and-run for planes, with exact draws on the chord. Approximate, by name only.

Along a chord theta + s v every record changes sides once, at s = (y - x'theta) / x'v. Between these
points the gradient does not change and the loss is a line in s, so that the target cut to the chord
is constant, or exponential, on pieces that are known: it is drawn from exactly.

Paper    none; offered beside exact draws, where there are more coordinates than these reach.
Privacy  None is claimed: a chain of fixed length has no certified distance to its target.
Cost     Sorting the records, for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.plan import Certificate, DensityPlan
from kng.core.privacy import Guarantee
from kng.core.protocols import PlaneField, Point
from kng.samplers.chains.target import CHAIN_ASSUMPTIONS

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chords:
    """A public number of steps from a point that no record decides: 200 and 100 a coordinate."""

    name: ClassVar[str] = "hit-and-run"

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise nothing but a number of steps."""
        return plan.certified(Certificate(self.name, Guarantee.APPROXIMATE, CHAIN_ASSUMPTIONS))

    def draw(self, plan: DensityPlan, field: PlaneField, bits: Bits) -> Point:
        """Return the lattice point nearest to where the chain stands after its steps."""
        domain = plan.domain
        walls = domain.inequalities()
        rows = np.array([row for row, _ in walls], np.float64)
        limits = np.array([float(limit) for _, limit in walls])
        chain = _Chain(plan, field.shifted(bits), bits)
        theta = np.array([float(k) for k in domain.home()])
        for _ in range(200 + 100 * domain.dim):
            angles = 2 * np.pi * bits.uniforms(domain.dim)
            direction = np.sqrt(-2 * np.log(bits.uniforms(domain.dim))) * np.cos(angles)
            slopes, room = rows @ direction, limits - rows @ theta
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = room / slopes
            low = np.max(ends, initial=-np.inf, where=slopes < 0)
            high = np.min(ends, initial=np.inf, where=slopes > 0)
            if low < high:
                theta = theta + chain.along(theta, direction, float(low), float(high)) * direction
        nearest = tuple(int(v) for v in np.rint(theta))
        return nearest if domain.contains(nearest) else domain.home()


class _Chain:
    """The target on chords."""

    def __init__(self, plan: DensityPlan, field: PlaneField, bits: Bits) -> None:
        self._rows, self._response = field.rows.astype(np.float64), field.response
        self._field, self._bits = field, bits
        self._p, self._q = float(field.tau.numerator), float(field.tau.denominator)
        rate = float(plan.exponent(plan.domain.first, field.unit))
        self._rate, self._totals = rate, self._rows.sum(axis=0)

    def along(self, theta: Array, direction: Array, low: float, high: float) -> float:
        """Return how far to go between two ends."""
        ahead, speed = self._rows @ theta - self._response, self._rows @ direction
        with np.errstate(divide="ignore", invalid="ignore"):
            turns = -ahead / speed
        inside = (turns > low) & (turns < high)
        order = np.argsort(turns[inside])
        starts = np.concatenate([[low], turns[inside][order]])
        lengths = np.diff([*starts, high])
        # The records that count just after the low end, and those that join or leave.
        counts = np.where(np.isfinite(turns) & (turns <= low), speed > 0, ahead >= 0)
        counts = np.where(inside | (turns >= high), speed < 0, counts)
        joins = np.sign(speed[inside][order])[:, None] * self._rows[inside][order]
        first = self._rows[counts].sum(axis=0)
        counted = np.cumsum(np.concatenate([first[None, :], joins]), axis=0)
        gradient = self._q * counted - self._p * self._totals
        if self._field.weighed == "value":
            slopes = self._rate * (gradient @ direction)
            values = np.concatenate([[0.0], np.cumsum(slopes * lengths)[:-1]])
            return self._exponential(starts, lengths, values, slopes)
        sizes = np.abs(gradient)
        rest = sizes[:, 1:].max(axis=1, initial=0.0)
        slope = float(self._field.slope)
        norms = sizes[:, 0] + slope * np.maximum(rest - sizes[:, 0], 0.0)
        return self._exponential(starts, lengths, self._rate * norms, np.zeros(len(norms)))

    def _exponential(self, starts: Array, lengths: Array, values: Array, slopes: Array) -> float:
        """Return a draw from exp(-value - slope s) on pieces."""
        drops = slopes * lengths
        size = np.maximum(np.abs(drops), 1e-12)
        with np.errstate(divide="ignore"):
            masses = np.log(lengths) - values + np.log(-np.expm1(-size) / size)
        masses += np.maximum(-drops, 0.0)
        cumulative = np.cumsum(np.exp(masses - masses.max()))
        u, v = self._bits.uniforms(2)
        i = min(int(np.searchsorted(cumulative, u * cumulative[-1])), len(lengths) - 1)
        drop = float(drops[i])
        if abs(drop) < 1e-12:
            share = float(v)
        else:  # from the high end of the piece if the density rises
            share = float(-np.log1p(v * np.expm1(-abs(drop))) / abs(drop))
            share = share if drop > 0 else 1.0 - share
        return float(starts[i] + share * lengths[i])
