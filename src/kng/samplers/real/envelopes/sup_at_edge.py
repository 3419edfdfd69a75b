"""KNG on an l1 ball, drawn from a corner of it: where the estimate lies outside, or at the edge.

With u = A theta - b and signed weights w on the rows, sum |w_i| <= 1, every theta of the ball with
||u||_inf <= t lies in the body

    nu w0 + sum over Z of rate_j |theta_j| + sum over P of |w_i| v_i  <=  t - t0        a simplex
    |u_i| <= t  for i in Q                                                              a box

    t0  = -w'b - nu B,  nu = max |A w|;  w0 and the rates are those of the slope A w
    v_i = t - sign(w_i) u_i, how far row i falls behind

because the left side is at most w'u - t0 + sum |w_i| (t - sign(w_i) u_i). Here S and Z share the
coordinates, and P and Q are |S| - 1 rows, so that the distances determine theta. A level t with
density proportional to exp(-c t) times the volume of its body, then a uniform point of the body,
have together

    density proportional to exp(-c level(theta)),      level(theta) = the least t of its bodies,

and level <= ||u||_inf is the envelope, for every S, P, Q and w. With t0 > 0 it is the corner of an
epigraph, whose d + 1 facets become exponential in the limit of much data; with t0 near 0 it is
what the ball leaves of the noise around an estimate at its edge, inside or outside.

Paper    None: its chain crosses the ball's edge by being slow.
Privacy  docs/proofs/samplers/corner.md: a rejection envelope, whatever the data.
Cost     A few programs with 2 d variables (`envelopes.linear_programs`), then d^2 a proposal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector
from kng.samplers.real.envelopes.edge_distances import EdgeDistances, flattest_first
from kng.samplers.real.envelopes.levels import Levels
from kng.samplers.real.envelopes.linear_programs import Guess, Sup
from kng.samplers.real.envelopes.remaining_length import RemainingLength, rooms

# Rows that are a combination of others, to this share of their length, do not determine theta.
_ZERO = 1e-8
# Nor do rows whose matrix is nearly singular as a whole; so says its condition number.
_LARGEST = 1e11

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class SupAtEdge:
    """One choice of S, Z, P, Q and w; its envelope, and draws from it."""

    sup: Sup
    weights: Vector  # w
    support: Indices  # S
    edge: Indices  # Z, the flat ones first
    rows: Indices  # Q, then P
    boxes: int  # |Q|
    flat: int
    room: RemainingLength  # of the flat ones

    @classmethod
    def at(cls, sup: Sup, guess: Guess) -> SupAtEdge | None:
        """Return the corner with the smallest envelope, or None if no rows determine theta."""
        slope = sup.matrix @ guess.weights
        support, inward = np.flatnonzero(guess.theta), float(np.abs(slope).max())
        if not slope[support].any():
            return None
        rows = _rows(sup.matrix[:, support], slope[support], guess.weights)
        if rows is None:
            return None
        edge = np.setdiff1d(np.arange(len(slope)), support)
        edge = edge[flattest_first(inward + slope[edge], inward - slope[edge])]
        rows = rows[np.argsort(np.abs(guess.weights[rows]), kind="stable")]
        first = cls(sup, guess.weights, support, edge, rows, 0, 0, RemainingLength(sup.radius, 0.0))
        if not np.linalg.cond(first._square) < _LARGEST:
            return None
        return first.with_flats().with_boxes().with_flats().with_less_room(guess.theta)

    def with_flats(self) -> SupAtEdge:
        """Return the same corner with as many edges flat as is best."""
        offers = [replace(self, flat=flat) for flat in range(len(self.edge) + 1)]
        return min(offers, key=lambda corner: corner.log_envelope)

    def with_boxes(self) -> SupAtEdge:
        """Return the same corner with as many rows in boxes as is best."""
        offers = [replace(self, boxes=boxes) for boxes in range(len(self.rows) + 1)]
        return min(offers, key=lambda corner: corner.log_envelope)

    def with_less_room(self, center: Vector) -> SupAtEdge:
        """Return the same corner with flat edges kept within what the others leave."""
        return min([self, *self.with_rooms(center)], key=lambda corner: corner.log_envelope)

    def with_rooms(self, center: Vector) -> list[SupAtEdge]:
        """Return the same corner with every room that is offered for the flat edges."""
        sup, weak = self.sup, self.edge[: self.flat]
        offers = rooms(sup.matrix, sup.vector, sup.radius, weak, center) if self.flat else ()
        return [
            replace(self, room=RemainingLength(room.base, room.slope * float(np.abs(dual).sum())))
            for dual, room in offers
        ]

    @cached_property
    def start(self) -> float:
        """Return t0."""
        return self.sup.level(self.weights)

    @cached_property
    def _slope(self) -> Vector:
        return np.asarray(self.sup.matrix @ self.weights)

    @cached_property
    def wedge(self) -> EdgeDistances:
        """Return the distances that share a level."""
        inward, along = float(np.abs(self._slope).max()), self._slope[self.edge]
        behind = np.abs(self.weights[self.rows[self.boxes :]])
        return EdgeDistances(inward, inward + along, inward - along, self.flat, behind)

    @cached_property
    def levels(self) -> Levels:
        """Return the law of t."""
        wedge, room = self.wedge, self.room
        factors = [
            [
                (-self.start, 1.0, wedge.sharing + k),
                (0.0, 2.0, self.boxes),
                (room.base, room.slope, self.flat - k),
            ]
            for k in range(self.flat + 1)
        ]
        first = max(self.start, 0.0, room.first)
        return Levels.of(self.sup.rate, first, wedge.log_shares(), factors)

    @cached_property
    def _square(self) -> Matrix:
        """What takes theta_S to w0 and the rows, up to signs and what the edges add."""
        zeta = -self._slope[self.support] / self.wedge.inward
        return np.vstack([zeta, self.sup.matrix[np.ix_(self.rows, self.support)]])

    @property
    def log_envelope(self) -> float:
        """Return the log of the integral of exp(-c level)."""
        return self.levels.log_mass - float(np.linalg.slogdet(self._square)[1])

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        sup, edge, rows = self.sup, self.edge, self.rows
        steep, t = self.levels.draw(bits, size)
        room = self.room.base + self.room.slope * t
        w0, along, behind = self.wedge.draw(bits, steep, t - self.start, room)
        theta = np.zeros((size, len(sup.vector)))
        theta[:, edge] = along
        boxed = (2 * bits.uniforms(size, self.boxes) - 1) * t[:, None]
        signs = np.sign(self.weights[rows[self.boxes :]])
        u = np.column_stack([boxed, signs * (t[:, None] - behind)])
        inner = sup.radius - w0 - np.abs(along).sum(axis=1)
        rest = u + sup.vector[rows] - along @ sup.matrix[np.ix_(edge, rows)]
        sides = np.column_stack([inner, rest])
        theta[:, self.support] = np.linalg.solve(self._square, sides.T).T
        inside = np.abs(theta).sum(axis=1) < sup.radius
        return theta, np.where(inside, self.log_acceptance(theta), -np.inf)

    def log_acceptance(self, theta: Matrix) -> Vector:
        """Return what the proposals' exponent lacks: never positive in the ball."""
        return self.sup.rate * (self.level(theta) - self.sup.score(theta))

    def level(self, theta: Matrix) -> Vector:
        """Return the least t whose body holds each row of theta."""
        sup, along = self.sup, theta[:, self.edge]
        u = theta @ sup.matrix - sup.vector
        behind = self.rows[self.boxes :]
        led = np.sign(self.weights[behind]) * u[:, behind]
        w0 = sup.radius - theta[:, self.support] @ self._square[0] - np.abs(along).sum(axis=1)
        height = self.wedge.height(w0, along) + self.start - led @ self.wedge.weights
        least = np.maximum(self.levels.start, height / (1 - self.wedge.weights.sum()))
        least = np.maximum(least, led.max(axis=1, initial=-np.inf))
        least = np.maximum(least, np.abs(u[:, self.rows[: self.boxes]]).max(axis=1, initial=0.0))
        if self.room.slope > 0:
            flat = self.wedge.on_flat_side(along).sum(axis=1)
            least = np.maximum(least, (flat - self.room.base) / self.room.slope)
        return np.asarray(least)


def _rows(columns: Matrix, slope: Vector, weights: Vector) -> Indices | None:
    """Return |S| - 1 rows that determine theta_S together with slope'theta_S.

    Rows with weight come first, then those that add most; never the heaviest, whose share of the
    level is what is left.
    """
    basis = [slope / np.linalg.norm(slope)]
    chosen: list[int] = []

    def rest(i: int) -> Vector:
        v = np.array(columns[i])
        for _ in range(2):  # once more for what rounding left
            for q in basis:
                v -= q * (q @ v)
        return np.asarray(v)

    def take(i: int) -> bool:
        v = rest(i)
        length = float(np.linalg.norm(v))
        new = length > _ZERO * float(np.linalg.norm(columns[i]))
        if new:
            chosen.append(i)
            basis.append(v / length)
        return new

    wanted = len(slope) - 1
    lighter = [int(i) for i in np.argsort(-np.abs(weights), kind="stable")[1:]]
    for i in lighter:
        if weights[i] and len(chosen) < wanted:
            take(i)
    while len(chosen) < wanted:
        if not take(max(lighter, key=lambda i: float(np.linalg.norm(rest(i))))):
            return None
    return np.array(chosen, dtype=np.int64)
