"""What multiplies a record's row, where psi is bounded and its range depends on the prediction.

    score = w z,    w = psi(z'theta, y),    z_j in [a_j, b_j],    u(theta) <= w <= v(theta)

    z'theta lies between  lo(theta) = sum_j min(a_j theta_j, b_j theta_j)
                     and  hi(theta) = sum_j max(a_j theta_j, b_j theta_j)

psi does not fall as predictions grow, so u is its least value at lo and v its largest at hi. Over a
box of theta each term of lo and hi is extreme at an end of its side, or at 0.

Proof: docs/proofs/losses/linear.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kng.core.bodies import Cuboid, Hull, product_set
from kng.core.parts import Array
from kng.core.regions import Region
from kng.losses.pointwise.function import Interval, Ranged

Pair = tuple[Fraction, Fraction]
_EVERY = Interval(None, None)
_NONE = Fraction(0)
# Sums of a few products round by far less, in parts of the sum of their sizes.
_ROUNDING = 2.0**-45
# How far the ends of `Ranged.psi_ends` may lie inside and outside of those that are used.
_STEP, _FUZZ = 2.0**-24, 2.0**-39


@dataclass(frozen=True, slots=True)
class LinearFactor:
    """Where psi of any record lies, at a theta or over a region."""

    pointwise: Ranged
    rows: Cuboid

    def over(self, region: Region) -> Hull:
        """Return what holds the score of any record at any theta of a region."""
        found = self.pointwise.psi(self._predictions(region), _EVERY)
        return self._body(found.low, found.high)

    def under(self, region: Region) -> Hull:
        """Return what reaches no farther than the scores at any theta of a region."""
        if not region.bounded:  # far enough away w has one sign, and only 0 is left
            return self._body(_NONE, _NONE)
        first, last = (Interval.at(end) for end in self._common(region))
        return self._body(
            self.pointwise.psi(first, _EVERY).low, self.pointwise.psi(last, _EVERY).high
        )

    def _body(self, low: Fraction | None, high: Fraction | None) -> Hull:
        assert low is not None  # a `Ranged` function is bounded
        assert high is not None
        return product_set((low, high), self.rows)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array, Array, Array]:
        """Return u and v that no theta of each box passes, then u and v that every one reaches.

        In float64, every rounding included.
        """
        a, b = (np.array([float(v) for v in ends]) for ends in (self.rows.low, self.rows.high))
        one, other = np.minimum(low * a, low * b), np.minimum(high * a, high * b)
        above, beyond = np.maximum(low * a, low * b), np.maximum(high * a, high * b)
        inside = (low < 0) & (high > 0)
        far, near = np.maximum(one, other), np.minimum(above, beyond)
        far, near = (
            np.where(inside, np.maximum(far, 0.0), far),
            np.where(inside, np.minimum(near, 0.0), near),
        )
        lowest, highest = np.minimum(one, other), np.maximum(above, beyond)
        fuzz = _ROUNDING * np.maximum(-lowest, highest).sum(axis=1)
        starts = np.stack([lowest.sum(axis=1) - fuzz, far.sum(axis=1) + fuzz])
        ends = np.stack([highest.sum(axis=1) + fuzz, near.sum(axis=1) - fuzz])
        (low_end, low_common), (high_end, high_common) = self.pointwise.psi_ends(starts, ends)
        return (
            low_end - _STEP - _FUZZ,
            high_end + _STEP + _FUZZ,
            np.minimum(low_common + _FUZZ, 0.0),
            np.maximum(high_common - _FUZZ, 0.0),
        )

    def _predictions(self, region: Region) -> Interval:
        """Return where z'theta lies over a region: |z_j| <= 1, so also within its length."""
        if not region.bounded:
            return _EVERY
        low = high = _NONE
        for ends, side in zip(self.rows.sides(), region.sides(), strict=True):
            found = [z * theta for z in ends for theta in side]
            low, high = low + min(found), high + max(found)
        if region.length is None:
            return Interval(low, high)
        return Interval(max(low, -region.length), min(high, region.length))

    def _common(self, region: Region) -> Pair:
        """Return the largest lo(theta) and the least hi(theta) of a bounded region."""
        first = last = _NONE
        for ends, side in zip(self.rows.sides(), region.sides(), strict=True):
            thetas = [*side, _NONE] if side[0] < 0 < side[1] else side
            first += max(min(z * theta for z in ends) for theta in thetas)
            last += min(max(z * theta for z in ends) for theta in thetas)
        return first, last
