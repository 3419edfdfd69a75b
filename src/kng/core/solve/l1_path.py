"""The minimiser of a quadratic under the penalty mu ||theta||_1, for every mu.

    theta(mu) = argmin of  theta'Q theta / 2 - r'theta + mu ||theta||_1

Between events the coordinates that are not 0 move linearly in mu: theta = start - mu * rate. An
event is one of them that reaches 0, or another one whose slope reaches mu. With mu falling from
max |r_j| the path leads from 0 to the free minimiser, and passes the minimiser over every l1 ball.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kng.core.quadratic import Matrix, Vector


@dataclass(frozen=True)
class Segment:
    """One piece of the path, for mu from ``last`` to ``first``."""

    first: float
    last: float
    active: list[int]
    start: Vector
    rate: Vector

    def at(self, mu: float, dim: int) -> Vector:
        """Return the point at mu."""
        theta = np.zeros(dim)
        theta[self.active] = self.start - mu * self.rate
        return theta


@dataclass(frozen=True)
class Path:
    """The path from 0 down to where ||theta||_1 reaches a radius, or to the free minimiser."""

    dim: int
    segments: list[Segment]

    @classmethod
    def of(cls, matrix: Matrix, vector: Vector, radius: float) -> Path:
        """Follow the path; events that coincide are taken one after the other."""
        d, segments = len(vector), []
        first = int(np.argmax(np.abs(vector)))
        signs = {first: float(np.sign(vector[first]))}
        mu, fresh = float(np.abs(vector[first])), (first, signs[first])
        for _ in range(20 * d + 20):
            active, sign = list(signs), np.array(list(signs.values()))
            square = matrix[np.ix_(active, active)]
            start, rate = np.linalg.solve(square, np.column_stack([vector[active], sign])).T
            growth = float(sign @ rate)
            events = [(0.0, -1, 0.0)]
            if growth > 0:
                events.append(((float(sign @ start) - radius) / growth, -1, 0.0))
            # One that has just joined moves away from 0, one that has just left falls behind.
            zeros = ((s / r, j) for j, s, r in zip(active, start, rate, strict=True) if r)
            events += [(float(at), j, 0.0) for at, j in zeros if at < mu and j != fresh[0]]
            idle = [j for j in range(d) if j not in signs]
            cross = matrix[np.ix_(idle, active)]
            for j, c, e in zip(idle, vector[idle] - cross @ start, cross @ rate, strict=True):
                # |c + mu e| = mu
                joins = ((c / (side - e), side) for side in (1.0, -1.0) if side != e)
                events += [(float(at), j, s) for at, s in joins if at < mu and (j, s) != fresh]
            following, j, side = max(event for event in events if event[0] <= mu)
            segments.append(Segment(mu, following, active, start, rate))
            mu = following
            if side:
                signs[j], fresh = side, (j, side)
            elif j >= 0:
                fresh = (j, signs.pop(j))
            if j < 0 or not signs:
                break
        return cls(d, segments)

    @property
    def end(self) -> Vector:
        """The last point."""
        return self.segments[-1].at(self.segments[-1].last, self.dim)

    def at(self, mu: float) -> Vector:
        """Return the point at mu, or the last one if the path ends before."""
        for segment in self.segments:
            if segment.last <= mu:
                return segment.at(min(mu, segment.first), self.dim)
        return self.end
