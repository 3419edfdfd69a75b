"""A location: one coordinate of theta for each column of the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, cast

from kng.core.bodies import Body, Cuboid, Hull, Piece, Spread
from kng.core.bounds import Bounds
from kng.core.encoding import Encoding, encoding_of
from kng.core.errors import IncompatibleParts
from kng.core.kinds import members, require
from kng.core.naming import Code, argument
from kng.core.parts import Field, Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.records import Source
from kng.core.regions import Grid, Region
from kng.core.shapes import BoxShape
from kng.losses.accelerators import accelerator_of
from kng.losses.ball_sum import BallSum, RecordBall
from kng.losses.fields.location_field import read_location
from kng.losses.location_sum import LocationSum
from kng.losses.pointwise.function import Interval, Pointwise, Stepped
from kng.losses.pointwise.steps import exactly_stepped
from kng.losses.reading import ReadPlan
from kng.losses.room import GENERIC, refuse_large

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan, Reader

# Steps between the bounds if no granularity is given, in powers of two.
_JUMPING, _SMOOTH = 20, 32


@dataclass(frozen=True, slots=True)
class Location:
    """A pointwise function of each column and its coordinate of theta.

        score_j = psi(theta_j, x_j),      value = sum_j rho(theta_j, x_j)

    Parameters
    ----------
    pointwise : Pointwise
        A function of the residual: ``Squared()`` for means, ``Pinball(tau)`` for quantiles.

    Paper    Sections 4.1, 4.2 and 4.5 with x = 1.
    Privacy  The scores of a record fill a box, coordinate by coordinate.
             docs/proofs/losses/location.md.
    Cost     One pass; the records are kept unless an accelerator needs only their sums.
    """

    pointwise: Pointwise
    records: Encoding | None = None
    ball: RecordBall | None = None
    model: ClassVar[str] = "location"
    noun: ClassVar[str] = "columns"
    remedy: ClassVar[str] = "fewer"
    slow_from: ClassVar[int] = 4

    def __post_init__(self) -> None:
        if not hasattr(self.pointwise, "residual"):
            require(self.pointwise, "function", members(Pointwise))
        if not self.pointwise.residual:
            raise IncompatibleParts(
                f"Location needs a function of the residual, which {self.pointwise.name} is not. "
                "Use losses.Linear."
            )

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return f"Location({described(self.pointwise)})"

    @property
    def units(self) -> str:
        """What theta is measured in."""
        return "the units of the records"

    @property
    def sums(self) -> LocationSum | BallSum | None:
        """The sum whose mean minimises the loss, if it is the squared one."""
        sides = self.pointwise.sides
        if sides is None or sides[0] != sides[1]:
            return None
        records = self.encoding
        return LocationSum(records) if self.ball is None else BallSum(records, self.ball)

    def offers(self, plan: DensityPlan) -> frozenset[str]:
        """Return what its field can do: a line with one valley can be walked along.

        What accelerators read on a line has no enclosures, and needs none.
        """
        if not plan.problem.domain.bounded:
            return frozenset()
        line = ["line"] if self.one_valley(plan) else []
        enclosed = ["enclosed"] if self.accelerator(plan) is None else []
        return frozenset({"score", *enclosed, *line})

    def loaders(self, plan: Plan) -> tuple[Loader, ...]:  # noqa: ARG002
        """Return nothing: NumPy is enough."""
        return ()

    def given(self, drawn: Sequence[Point]) -> Location:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def encode(self, bounds: Bounds, granularity: Any, missing: Any) -> Encoding:
        """Return how records with these bounds become whole numbers.

        Without a granularity at least 2**20 steps where psi jumps, as a quantile's does: no finer
        than needed, so that tied records stand out against the points between them. Elsewhere
        2**32, because a mean averages rounding away and is never coarser than its noise.
        """
        bits = _JUMPING if self.pointwise.curvature is None else _SMOOTH
        return encoding_of(bounds, granularity=granularity, missing=missing, bits=bits)

    def best_shape(self, unit: PrivacyUnit, bounded: bool) -> BoxShape:  # noqa: ARG002
        """Return the ball that fits one record's changes best: a box with the records' sides.

        On one column every norm is a multiple of the absolute value.
        """
        widths = tuple(
            step * last for step, last in zip(self.encoding.step, self.encoding.last, strict=True)
        )
        return BoxShape(widths) if len(widths) > 1 else BoxShape()

    def over(self, records: Encoding) -> Location:
        """Return the loss of records with these public bounds and steps."""
        return replace(self, records=records)

    def within(self, ball: RecordBall, records: Encoding) -> Location:
        """Return the loss of records that are pulled into a ball; a wider box encodes them."""
        return replace(self, records=records, ball=ball)

    @property
    def encoding(self) -> Encoding:
        """The records' bounds and steps."""
        if self.records is None:
            raise IncompatibleParts(
                "losses.Location knows no bounds of records. Use Location(...).over(records)."
            )
        return self.records

    @property
    def dim(self) -> int:
        """One coordinate for each column."""
        return len(self.encoding)

    @property
    def grid(self) -> Grid:
        """Theta lives on the records' lattice, within their bounds or beyond."""
        return Grid(self.encoding.bounds.low, self.encoding.step)

    def body(self, region: Region) -> Body:
        """Return the ranges of psi in each coordinate, and how far two of them lie apart.

        At a point both are exact. Scores without bounds are refused where they are asked for:
        that is not under replace-one, where only their differences count.
        """
        if self.ball is not None:
            raise IncompatibleParts(
                f"{self.described} weighs theta for records in a box, not for "
                f"{argument('bounds', Code(self.ball.described))}. Use K-norm noise, or "
                f"{argument('bounds', (Code('low'), Code('high')))}."
            )
        pairs = list(zip(self._etas(region), self._responses, strict=True))
        ranges = [self.pointwise.psi(eta, y) for eta, y in pairs]
        apart = _symmetric([self.pointwise.apart(eta, y).high for eta, y in pairs])
        low, high = [r.low for r in ranges], [r.high for r in ranges]
        if None in low or None in high:
            return Endless(apart, self._endless)
        return Spread(_cuboid(low, high), apart)

    def smallest(self, region: Region) -> Body:
        """Return a body that reaches no farther than that of any theta of the region."""
        responses = self._responses
        pairs = list(zip(self._ends(region), responses, strict=True))
        least = _symmetric(
            [
                self.pointwise.apart(eta, y).low
                for eta, y in zip(self._etas(region), responses, strict=True)
            ]
        )
        # What every body holds: psi does not fall, so its range is that between the end ranges.
        common = [
            (self.pointwise.psi(last, y).low, self.pointwise.psi(first, y).high)
            for (first, last), y in pairs
        ]
        # A body holds two scores as far apart as that, so it reaches half as far from 0 or farther.
        pieces = [least.times(Fraction(1, 2))]
        if all(a is not None and b is not None and a <= b for a, b in common):
            pieces.append(_cuboid([a for a, _ in common], [b for _, b in common]))
        return Inner(tuple(pieces), least)

    def values(self, region: Region) -> Body:
        """Return what holds the summed rho: it is not negative, and rounded down.

        Two values therefore differ by no more than the largest of them.
        """
        most = Fraction(0)
        for eta, y in zip(self._etas(region), self._responses, strict=True):
            high = self.pointwise.rho(eta, y).high
            if high is None:
                raise IncompatibleParts(self._endless)
            most += high
        return Hull((Cuboid((Fraction(0),), (most,)),))

    def one_valley(self, plan: ReadPlan) -> bool:
        """Tell whether score / Delta of any records falls and then rises along a line.

        The size of a sum of psi does, and so does its ratio to Delta where that is constant or psi
        is one line. A sum of rho does unless it is rounded, as only accelerators avoid.
        """
        if self.dim != 1:
            return False
        if plan.weighs == "value":
            return self.accelerator(plan) is not None
        sides, unbound = self.pointwise.sides, Interval(None, None)
        bounded = self.pointwise.psi(unbound, unbound).largest is not None
        return bounded or (sides is not None and sides[0] == sides[1])

    def accelerator(self, plan: ReadPlan) -> str | None:
        """Return which accelerator reads for a plan, if one does; from public facts."""
        found = accelerator_of([plan])
        return None if found is None else found.name

    def stepped(self, region: Region) -> tuple[Stepped, ...]:
        """Return the function of each column on whole numbers, counted from the records' origin."""
        grid = self.grid
        columns = zip(grid.step, grid.origin, self._etas(region), self._responses, strict=True)
        return tuple(
            exactly_stepped(
                self.pointwise, step, eta.minus(Interval.at(o)), y.minus(Interval.at(o))
            )
            for step, o, eta, y in columns
        )

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the records once for all plans; below the charge."""
        if plans[0].weighs == "sum":
            problems, sums = [plan.problem for plan in plans], self.sums
            assert sums is not None  # or there would be no such plan
            return [sums.read(source, p.unit, p.norm) for p in problems]
        asked = cast("Sequence[ReadPlan]", plans)
        found = accelerator_of(asked)
        return read_location(source, asked) if found is None else found.read(source, asked)

    def reader(self, plan: DensityPlan) -> Reader:
        """Return the accelerator that serves a plan, or the generic way, if it stays exact."""
        found = accelerator_of([plan])
        if found is not None:
            return found.read
        self.stepped(
            plan.grid.region(plan.domain.first, plan.domain.last)
        )  # refuses here, or never
        refuse_large(plan.problem, GENERIC * self.dim, "give a sample of the records")
        return read_location

    @property
    def _endless(self) -> str:
        return (
            f"The scores of losses.Location({self.pointwise.name}) have no bound on an unbounded "
            "domain. Use a bounded one, such as domains.Box."
        )

    @property
    def _responses(self) -> list[Interval]:
        """What each column reaches: whole steps from its low bound."""
        records = self.encoding
        return [
            Interval(low, low + step * last)
            for low, step, last in zip(records.bounds.low, records.step, records.last, strict=True)
        ]

    def _etas(self, region: Region) -> list[Interval]:
        if region.low is None or region.high is None:
            return [Interval(None, None)] * self.dim
        return [Interval(a, b) for a, b in zip(region.low, region.high, strict=True)]

    def _ends(self, region: Region) -> list[tuple[Interval, Interval]]:
        """Return the first and the last theta of each coordinate."""
        return [
            (Interval(eta.low, eta.low), Interval(eta.high, eta.high)) for eta in self._etas(region)
        ]


@dataclass(frozen=True, slots=True)
class Endless:
    """A body whose scores have no bound, but whose differences have one."""

    apart: Cuboid
    refusal: str

    def scores(self) -> Sequence[Piece]:
        """Refuse."""
        raise IncompatibleParts(self.refusal)

    def differences(self) -> Sequence[Piece]:
        """Return what holds each difference."""
        return [self.apart]


@dataclass(frozen=True, slots=True)
class Inner:
    """Several pieces, none of which reaches farther than a body does."""

    pieces: tuple[Cuboid, ...]
    apart: Cuboid

    def scores(self) -> Sequence[Piece]:
        """Return the pieces."""
        return self.pieces

    def differences(self) -> Sequence[Piece]:
        """Return differences that every body has."""
        return [self.apart]


def _cuboid(low: Sequence[Fraction | None], high: Sequence[Fraction | None]) -> Cuboid:
    return Cuboid(tuple(v for v in low if v is not None), tuple(v for v in high if v is not None))


def _symmetric(sizes: Sequence[Fraction | None]) -> Cuboid:
    """Return all vectors of at most these sizes; those of records are bounded."""
    reach = tuple(v for v in sizes if v is not None)
    return Cuboid(tuple(-v for v in reach), reach)
