"""Statistics that are functions of sums of records: K-norm noise goes onto the sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn, Protocol

from kng.core.bodies import Body
from kng.core.capabilities import Sums
from kng.core.errors import IncompatibleParts
from kng.core.parts import Field, Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.records import Source
from kng.core.regions import Region

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan, Reader


class ReadSums(Sums, Protocol):
    """Sums that can be read from records."""

    @property
    def dim(self) -> int:
        """How many numbers are answered."""
        ...

    def read(self, source: Source, unit: PrivacyUnit) -> Point:
        """Return the sums in whole steps; below the charge."""
        ...


@dataclass(frozen=True, slots=True)
class Summed:
    """A statistic that a sum of records determines; nothing is weighed.

    Paper    Section 4.1, the remark on location families: noise on the sum keeps all of epsilon.
    Privacy  What one record does to the sum is said by ``sums``. docs/proofs/mechanisms/knorm.md.
    Cost     One pass.
    """

    sums: ReadSums
    model: ClassVar[str] = "sum"
    noun: ClassVar[str] = "numbers"
    remedy: ClassVar[str] = "fewer"
    slow_from: ClassVar[int] = 2**13
    units: ClassVar[str] = "the units of the records"
    grid: ClassVar[None] = None

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return described(self.sums)

    @property
    def dim(self) -> int:
        """How many numbers are answered."""
        return self.sums.dim

    def offers(self, plan: DensityPlan) -> frozenset[str]:  # noqa: ARG002
        """Return nothing: theta is not weighed."""
        return frozenset()

    def loaders(self, plan: Plan) -> tuple[Loader, ...]:  # noqa: ARG002
        """Return nothing: NumPy is enough."""
        return ()

    def given(self, drawn: Sequence[Point]) -> Summed:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def body(self, region: Region) -> Body:  # noqa: ARG002
        """Refuse: there is no score of theta."""
        self._refuse()

    smallest = values = body

    def reader(self, plan: DensityPlan) -> Reader:  # noqa: ARG002
        """Refuse: there is no score of theta."""
        self._refuse()

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the sums once for all plans; below the charge."""
        unit = plans[0].problem.unit
        return [SumsRead(self.sums.read(source, unit))] * len(plans)

    def _refuse(self) -> NoReturn:
        raise IncompatibleParts(f"{self.described} is answered by K-norm noise alone. Use KNorm.")


@dataclass(frozen=True, slots=True)
class SumsRead:
    """Sums in whole steps; private."""

    total: Point

    def score(self, theta: Point) -> NoReturn:  # noqa: ARG002
        """Refuse: nothing is weighed."""
        raise IncompatibleParts("Sums have no score.")
