"""A location of a public function of each record, which earlier draws of the release have fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, cast

from kng.core.bodies import Body
from kng.core.bounds import Bounds
from kng.core.encoding import Encoding
from kng.core.parts import Field, Point, described
from kng.core.plan import DensityPlan
from kng.core.records import Integers, Kernel, Records, Rows, Selection, Source, State
from kng.core.regions import Grid, Region
from kng.losses.location import Location
from kng.losses.pointwise.function import Pointwise

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan, Reader


class RecordMap(Protocol):
    """A function from records to whole numbers, one by one; picklable."""

    def __call__(self, batch: Integers) -> Integers:
        """Return one number for each record, as a column."""
        ...


class Rule(Protocol):
    """How earlier draws of the same release decide a map."""

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        ...

    def given(self, drawn: Sequence[Point]) -> RecordMap:
        """Return the map once they are drawn."""
        ...


@dataclass(frozen=True, slots=True)
class Mapped:
    """A location of one number for each record: of a position, a distance or a residual.

        number = map(record),      loss of ``location`` at the number

    Paper    Section 4.5 with x = 1, for a public function of each record.
    Privacy  A record's number depends on that record and on public numbers alone, so everything
             is as for a location. docs/proofs/losses/pinball.md.
    Cost     One pass over the records.
    """

    location: Location
    rule: Rule
    map: RecordMap | None = None
    model: ClassVar[str] = "location"
    noun: ClassVar[str] = "columns"
    remedy: ClassVar[str] = "fewer"
    slow_from: ClassVar[int] = 4
    dim: ClassVar[int] = 1

    @classmethod
    def of(cls, pointwise: Pointwise, last: int, rule: Rule) -> Mapped:
        """Return the loss of whole numbers 0 .. last."""
        ends, one = (Fraction(0), Fraction(last)), Fraction(1)
        records = Encoding(Bounds((ends[0],), (ends[1],)), (one,), (0,))
        return cls(Location(pointwise).over(records), rule)

    @property
    def pointwise(self) -> Pointwise:
        """The function of a number."""
        return self.location.pointwise

    @property
    def encoding(self) -> Encoding:
        """The numbers."""
        return self.location.encoding

    @property
    def grid(self) -> Grid:
        """They are whole."""
        return self.location.grid

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return f"{self.rule.described}({described(self.pointwise)})"

    @property
    def units(self) -> str:
        """What theta is measured in."""
        return "positions on a public grid"

    def offers(self, plan: DensityPlan) -> frozenset[str]:
        """Return what a location offers."""
        return self.location.offers(plan)

    def loaders(self, plan: Plan) -> tuple[Loader, ...]:  # noqa: ARG002
        """Return nothing: NumPy is enough."""
        return ()

    def given(self, drawn: Sequence[Point]) -> Mapped:
        """Return the loss once the map is known."""
        return replace(self, map=self.rule.given(drawn))

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
        """Return the way to read a location's records, which here are numbers."""
        inner = self.location.reader(plan)

        def read(source: Source, plans: Sequence[DensityPlan]) -> Sequence[Field]:
            return inner(_numbers(source, plans[0]), plans)

        return read

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the numbers."""
        return self.location.read(_numbers(source, plans[0]), plans)


def _numbers(source: Source, plan: Plan) -> Source:
    """Return the numbers of the records that a plan reads, once its map is known."""
    loss = plan.problem.loss
    assert isinstance(loss, Mapped)
    return cast("Source", MappedRecords(source, loss.map or loss.rule.given(())))


@dataclass(frozen=True, slots=True)
class MappedRecords:
    """A source whose records are what a map makes of them."""

    source: Records
    map: RecordMap

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over them."""
        return self.source.reduce(MappedKernel(kernel, self.map))

    def collect(self, selection: Selection) -> Rows:
        """Bring home those that are selected."""
        return self.source.collect(MappedSelection(selection, self.map))


@dataclass(frozen=True, slots=True)
class MappedKernel(Generic[State]):
    """A kernel that sees what a map makes of records."""

    inner: Kernel[State]
    map: RecordMap

    def zero(self) -> State:
        """No records."""
        return self.inner.zero()

    def partial(self, batch: Integers) -> State:
        """Run over one batch."""
        return self.inner.partial(self.map(batch))

    def merge(self, left: State, right: State) -> State:
        """Add."""
        return self.inner.merge(left, right)


@dataclass(frozen=True, slots=True)
class MappedSelection:
    """A selection that sees what a map makes of records."""

    inner: Selection
    map: RecordMap

    def select(self, batch: Integers) -> Rows:
        """Return what is selected."""
        return self.inner.select(self.map(batch))
