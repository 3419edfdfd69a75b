"""How far records lie from a centre that was drawn before: the tilted loss of their distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic

import numpy as np

from kng.core.encoding import Encoding
from kng.core.plan import DensityPlan
from kng.core.privacy import Neighbours
from kng.core.protocols import (
    Integers,
    Kernel,
    LineField,
    Norm,
    Point,
    Records,
    Rows,
    Selection,
    Sensitivity,
    State,
)
from kng.core.scale import RadiusGrid
from kng.losses.kernels.ranks import Wanted, read_ranks
from kng.losses.pinball import Pinball, RankField


@dataclass(frozen=True, slots=True)
class Radius:
    """The tilted absolute loss of positions on a grid of radii; minimised by a quantile of them.

        position(y) = number of radii below |y - centre|,      loss of Pinball(tau) at the position

    The centre is the point that the plan before has drawn, unless it is given.

    Paper    Section 4.5 with x = 1, for a public function of each record.
    Privacy  A record's position depends on that record and on public numbers alone, so the
             sensitivity is Pinball's. docs/proofs/losses/pinball.md.
    Cost     One pass over the response.
    """

    tau: Fraction
    grid: RadiusGrid
    centre: int | None = None

    def given(self, drawn: Sequence[Point]) -> Radius:
        """Return the loss once the centre is drawn."""
        return self if self.centre is not None else replace(self, centre=drawn[-1][0])

    def gradient_sensitivity(
        self, norm: Norm, records: Encoding, neighbours: Neighbours
    ) -> Sensitivity:
        """Return how far one record moves the score, as for any quantile."""
        return Pinball(self.tau).gradient_sensitivity(norm, records, neighbours)

    def read_gradient(self, source: Records, plans: Sequence[DensityPlan]) -> list[LineField]:
        """Read the ranks of positions."""
        (plan,) = plans
        assert self.centre is not None
        wanted = Wanted(self.tau, plan.score_at(plan.domain.first, Fraction(plan.depth)))
        positions = Positions(source, self.centre, self.grid.radii)
        (first,), (last,) = plan.domain.first, plan.domain.last
        ranks = read_ranks(positions, plan.problem.unit.neighbours, first, last, [wanted])
        return [RankField(self.tau, ranks[0])]


@dataclass(frozen=True, slots=True)
class Positions:
    """A source whose records are positions of |y - centre| on a grid."""

    source: Records
    centre: int
    radii: tuple[int, ...]

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over the positions."""
        return self.source.reduce(PositionKernel(kernel, self.centre, self.radii))

    def collect(self, selection: Selection, limit: int) -> Rows:
        """Bring home the positions that are selected."""
        return self.source.collect(PositionSelection(selection, self.centre, self.radii), limit)


@dataclass(frozen=True, slots=True)
class PositionKernel(Generic[State]):
    """A kernel that sees positions in place of records."""

    inner: Kernel[State]
    centre: int
    radii: tuple[int, ...]

    def zero(self) -> State:
        """No records."""
        return self.inner.zero()

    def partial(self, batch: Integers) -> State:
        """Run over one batch."""
        return self.inner.partial(positions(batch, self.centre, self.radii))

    def merge(self, left: State, right: State) -> State:
        """Add."""
        return self.inner.merge(left, right)


@dataclass(frozen=True, slots=True)
class PositionSelection:
    """A selection that sees positions in place of records."""

    inner: Selection
    centre: int
    radii: tuple[int, ...]

    def select(self, batch: Integers) -> Rows:
        """Return the positions that are selected."""
        return self.inner.select(positions(batch, self.centre, self.radii))


def positions(batch: Integers, centre: int, radii: tuple[int, ...]) -> Integers:
    """Return how many radii are below |y - centre|, all of them whole numbers below 2**53."""
    distance = np.abs(batch[:, :1] - float(centre))
    return np.searchsorted(np.array(radii, dtype=np.float64), distance).astype(np.float64)
