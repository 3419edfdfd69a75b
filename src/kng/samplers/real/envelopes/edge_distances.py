"""Distances from the edge of an l1 ball, along which a slope becomes a simplex.

For a slope g, with nu = max |g_j| and zeta = -g / nu, and for any set Z of coordinates,

    g'theta = -nu B + nu w0 + sum over Z of rate_j |theta_j|        exactly, for every theta

    w0      = B - sum outside Z of zeta_j theta_j - sum over Z of |theta_j|
    rate_j  = nu (1 - zeta_j) where theta_j > 0,  nu (1 + zeta_j) where theta_j < 0

|zeta_j| <= 1 by definition, so in the ball w0 >= 0 and no rate is negative, whatever g is: nothing
has to be clipped. Where g'theta + nu B is at most some level the distances lie in a simplex, whose
points are easy to draw. Coordinates with a rate near 0 on one side are *flat*: their rate there is
left out, which makes the simplex larger, and all of them together lie in the ball, which bounds
them by a simplex of their own. On its other side a flat coordinate is like any other.

docs/proofs/samplers/corner.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector

_TINY = 1e-300


@dataclass(frozen=True)
class EdgeDistances:
    """w0, theta on Z with the flat ones first, and further distances that share the level."""

    inward: float  # nu
    up: Vector
    down: Vector
    flat: int
    weights: Vector  # of the further distances

    @property
    def sharing(self) -> int:
        """How many distances share the level if every flat coordinate is on its flat side."""
        return 1 + len(self.up) - self.flat + len(self.weights)

    @property
    def _steep(self) -> float:
        """The least rate of a flat coordinate on its other side."""
        return float(np.maximum(self.up, self.down)[: self.flat].min(initial=np.inf))

    def log_shares(self) -> Vector:
        """Return log c_k for k = 0 .. flat, with which a level has its volume.

            sum over k of c_k L^(sharing + k) R^(flat - k)

        up to a level L, the flat ones within R; k of them are on their steep side.
        """
        f, k = self.flat, np.arange(self.flat + 1)
        up, down = self.up[f:], self.down[f:]
        sides = 1 / np.maximum(up, _TINY) + 1 / np.maximum(down, _TINY)
        common = np.log(sides).sum() - np.log(self.inward)
        common -= np.log(np.maximum(self.weights, _TINY)).sum()
        chosen = gammaln(f + 1) - gammaln(k + 1) - gammaln(f - k + 1)
        simplices = gammaln(self.sharing + k + 1) + gammaln(f - k + 1)
        steep = k * np.log(self._steep) if f else 0.0
        return np.asarray(common + chosen - simplices - steep)

    def draw(
        self, bits: Bits, steep: Vector, level: Vector, room: Vector
    ) -> tuple[Vector, Matrix, Matrix]:
        """Return w0, theta on Z and the further distances, uniform up to each level.

        ``steep`` says how many of the flat coordinates are on their steep side; the others lie
        within ``room``.
        """
        f, size = self.flat, len(level)
        turned = np.argsort(np.argsort(bits.uniforms(size, f), axis=1), axis=1) < steep[:, None]
        # Spacings of exponentials fill a simplex; one of them is what is left to the level.
        parts = -np.log(bits.uniforms(size, 2 + len(self.up) + len(self.weights)))
        edge = slice(2, 2 + len(self.up))
        parts[:, 2 : 2 + f] *= turned
        parts *= (level / parts.sum(axis=1))[:, None]
        along = np.empty((size, len(self.up)))
        up, down = self.up[f:], self.down[f:]
        rising = bits.uniforms(size, len(up)) * (up + down) < down  # odds 1/up to 1/down
        steps = parts[:, edge]
        along[:, f:] = steps[:, f:] / np.where(rising, up, -down)
        flats = -np.log(bits.uniforms(size, f + 1))
        flats[:, :f] *= ~turned
        flats *= (room / flats.sum(axis=1))[:, None]
        side = np.where(self.up[:f] <= self.down[:f], 1.0, -1.0)
        along[:, :f] = side * np.where(turned, -steps[:, :f] / self._steep, flats[:, :f])
        return parts[:, 1] / self.inward, along, parts[:, edge.stop :] / self.weights

    def height(self, w0: Vector, along: Matrix) -> Vector:
        """Return the level of points: nu w0 and the rates that are not left out."""
        f, sizes = self.flat, np.abs(along)
        steep = np.where(along > 0, self.up, self.down)
        if f:
            flat_side = (along[:, :f] > 0) == (self.up[:f] <= self.down[:f])
            steep[:, :f] = np.where(flat_side, 0.0, self._steep)
        return np.asarray(self.inward * w0 + (steep * sizes).sum(axis=1))

    def on_flat_side(self, along: Matrix) -> Matrix:
        """Return the flat coordinates' sizes where they are on their flat side, else 0."""
        f = self.flat
        side = np.where(self.up[:f] <= self.down[:f], 1.0, -1.0)
        return np.maximum(side * along[:, :f], 0.0)


def flattest_first(up: Vector, down: Vector) -> NDArray[np.int64]:
    """Return the order in which edges become flat."""
    return np.argsort(np.minimum(up, down), kind="stable")
