"""Several quantiles of one column, as one vector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from kng.core.bodies import Body, Cuboid, Piece
from kng.core.bounds import Bounds
from kng.core.capabilities import OrderedDomain
from kng.core.encoding import Encoding, encoding_of
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, show
from kng.core.naming import argument
from kng.core.parts import Field, Point
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.records import Source
from kng.core.regions import Grid, Region
from kng.core.shapes import VariationShape
from kng.losses.fields.ranked_walk import read_walks

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan, Reader

# Steps between the bounds if no granularity is given, in powers of two, as for one quantile.
_BITS = 20


@dataclass(frozen=True, slots=True, init=False)
class Quantiles:
    """Tilted absolute residuals of one column, for several quantiles q_1 < ... < q_m at once.

        score_j = 1[x <= theta_j] - q_j,      theta_1 <= ... <= theta_m

    A record that is tied with theta counts on either side, as serves best: then the sum of scores
    is 0 at the sample quantiles, however many records share a value.

    Parameters
    ----------
    taus : sequence of numbers
        Which quantiles, strictly between 0 and 1, each larger than the one before.

    Paper    Section 4.5 with x = 1 has one. In the norm `Variation` the draw is that of JointExp
             (Gillenwater, Joseph and Kulesza), but for its ties.
    Privacy  A record is in one of m + 1 intervals, so that its score is one of m + 1 vectors.
             docs/proofs/losses/quantiles.md.
    Cost     One or two passes; records near the wanted ranks are kept.
    """

    taus: tuple[Fraction, ...]
    records: Encoding | None

    model: ClassVar[str] = "quantiles"
    noun: ClassVar[str] = "quantiles"
    remedy: ClassVar[str] = "fewer"
    slow_from: ClassVar[int] = 100
    units: ClassVar[str] = "the units of the records"
    served: ClassVar[str] = "Use the norm Variation() and the domain Ordered(low, high)."

    def __init__(self, taus: Iterable[Any], records: Encoding | None = None) -> None:
        levels = tuple(exact(tau, "tau") for tau in taus)
        chain = [Fraction(0), *levels, Fraction(1)]
        if not levels or any(a >= b for a, b in pairwise(chain)):
            raise SpecError(
                "Quantiles lie strictly between 0 and 1, each above the one before; got "
                f"{', '.join(map(show, levels)) or 'none'}."
            )
        object.__setattr__(self, "taus", levels)
        object.__setattr__(self, "records", records)

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return f"Quantiles([{', '.join(map(show, self.taus))}])"

    def encode(self, bounds: Bounds, granularity: Any, missing: Any) -> Encoding:
        """Return how records with these bounds become whole numbers, as for one quantile."""
        if len(bounds) != 1:
            raise SpecError(
                f"{self.described} are of one column, the {argument('bounds')} describe "
                f"{len(bounds)}. Release one column at a time, and leave dim out of the domain."
            )
        return encoding_of(bounds, granularity=granularity, missing=missing, bits=_BITS)

    def over(self, records: Encoding) -> Quantiles:
        """Return the loss of records with these public bounds and steps."""
        return replace(self, records=records)

    def best_shape(self, unit: PrivacyUnit, bounded: bool) -> VariationShape:  # noqa: ARG002
        """Return the hull of what one record can change."""
        return VariationShape()

    @property
    def dim(self) -> int:
        """One coordinate for each quantile."""
        return len(self.taus)

    @property
    def encoding(self) -> Encoding:
        """The records' bounds and steps."""
        if self.records is None:
            raise IncompatibleParts(
                "losses.Quantiles knows no bounds of records. Use Quantiles(...).over(records)."
            )
        return self.records

    @property
    def grid(self) -> Grid:
        """Each coordinate lives on the records' lattice."""
        records = self.encoding
        return Grid(records.bounds.low * self.dim, records.step * self.dim)

    def offers(self, plan: DensityPlan) -> frozenset[str]:
        """Return "walk" where the score is one: numbers in order, in half the variation."""
        problem = plan.problem
        fits = isinstance(problem.domain, OrderedDomain) and plan.weighs == "gradient"
        return frozenset({"walk"} if fits and problem.norm.shape == VariationShape() else ())

    def loaders(self, plan: Plan) -> tuple[Loader, ...]:  # noqa: ARG002
        """Return nothing: NumPy is enough."""
        return ()

    def given(self, drawn: Sequence[Point]) -> Quantiles:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def body(self, region: Region) -> Body:  # noqa: ARG002
        """Return the hull of the scores of records in each of the m + 1 intervals."""
        return _stairs(self.taus)

    smallest = body

    def values(self, region: Region) -> Body:  # noqa: ARG002
        """Refuse: several losses at once have no one value."""
        raise IncompatibleParts(
            f"{self.described} are weighed by their scores. Use KNG, or one Location(Pinball(q)) "
            "for each."
        )

    def reader(self, plan: DensityPlan) -> Reader:  # noqa: ARG002
        """Return the way to read the ranks that carry weight."""
        return read_walks

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the records once for all plans; below the charge."""
        return read_walks(source, plans)


@dataclass(frozen=True, slots=True)
class Stairs:
    """The scores of a record in each of the m + 1 intervals, and how two of them differ."""

    each: tuple[Cuboid, ...]
    apart: tuple[Cuboid, ...]

    def scores(self) -> Sequence[Piece]:
        """Return the m + 1 vectors."""
        return self.each

    def differences(self) -> Sequence[Piece]:
        """Return 1 between two intervals and 0 elsewhere, for any two."""
        return self.apart


@lru_cache(maxsize=16)
def _stairs(taus: tuple[Fraction, ...]) -> Stairs:
    """Return the body of quantiles; of a hundred it has five thousand differences, made once."""
    m, none, one = len(taus), (Fraction(0),), (Fraction(1),)
    each = [tuple((j >= a) - tau for j, tau in enumerate(taus)) for a in range(m + 1)]
    ends = combinations(range(m + 1), 2)
    apart = [none * a + one * (b - a) + none * (m - b) for a, b in ends]
    return Stairs(tuple(Cuboid(v, v) for v in each), tuple(Cuboid(v, v) for v in apart))
