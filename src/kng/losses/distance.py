"""The distance to a point, whose minimiser is the geometric median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, isqrt
from typing import TYPE_CHECKING, Any, ClassVar, cast

from kng.core.bodies import Body, Cuboid, Hull, Round
from kng.core.bounds import Bounds
from kng.core.encoding import Encoding, encoding_of
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import positive, positives, show
from kng.core.lattice import power_of_two_below
from kng.core.naming import argument
from kng.core.parts import Field, Point
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.records import Source
from kng.core.regions import Grid, Region
from kng.core.shapes import RoundShape
from kng.losses.accelerators import accelerator_of, load_smooth_covers, load_unit_vectors
from kng.losses.fields.distance_field import read_distance
from kng.losses.fields.distances import STEPS
from kng.losses.reading import ReadPlan
from kng.losses.room import GENERIC, refuse_large

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan, Reader

_MOST = 8
# Steps along the widest column, in powers of two, and the fewest along any.
_BITS, _FEWEST = 24, 2**8
# What serves where records do not fit into memory.
_INSTEAD = "take a median of each column"


@dataclass(frozen=True, slots=True)
class Distance:
    """The Euclidean distance of a record to theta; minimised by the geometric median.

        score = (theta - x) / ||theta - x||,   0 where theta = x;      value = ||theta - x||

    ``scale`` is what counts as one unit of distance in each column; () stands for ones. In these
    units all columns have the same step.

    In the l2 norm the score is the distance of 0 to the sum of all subgradients: at theta = x they
    are the whole unit ball. Beside a base measure other than uniform, and on a round ball, records
    at theta count 0 instead; both laws are private with the same Delta.

    Paper    Section 4.4, with a score at every lattice point; docs/paper-map.md.
    Privacy  Scores lie in the unit ball, whatever the records and theta are.
             docs/proofs/losses/distance.md.
    Cost     One pass; the records are kept.
    """

    scale: Any = ()
    records: Encoding | None = None
    model: ClassVar[str] = "distance"
    noun: ClassVar[str] = "columns"
    remedy: ClassVar[str] = "fewer"
    slow_from: ClassVar[int] = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positives(self.scale, "scale of Distance"))

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return "Distance()"

    @property
    def units(self) -> str:
        """What theta is measured in."""
        return "the units of the records"

    def offers(self, plan: DensityPlan) -> frozenset[str]:
        """Return what its field can do: in the l2 norm it has covers of its own."""
        if not plan.problem.domain.bounded:
            return frozenset()
        more = ["line"] if self.one_valley(plan) else []
        more += ["covered"] if self.accelerator(plan) is not None else []
        return frozenset({"score", "enclosed", *more})

    def loaders(self, plan: Plan) -> tuple[Loader, ...]:
        """Return what loads covers, or expansions."""
        if "covered" in plan.offers:
            return (load_smooth_covers,)
        return (load_unit_vectors,) if "enclosed" in plan.offers else ()

    def given(self, drawn: Sequence[Point]) -> Distance:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def best_shape(self, unit: PrivacyUnit, bounded: bool) -> RoundShape:  # noqa: ARG002
        """Return the ball that scores fill: the round one."""
        return RoundShape()

    def encode(self, bounds: Bounds, granularity: Any, missing: Any) -> Encoding:
        """Return how records become whole numbers: all columns have one step of distance.

        Without a granularity the widest column has at least 2**24 steps and fewer than 2**25, up to
        which squared distances are exact; no column may have fewer than 2**8.
        """
        units = self.scale or (Fraction(1),) * len(bounds)
        if len(units) != len(bounds):
            raise IncompatibleParts(
                f"losses.Distance has {len(units)} units of distance for {len(bounds)} columns. "
                "Give one for each."
            )
        ranges = [width / unit for width, unit in zip(bounds.width, units, strict=True)]
        step = _step(ranges, granularity)
        steps = [step * unit for unit in units]
        return encoding_of(bounds, granularity=steps, missing=missing, bits=_BITS)

    def over(self, records: Encoding) -> Distance:
        """Return the loss of records with these public bounds and steps, which must be alike."""
        if len(records) > _MOST:
            raise IncompatibleParts(
                f"Distances are exact in up to {_MOST} columns, these are {len(records)}. "
                "Use fewer."
            )
        bound = replace(self, records=records)
        if self.scale and len(self.scale) != len(records):
            raise IncompatibleParts(
                f"losses.Distance has {len(self.scale)} units of distance for {len(records)} "
                "columns. Give one for each."
            )
        if len({h / s for h, s in zip(records.step, bound.lengths, strict=True)}) > 1:
            raise IncompatibleParts(
                "losses.Distance needs records with the same step in every column, in units of "
                "distance. Give one granularity."
            )
        bound._refuse_far(Region.between(*_reach(records)))
        return bound

    @property
    def encoding(self) -> Encoding:
        """The records' bounds and steps."""
        if self.records is None:
            raise IncompatibleParts(
                "losses.Distance knows no bounds of records. Use Distance().over(records)."
            )
        return self.records

    @property
    def lengths(self) -> tuple[Fraction, ...]:
        """What counts as one unit of distance in each column."""
        units: tuple[Fraction, ...] = self.scale or (Fraction(1),) * self.dim
        return units

    @property
    def measure(self) -> Fraction:
        """The step of every column in units of distance."""
        return self.encoding.step[0] / self.lengths[0]

    @property
    def dim(self) -> int:
        """One coordinate for each column."""
        return len(self.encoding)

    @property
    def grid(self) -> Grid:
        """Theta lives on the records' lattice, within their bounds or beyond."""
        return Grid(self.encoding.bounds.low, self.encoding.step)

    def body(self, region: Region) -> Body:
        """Return the unit ball."""
        self._refuse_far(region)
        return Round(Fraction(1), self.dim)

    def smallest(self, region: Region) -> Body:
        """Return the unit ball."""
        return self.body(region)

    def values(self, region: Region) -> Body:
        """Return what holds the distance in whole steps, rounded down as it is computed."""
        self._refuse_far(region)
        square = floor(sum((v * v for v in self._apart(region)), Fraction(0)))
        most = isqrt(square) * self.measure
        return Hull((Cuboid((Fraction(0),), (most,)),))

    def one_valley(self, plan: ReadPlan) -> bool:
        """Tell whether the score of any records falls and then rises along a line."""
        return self.dim == 1 and plan.weighs == "gradient"

    def accelerator(self, plan: ReadPlan) -> str | None:
        """Return which accelerator reads for a plan, if one does; from public facts."""
        found = accelerator_of([plan])
        return None if found is None else found.name

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the records once for all plans; below the charge."""
        asked = cast("Sequence[ReadPlan]", plans)
        found = accelerator_of(asked)
        return read_distance(source, asked) if found is None else found.read(source, asked)

    def reader(self, plan: DensityPlan) -> Reader:
        """Return the accelerator that serves a plan, or the generic way."""
        found = accelerator_of([plan])
        refuse_large(plan.problem, GENERIC * self.dim, _INSTEAD)
        return read_distance if found is None else found.read

    def _apart(self, region: Region) -> list[Fraction]:
        """Return how far theta and a record can lie apart in each coordinate, in steps."""
        if region.low is None or region.high is None:
            raise IncompatibleParts(
                "The values of losses.Distance have no bound on an unbounded domain. "
                "Use a bounded one, such as domains.Box."
            )
        low, high = _reach(self.encoding)
        sides = zip(region.low, region.high, low, high, self.encoding.step, strict=True)
        return [max(b - x, y - a) / step for a, b, x, y, step in sides]

    def _refuse_far(self, region: Region) -> None:
        if region.bounded and max(self._apart(region)) >= STEPS:
            raise IncompatibleParts(
                "Distances are exact up to 2**25 steps along each column; give a larger "
                "granularity, or a smaller domain."
            )


def _step(ranges: Sequence[Fraction], granularity: Any) -> Fraction:
    """Return the step of all columns, in units of distance."""
    if granularity is None:
        fine: Fraction = power_of_two_below(max(ranges)) / 2**_BITS
        if min(ranges) >= _FEWEST * fine:
            return fine
        raise SpecError(
            "the columns' ranges are too different for distances in one unit: the widest is "
            f"{show(max(ranges))}, the narrowest {show(min(ranges))}. Give {argument('scale')}, "
            f"one unit of distance per column, or {argument('scale', 'bounds')}."
        )
    step = positive(granularity, "granularity")
    if max(ranges) / step >= 2 ** (_BITS + 1):
        raise SpecError(
            f"{argument('granularity')} {show(step)} cuts a column into 2**25 steps or more; give "
            "a larger one."
        )
    if step > min(ranges):
        raise SpecError(
            f"{argument('granularity')} must not exceed the range of a column, got {show(step)} "
            f"for a range of {show(min(ranges))}, both in units of scale. Give a smaller one, or "
            "another scale."
        )
    return step


def _reach(records: Encoding) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the corners of what records reach."""
    low = records.bounds.low
    return low, tuple(a + h * k for a, h, k in zip(low, records.step, records.last, strict=True))
