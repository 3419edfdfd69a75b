"""Gaussian draws at the edge of an l1 ball: where the middle lies outside, or not far inside.

Around any point m the exponent is, with g = P m - v, delta = theta - m and the wedge of the slope g
(`envelopes.edge_distances`),

    theta'P theta / 2 - v'theta = least + nu w0 + sum over E of rate_j |theta_j| + delta'P delta / 2

for any set E of coordinates: an identity, so every m is right, and the best ones are those where a
draw may be expected. They are looked for on the path of the penalty mu ||theta||_1, a little before
it reaches the ball's edge. w0 and theta_E are drawn as exponentials, the other coordinates are
Gaussian given them, and what the quadratic form has at its least, given w0 and theta_E, is the
acceptance. Flat edges are kept within the room that the others leave
(`envelopes.remaining_length`), at a level R of sqrt(delta'P delta).

Paper    None: its chain crosses the ball's edge by being slow.
Privacy  docs/proofs/samplers/corner.md: a rejection envelope, whatever the data.
Cost     d^3 for each of some seventy proposals to choose from; then d^2 a draw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, gammaln

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector
from kng.core.solve.l1_path import Path
from kng.core.solve.pivots import pivots
from kng.samplers.real.envelopes.edge_distances import EdgeDistances, flattest_first
from kng.samplers.real.envelopes.gaussian_levels import GaussianLevels, normals
from kng.samplers.real.envelopes.remaining_length import RemainingLength, rooms

# How far above the least exponent of the path a point may lie, for each coordinate.
_ABOVE = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
_ZERO = 1e-9

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Anchor:
    """A point, and the slope of the exponent there."""

    precision: Matrix
    vector: Vector
    radius: float
    point: Vector

    @cached_property
    def slope(self) -> Vector:
        """Return g."""
        return np.asarray(self.precision @ self.point - self.vector)

    @property
    def inward(self) -> float:
        """Return nu."""
        return float(np.abs(self.slope).max())

    @property
    def least(self) -> float:
        """Return what the exponent would be at w0 = 0, theta_E = 0 and delta = 0."""
        curved = float(self.point @ (self.precision @ self.point)) / 2
        return -curved - self.inward * self.radius

    def proposals(self) -> list[GaussianAtEdge]:
        """Return proposals with more and more edges, those of the least slope first."""
        if not self.inward > 0:
            return []
        held = np.flatnonzero(np.abs(self.point) > _ZERO * self.radius)
        idle = np.setdiff1d(np.arange(len(self.point)), held)
        idle = idle[np.argsort(np.abs(self.slope[idle]), kind="stable")]
        # Of columns that are alike one stays, and the others are edges, whatever their size is.
        order, usable = pivots(self.precision[np.ix_(held, held)])
        alike = held[order[usable:]]
        tilted = [
            GaussianAtEdge.along(self, np.concatenate([alike, idle[:count]]))
            for count in range(len(idle) + 1)
        ]
        return [proposals for proposals in tilted if proposals is not None]


def anchors(precision: Matrix, vector: Vector, radius: float) -> list[Anchor]:
    """Return points along the path, from its end backwards.

    The path is that of a problem whose exponent differs by less than a hundredth over the ball: a
    little ridge for columns that are alike, and shifts that let no two events coincide.
    """
    if not vector.any():
        return []
    d = len(vector)
    generic = np.modf(np.arange(1, d + 1) * (5**0.5 - 1) / 2)[0] - 0.5
    ridge = 1e-6 / radius**2 + 1e-13 * float(np.trace(precision))
    shift = max(1e-3 / radius, 1e-11 * float(np.abs(vector).max()))
    path = Path.of(precision + ridge * np.eye(d), vector + shift * generic, radius)

    def exponent(theta: Vector) -> float:
        return float(theta @ (precision @ theta) / 2 - vector @ theta)

    least, found = exponent(path.end), [path.end]
    for above in _ABOVE[1:]:
        low, high = path.segments[-1].last, path.segments[0].first
        for _ in range(40):
            middle = (low + high) / 2
            if exponent(path.at(middle)) > least + above * d:
                high = middle
            else:
                low = middle
        found.append(path.at(low))
    return [Anchor(precision, vector, radius, point) for point in found]


@dataclass(frozen=True)
class GaussianAtEdge:
    """Proposals with one choice of edges."""

    anchor: Anchor
    edge: Indices  # E, the flat ones first
    rest: Indices
    flat: int
    room: RemainingLength  # of the flat ones

    @classmethod
    def along(cls, anchor: Anchor, edge: Indices) -> GaussianAtEdge | None:
        """Return the proposals with these edges, or None if the rest is not held by the data."""
        precision, slope = anchor.precision, anchor.slope
        rest = np.setdiff1d(np.arange(len(slope)), edge)
        square = precision[np.ix_(rest, rest)]
        trace = float(np.trace(precision)) / len(slope)
        if not slope[rest].any() or np.linalg.eigvalsh(square)[0] <= _ZERO * trace:
            return None
        order = flattest_first(anchor.inward + slope[edge], anchor.inward - slope[edge])
        first = cls(anchor, edge[order], rest, 0, RemainingLength(anchor.radius, 0.0))
        offers = [replace(first, flat=flat) for flat in range(len(edge) + 1)]
        best = min(offers, key=lambda tilted: tilted.log_envelope)
        return min([best, *best.with_rooms()], key=lambda tilted: tilted.log_envelope)

    def with_rooms(self) -> list[GaussianAtEdge]:
        """Return the same with every room that is offered for the flat edges."""
        precision, point = self.anchor.precision, self.anchor.point
        seen, weak = precision @ point, self.edge[: self.flat]
        offers = rooms(precision, seen, self.anchor.radius, weak, point) if self.flat else ()
        return [
            replace(
                self,
                room=RemainingLength(
                    max(room.base, 0.0), room.slope * float(dual @ (precision @ dual)) ** 0.5
                ),
            )
            for dual, room in offers
        ]

    @cached_property
    def wedge(self) -> EdgeDistances:
        """Return the distances that are exponential."""
        inward, along = self.anchor.inward, self.anchor.slope[self.edge]
        return EdgeDistances(inward, inward + along, inward - along, self.flat, np.zeros(0))

    @cached_property
    def _levels(self) -> list[GaussianLevels]:
        """Levels of the Gaussian part, for each number of flat edges on their steep side."""
        m = len(self.rest) - 1
        return [GaussianLevels(m, self.flat - k, self.room, 0.0) for k in range(self.flat + 1)]

    @cached_property
    def _log_masses(self) -> Vector:
        """Log of the integral of the proposals' density, for each k of the wedge."""
        k = np.arange(self.flat + 1)
        chi = np.array([levels.log_mass for levels in self._levels])
        return np.asarray(self.wedge.log_shares() + gammaln(self.wedge.sharing + k + 1) + chi)

    @cached_property
    def log_envelope(self) -> float:
        """Return the log of the integral of the proposals' density."""
        log_mass = float(np.logaddexp.reduce(self._log_masses)) - self.anchor.least
        log_mass -= log(float(self._zeta @ self._tilt)) / 2
        return log_mass - float(np.log(np.diag(self._spread)).sum())

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        anchor, wedge = self.anchor, self.wedge
        shares = np.cumsum(np.exp(self._log_masses - np.logaddexp.reduce(self._log_masses)))
        steep = np.searchsorted(shares[:-1], bits.uniforms(size) * shares[-1], side="right")
        level = np.empty(size)
        for k, levels in enumerate(self._levels):
            level[steep == k] = levels.draw(bits, int((steep == k).sum()))
        # exp(-x) is the integral of exp(-t) beyond x: points are uniform up to a gamma level.
        height = gammaincinv(wedge.sharing + steep + 1.0, bits.uniforms(size))
        room = self.room.base + self.room.slope * level
        w0, along, _ = wedge.draw(bits, steep, height, room)
        theta = np.empty((size, len(anchor.point)))
        theta[:, self.edge] = along
        inner = anchor.radius - w0 - np.abs(along).sum(axis=1)
        middle = self._middle(along, inner)
        theta[:, self.rest] = middle + self._within(bits, level)
        inside = np.abs(theta).sum(axis=1) < anchor.radius
        return theta, np.where(inside, self.log_acceptance(theta), -np.inf)

    def _within(self, bits: Bits, level: Vector) -> Matrix:
        """Return vectors with zeta'x = 0, uniform in the ball x'P x <= level^2."""
        m = len(self.rest) - 1
        if not m:
            return np.zeros((len(level), 1))
        normal = np.linalg.solve(self._spread.T, normals(bits, len(level), m + 1).T).T
        normal -= (normal @ self._zeta / (self._zeta @ self._tilt))[:, None] * self._tilt
        length = np.sqrt(((normal @ self._spread) ** 2).sum(axis=1))
        share = bits.uniforms(len(level)) ** (1 / m)
        return np.asarray(normal * (level * share / length)[:, None])

    def _middle(self, along: Matrix, inner: Vector) -> Matrix:
        """Return the rest where the quadratic form is least, given the edges and zeta'theta."""
        cross = self.anchor.precision[np.ix_(self.edge, self.rest)]
        delta = along - self.anchor.point[self.edge]
        free = self.anchor.point[self.rest] - self._solved((delta @ cross).T).T
        moved = (inner - free @ self._zeta) / (self._zeta @ self._tilt)
        return np.asarray(free + moved[:, None] * self._tilt)

    def log_acceptance(self, theta: Matrix) -> Vector:
        """Return what the proposals' exponent lacks: never positive in the ball."""
        anchor, along = self.anchor, theta[:, self.edge]
        inner = theta[:, self.rest] @ self._zeta
        w0 = anchor.radius - inner - np.abs(along).sum(axis=1)
        spare = replace(self.wedge, flat=0).height(w0, along) - self.wedge.height(w0, along)
        middle = self._middle(along, inner)
        within = ((theta[:, self.rest] - middle) @ self._spread) ** 2
        least = theta - anchor.point
        least[:, self.rest] = middle - anchor.point[self.rest]
        level = within.sum(axis=1)
        total = level + ((least @ anchor.precision) * least).sum(axis=1)
        if self.room.slope > 0:
            beyond = self.wedge.on_flat_side(along).sum(axis=1) - self.room.base
            level = np.maximum(level, np.maximum(beyond / self.room.slope, 0.0) ** 2)
        return np.asarray((level - total) / 2 - spare)

    @cached_property
    def _spread(self) -> Matrix:
        """Return Cholesky's factor of the precision of the rest."""
        square = self.anchor.precision[np.ix_(self.rest, self.rest)]
        return np.asarray(np.linalg.cholesky(square), dtype=np.float64)

    @cached_property
    def _zeta(self) -> Vector:
        return np.asarray(-self.anchor.slope[self.rest] / self.anchor.inward)

    @cached_property
    def _tilt(self) -> Vector:
        return np.asarray(self._solved(self._zeta[:, None])[:, 0])

    def _solved(self, columns: Matrix) -> Matrix:
        """Return P_rest^-1 times columns."""
        half = np.linalg.solve(self._spread, columns)
        return np.asarray(np.linalg.solve(self._spread.T, half), dtype=np.float64)
