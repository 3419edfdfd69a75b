"""Hit-and-run with exact draws on the chord. Approximate, by name only.

From the current point a uniform direction is taken, and the next point is drawn from the target
cut to the chord in that direction. Directions follow the narrow ridges on which coordinate moves
get stuck.

On the chord of an l1 ball the bound exp(-rate ||u||_inf / s) of the affine sampler's chart is
piecewise exponential, because u is piecewise linear: it is drawn from exactly, and thinned to the
target. The exponential mechanism's chord is a Gaussian, drawn by inversion.

Paper    none; offered beside the paper's chain.
Privacy  None is claimed: a chain of fixed length has no certified distance to its target.
Cost     About d^2 a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from kng.core.bits import Bits
from kng.core.errors import IncompatibleParts
from kng.core.plan import Certificate
from kng.core.privacy import Guarantee
from kng.core.protocols import BoxNorm
from kng.core.regression import AffineField, BallDomain, CoefficientPlan, Matrix, Vector
from kng.samplers.chains.target import CHAIN_ASSUMPTIONS, Target


@dataclass(frozen=True, slots=True)
class HitAndRun:
    """A public number of steps from 0: 500 and 100 for each coordinate."""

    name: ClassVar[str] = "hit-and-run"

    def certify(self, plan: CoefficientPlan) -> CoefficientPlan:
        """Promise nothing but a number of steps."""
        if plan.score == "gradient" and not isinstance(plan.problem.norm, BoxNorm):
            raise IncompatibleParts(
                "Hit-and-run draws chords for sup norms; use norm='auto' or 'linf', or "
                "sampler='metropolis'."
            )
        return plan.certified(Certificate(self.name, Guarantee.APPROXIMATE, CHAIN_ASSUMPTIONS))

    def draw(self, plan: CoefficientPlan, field: AffineField, bits: Bits) -> Vector:
        """Return where the chain stands after its steps."""
        chart = _Chart(plan, field)
        d = len(field.vector)
        phi = np.zeros(d)
        for _ in range(500 + 100 * d):
            direction = _direction(bits, d)
            phi = phi + chart.chord_draw(phi, direction, bits) * direction
        return chart.theta(phi)


class _Chart:
    """An l1 ball on which the target's bound is piecewise log-linear; see `real.affine`."""

    def __init__(self, plan: CoefficientPlan, field: AffineField) -> None:
        self.plan, self.field = plan, field
        self.matrix: Matrix = field.matrix + float(plan.ridge) * np.eye(len(field.vector))
        domain = plan.problem.domain
        self.flat = isinstance(domain, BallDomain)
        self.radius = float(domain.radius) if isinstance(domain, BallDomain) else 1.0
        self.target = Target(plan, field)

    def theta(self, phi: Vector) -> Vector:
        """Return the coefficients of a point of the chart."""
        return phi if self.flat else phi / (1 - np.abs(phi).sum())

    def chord_draw(self, phi: Vector, direction: Vector, bits: Bits) -> float:
        """Return how far to go along the direction."""
        kinks = self._kinks(phi, direction)
        if self.plan.score == "value":
            return self._gaussian(phi, direction, kinks[0], kinks[-1], bits)
        starts, values, slopes = self._pieces(phi, direction, kinks)
        lengths = np.diff(starts)
        drops = slopes * lengths  # the exponent falls by this along a piece
        # log of the integral of exp(-value - slope t) over the piece; no exp that could overflow
        size = np.maximum(np.abs(drops), 1e-12)
        shares = np.log(-np.expm1(-size) / size) + np.maximum(-drops, 0.0)
        with np.errstate(divide="ignore"):  # kinks that coincide leave pieces of length 0
            masses = np.log(lengths) - values + shares
        cumulative = np.cumsum(np.exp(masses - masses.max()))
        for _ in range(10_000):
            u, v, w = bits.uniforms(3)
            i = int(np.searchsorted(cumulative, u * cumulative[-1]))
            i = min(i, len(lengths) - 1)
            t = _exponential_cut(float(slopes[i]), float(lengths[i]), v)
            at = float(starts[i]) + t
            bound = -(values[i] + slopes[i] * t)
            if np.log(w) < self._log_target(phi + at * direction) - bound:
                return at
        return 0.0

    def _log_target(self, phi: Vector) -> float:
        """Return the log density in the chart, whose base measure is uniform."""
        if np.abs(phi).sum() >= self.radius:
            return -np.inf
        theta = self.theta(phi)
        log_density = self.target.log_density(theta)
        if self.flat:
            return log_density
        return log_density + (len(theta) + 1) * float(np.log1p(np.abs(theta).sum()))

    def _kinks(self, phi: Vector, direction: Vector) -> Vector:
        """Return where the chord enters, changes a sign, and leaves."""
        turns = np.sort(-phi / direction)

        def leave(sign: float) -> float:
            # ||phi + t direction||_1 is convex: walk outwards until the radius is passed
            outward = np.sort(sign * turns)
            outward = outward[outward > 0]
            t, size = 0.0, float(np.abs(phi).sum())
            for turn in [*outward, np.inf]:
                middle = t + 1.0 if np.isinf(turn) else (t + turn) / 2
                slope = float(sign * direction @ np.sign(phi + sign * middle * direction))
                if slope > 0 and t + (self.radius - size) / slope <= turn:
                    return t + (self.radius - size) / slope
                size += slope * (turn - t)
                t = float(turn)
            return t

        low, high = -leave(-1.0), leave(1.0)
        inside = turns[(turns > low) & (turns < high)]
        return np.array([low, *inside, high])

    def _pieces(
        self, phi: Vector, direction: Vector, kinks: Vector
    ) -> tuple[Vector, Vector, Vector]:
        """Return piece starts (and the end), and value and slope of the bound's exponent."""
        factor = self.plan.rate / self.plan.scale.bound
        starts, values, slopes = [], [], []
        for a, b in pairwise(kinks):
            signs = np.sign(phi + (a + b) / 2 * direction)
            tilt = 0.0 if self.flat else self.field.vector
            rate = self.matrix @ direction + tilt * float(signs @ direction)
            at = self.matrix @ (phi + a * direction) - self.field.vector
            if not self.flat:
                at = at + self.field.vector * float(np.abs(phi + a * direction).sum())
            line_values = np.concatenate([at, -at])
            line_slopes = np.concatenate([rate, -rate])
            t = 0.0
            while True:
                heights = line_values + t * line_slopes
                top = heights.max()
                tied = heights >= top - 1e-12 * max(1.0, abs(top))
                i = int(np.flatnonzero(tied)[np.argmax(line_slopes[tied])])
                starts.append(a + t)
                values.append(factor * float(heights[i]))
                slopes.append(factor * float(line_slopes[i]))
                steeper = line_slopes > line_slopes[i]
                if not steeper.any():
                    break
                gaps = (heights[i] - heights[steeper]) / (line_slopes[steeper] - line_slopes[i])
                t += max(float(gaps.min()), 1e-15 * (b - a))
                if t >= b - a:
                    break
        return np.array([*starts, kinks[-1]]), np.array(values), np.array(slopes)

    def _gaussian(
        self, phi: Vector, direction: Vector, low: float, high: float, bits: Bits
    ) -> float:
        """Return a draw of the Gaussian that the quadratic loss makes of the chord."""
        factor = self.plan.rate / self.plan.scale.bound
        curvature = factor * float(direction @ self.matrix @ direction)
        slope = factor * float(direction @ (self.matrix @ phi - self.field.vector))
        if curvature * (high - low) ** 2 < 1e-12:
            return low + _exponential_cut(slope, high - low, bits.uniforms(1)[0])
        spread = 1 / np.sqrt(curvature)
        middle = -slope / curvature
        a, b = (low - middle) / spread, (high - middle) / spread
        mirrored = a > 0  # the far tail is computed on the side where it is not rounded away
        if mirrored:
            a, b = -b, -a
        logs = log_ndtr(np.array([a, b]))
        u = bits.uniforms(1)[0]
        log_p = logs[1] + np.log(u + (1 - u) * np.exp(logs[0] - logs[1]))
        z = float(np.clip(ndtri_exp(log_p), a, b))
        return float(np.clip(middle + spread * (-z if mirrored else z), low, high))


def _exponential_cut(slope: float, length: float, u: float) -> float:
    """Return a draw from the density exp(-slope t) on [0, length], by inversion."""
    drop = slope * length
    if abs(drop) < 1e-12:
        return u * length
    if drop < 0:
        return length - _exponential_cut(-slope, length, u)
    return float(-np.log1p(u * np.expm1(-drop)) / slope)


def _direction(bits: Bits, dim: int) -> Vector:
    """Return a uniform direction."""
    radius = np.sqrt(-2 * np.log(bits.uniforms(dim)))
    normal = radius * np.cos(2 * np.pi * bits.uniforms(dim))
    return np.asarray(normal / np.linalg.norm(normal))
