"""How far records lie from a centre that was drawn before: the tilted loss of their distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic, cast

import numpy as np

from kng.core.bodies import Body
from kng.core.bounds import Bounds
from kng.core.encoding import Encoding
from kng.core.parts import Field, Point, described
from kng.core.plan import DensityPlan
from kng.core.records import Integers, Kernel, Records, Rows, Selection, Source, State
from kng.core.regions import Grid, Region
from kng.core.scale import RadiusGrid
from kng.losses.location import Location
from kng.losses.pointwise.function import Pointwise

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan, Reader


@dataclass(frozen=True, slots=True)
class Radius:
    """A location of positions on a grid of radii: its quantile is one of their distances.

        position(y) = number of radii below |y - centre|,      loss of ``location`` at the position

    The centre is the point that the plan before has drawn, unless it is given.

    Paper    Section 4.5 with x = 1, for a public function of each record.
    Privacy  A record's position depends on that record and on public numbers alone, so everything
             is as for a location. docs/proofs/losses/pinball.md.
    Cost     One pass over the response.
    """

    location: Location
    radii: tuple[int, ...]
    centre: int | None = None
    model: ClassVar[str] = "location"
    noun: ClassVar[str] = "columns"
    remedy: ClassVar[str] = "fewer"
    slow_from: ClassVar[int] = 4
    dim: ClassVar[int] = 1

    @classmethod
    def of(cls, pointwise: Pointwise, grid: RadiusGrid, centre: int | None) -> Radius:
        """Return the loss of positions on a grid."""
        radii = grid.radii
        ends, one = (Fraction(0), Fraction(len(radii) - 1)), Fraction(1)
        records = Encoding(Bounds((ends[0],), (ends[1],)), (one,), (0,))
        return cls(Location(pointwise).over(records), radii, centre)

    @property
    def pointwise(self) -> Pointwise:
        """The function of a position."""
        return self.location.pointwise

    @property
    def encoding(self) -> Encoding:
        """The positions."""
        return self.location.encoding

    @property
    def grid(self) -> Grid:
        """Positions are whole numbers."""
        return self.location.grid

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return f"Radius({described(self.pointwise)})"

    @property
    def units(self) -> str:
        """What theta is measured in."""
        return "positions on a public grid of radii"

    def offers(self, plan: DensityPlan) -> frozenset[str]:
        """Return what a location offers."""
        return self.location.offers(plan)

    def loaders(self, plan: Plan) -> tuple[Loader, ...]:  # noqa: ARG002
        """Return nothing: NumPy is enough."""
        return ()

    def given(self, drawn: Sequence[Point]) -> Radius:
        """Return the loss once the centre is drawn."""
        return self if self.centre is not None else replace(self, centre=drawn[-1][0])

    def body(self, region: Region) -> Body:
        """Return the body of a location."""
        return self.location.body(region)

    def smallest(self, region: Region) -> Body:
        """Return that of a location."""
        return self.location.smallest(region)

    def values(self, region: Region) -> Body:
        """Return the values of a location."""
        return self.location.values(region)

    def reader(self, plan: DensityPlan) -> Reader:
        """Return the way to read a location's records, which here are positions."""
        inner = self.location.reader(plan)

        def read(source: Source, plans: Sequence[DensityPlan]) -> Sequence[Field]:
            return inner(_positions(source, plans[0]), plans)

        return read

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the positions."""
        return self.location.read(_positions(source, plans[0]), plans)


def _positions(source: Source, plan: Plan) -> Source:
    """Return the positions of the records that a plan reads, once its centre is drawn."""
    loss = plan.problem.loss
    assert isinstance(loss, Radius)
    assert loss.centre is not None
    return cast("Source", Positions(source, loss.centre, loss.radii))


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
