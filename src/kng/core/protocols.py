"""The shapes that parts must have to fit: small, structural, no base classes.

The density reads  exp( -(epsilon / 2 Delta) * || gradient of the loss at theta ||_K ),  and every
symbol has a protocol: Loss, Norm, Domain, Mechanism, Sampler; plus Source (where records live)
and Ledger (who pays). A capability is an extra protocol that a part may offer and another may
ask for by type, so that a combination that cannot work is refused before anything is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.encoding import Encoding
from kng.core.lattice import Lattice
from kng.core.privacy import Neighbours, PrivacyEvent
from kng.core.shapes import Shape

if TYPE_CHECKING:
    from kng.core.plan import DensityPlan, NoisePlan
    from kng.core.problem import Problem

State = TypeVar("State")

# Rows of records as whole numbers. They are carried as float64, which holds integers up to 2**53
# exactly and lets sums and products run at full speed; Encoding keeps them at 2**44 or less.
Integers = NDArray[np.float64]
# The same, in whatever type holds them.
Rows = NDArray[Any]
# A limit beyond any number of records.
EVERY = 2**62
Point = tuple[int, ...]


class Kernel(Protocol[State]):
    """A mergeable computation on records: picklable, so that it can travel to them."""

    def zero(self) -> State:
        """State of no records."""
        ...

    def partial(self, batch: Integers) -> State:
        """State of one batch."""
        ...

    def merge(self, left: State, right: State) -> State:
        """State of both together; associative and commutative."""
        ...


class Selection(Protocol):
    """Which records to bring home, and in which form; picklable."""

    def select(self, batch: Integers) -> Rows:
        """Return the rows of the batch that are wanted, each made from its own record."""
        ...


class Records(Protocol):
    """Records that can be summed up and selected. Every method may be called again."""

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over all records."""
        ...

    def collect(self, selection: Selection, limit: int) -> Rows:
        """Bring home the selected rows, at most ``limit`` of them, in the order they stand in."""
        ...


class Source(Records, Protocol):
    """Records behind a public encoding."""

    def count(self) -> int:
        """Return the number of records; forbidden before the charge under add-remove."""
        ...

    def prepare_sums(self, records: int) -> None:
        """Load what sums of so many records are worth; above the charge, from a public number."""
        ...

    def sums(self) -> tuple[int, Point]:
        """Return the number of records and the exact sum of each column."""
        ...


@runtime_checkable
class Norm(Protocol):
    """||.||_K with rational values, in whatever units its vector has."""

    @property
    def shape(self) -> Shape | None:
        """The unit ball by name, if it has one."""
        ...

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        ...

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, never below it."""
        ...


@runtime_checkable
class BoxNorm(Norm, Protocol):
    """A norm whose unit ball is a box."""

    def half_widths(self, dim: int) -> tuple[Fraction, ...]:
        """Return the ball's half width along each coordinate."""
        ...


class Domain(Protocol):
    """Theta and its base measure, in lattice coordinates."""

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        ...

    @property
    def proper(self) -> bool:
        """Whether the base measure is finite, so that a bounded score can be normalised."""
        ...


@runtime_checkable
class BoxDomain(Domain, Protocol):
    """A box of lattice points with the uniform base measure."""

    @property
    def first(self) -> Point:
        """The corner with the least coordinates."""
        ...

    @property
    def last(self) -> Point:
        """The corner with the largest coordinates."""
        ...

    @property
    def points(self) -> int:
        """How many lattice points it holds."""
        ...


@runtime_checkable
class PlaneDomain(BoxDomain, Protocol):
    """Lattice points of a box that satisfy linear inequalities, each with the same base weight."""

    def home(self) -> Point:
        """Return a point that lies inside and that no record decides."""
        ...

    def inequalities(self) -> list[tuple[Point, int]]:
        """Return pairs (a, b): a point k lies inside if a'k <= b for all of them."""
        ...

    def contains(self, theta: Point) -> bool:
        """Whether a lattice point lies inside."""
        ...


@runtime_checkable
class SteppedDomain(Domain, Protocol):
    """A domain that depends on what was drawn before it in the same release."""

    def given(self, drawn: Sequence[Point]) -> Domain:
        """Return the domain once the earlier points are drawn."""
        ...


@runtime_checkable
class SteppedLoss(Protocol):
    """A loss that depends on what an earlier stage of the same release has drawn."""

    def given(self, drawn: Sequence[Point]) -> Any:
        """Return the loss once the earlier points are drawn."""
        ...


class Sensitivity(Protocol):
    """A public bound on the change of a score when one record changes, as a function of theta."""

    def at(self, theta: Point) -> Fraction:
        """Return the bound at one lattice point."""
        ...

    def over(self, first: Point, last: Point) -> Fraction:
        """Return a bound for all lattice points of a box."""
        ...


class LineField(Protocol):
    """A score along one coordinate that falls to its least value and then rises."""

    def mode(self) -> int:
        """Return a lattice point with the least exponent, anywhere on the line."""
        ...

    def score(self, theta: int) -> Fraction:
        """Return the raw score, before division by the sensitivity."""
        ...


@runtime_checkable
class LevelField(LineField, Protocol):
    """A line field in whole multiples of a unit, that can also say where they stay low."""

    @property
    def unit(self) -> Fraction:
        """What the raw score is a multiple of."""
        ...

    def multiple(self, theta: int) -> int:
        """Return the raw score, in units."""
        ...

    def sublevels(self, levels: Sequence[int]) -> list[tuple[int, int]]:
        """Return the first and last lattice point with at most so many units, for each level."""
        ...


class PlaneField(Protocol):
    """Records x, y whose share of the score depends on whether y <= x'theta, as whole numbers.

    With w = 1 for the records that count (y <= x'theta) and 0 for the others, tau = p / q,

        gradient   unit * ( |G_0| + slope * (max_{j > 0} |G_j| - |G_0|)_+ ),
                   G_j = q sum w x_j - p sum x_j
        value      unit * sum (p - q w)(y - x'theta)
    """

    @property
    def rows(self) -> NDArray[np.float32]:
        """The whole numbers x, one row per record."""
        ...

    @property
    def response(self) -> NDArray[np.floating]:
        """The whole numbers y."""
        ...

    @property
    def tau(self) -> Fraction:
        """The wanted quantile."""
        ...

    @property
    def slope(self) -> Fraction:
        """Weight of the slopes in the norm."""
        ...

    @property
    def unit(self) -> Fraction:
        """What one whole number is worth in the score."""
        ...

    @property
    def weighed(self) -> Literal["gradient", "value"]:
        """What the score measures."""
        ...

    def shifted(self, bits: Bits) -> PlaneField:
        """Return the records with a random shift of each response, if the loss asks for one."""
        ...

    def score_of(self, theta: Point, counted: Sequence[int]) -> Fraction:
        """Return the score, given the sums of x and of y over the records that count."""
        ...

    def least_scores(
        self, thetas: NDArray[np.int64], counted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the scores at many points in float64, too small by rounding if anything."""
        ...


class CurvedField(Protocol):
    """Records whose gradients are smooth in theta almost everywhere, in whole numbers.

    distance   (theta - x) / ||theta - x||                 rows x
    huber      clip((x'theta - y) / bend, -1, 1) x         rows x, response y

    Their values are the distances, and bend times Huber's losses.
    """

    @property
    def shape(self) -> Literal["distance", "huber"]:
        """Which of the two."""
        ...

    @property
    def rows(self) -> NDArray[np.float64]:
        """The whole numbers x, one row per record."""
        ...

    @property
    def response(self) -> NDArray[np.float64]:
        """The whole numbers y."""
        ...

    @property
    def bend(self) -> float:
        """The threshold of Huber's loss."""
        ...

    @property
    def unit(self) -> Fraction:
        """What a gradient, or a value, of size one is worth in the score."""
        ...

    @property
    def most(self) -> float:
        """A bound on the size of the gradient."""
        ...

    @property
    def grain(self) -> float:
        """The steps to which the value of one record is rounded down."""
        ...

    @property
    def weighed(self) -> Literal["gradient", "value"]:
        """What the score measures."""
        ...

    def guess(self, every: int) -> NDArray[np.float64]:
        """Return a point not far from the minimiser, looking at one record in ``every``."""
        ...

    def score(self, theta: Point) -> Fraction:
        """Return the score at one lattice point, exactly, from all records."""
        ...


@runtime_checkable
class PreparedLoss(Protocol):
    """A loss that needs more than NumPy to read records."""

    def prepare(self) -> None:
        """Load and compile it; above the charge."""
        ...


@runtime_checkable
class GradientLoss(Protocol):
    """A loss whose gradient KNG can weigh."""

    def gradient_sensitivity(
        self, norm: Norm, records: Encoding, neighbours: Neighbours
    ) -> Sensitivity:
        """Return Delta(theta), the largest change of the summed gradient in the norm."""
        ...

    def read_gradient(self, source: Source, plans: Sequence[DensityPlan]) -> Sequence[Any]:
        """Read the records once for all plans; below the charge. A LineField or a PlaneField."""
        ...


@runtime_checkable
class ValueLoss(Protocol):
    """A loss whose value the exponential mechanism can weigh."""

    def value_sensitivity(self, records: Encoding, neighbours: Neighbours) -> Sensitivity:
        """Return the largest change of the summed loss."""
        ...

    def read_value(self, source: Source, plans: Sequence[DensityPlan]) -> list[LineField]:
        """Read the records once for all plans; below the charge."""
        ...


@runtime_checkable
class PlaneLoss(Protocol):
    """A loss of linear models that is bounded over a box of coefficients.

    Its field is a PlaneField, or a CurvedField if it is a CurvedLoss as well.
    """

    def plane_sensitivity(self, domain: BoxDomain, answers: Lattice) -> Sensitivity:
        """Return the largest change of the summed loss over a box of coefficients."""
        ...

    def read_value(
        self, source: Source, plans: Sequence[DensityPlan]
    ) -> Sequence[PlaneField] | Sequence[CurvedField]:
        """Read the records once for all plans; below the charge."""
        ...


@runtime_checkable
class CurvedLoss(Protocol):
    """A loss whose field is a CurvedField."""

    @property
    def shape(self) -> Literal["distance", "huber"]:
        """How its gradient depends on theta."""
        ...


@runtime_checkable
class LocationLoss(Protocol):
    """A loss whose minimiser is a public function of a sum, so that noise can go onto the sum."""

    def sum_widths(self, records: Encoding, neighbours: Neighbours) -> tuple[Fraction, ...]:
        """Return, per coordinate of the sum, how far one record can move it (caller's units)."""
        ...

    def sum_steps(self, records: Encoding, neighbours: Neighbours) -> tuple[Fraction, ...]:
        """Return, per coordinate of the sum, the size of one whole step (caller's units)."""
        ...

    def read_sum(self, source: Source, plan: NoisePlan) -> Point:
        """Return the sum in whole steps; below the charge."""
        ...

    def minimiser(self, total: Point, problem: Problem) -> tuple[Fraction, ...]:
        """Return the estimate that a (noisy) sum stands for; post-processing."""
        ...


class Mechanism(Protocol):
    """How to weigh theta. Plans come from public facts: there is no data argument."""

    name: str

    def plan(self, problem: Any, epsilon: Fraction) -> Any:
        """Fix the law, its cost and its guarantee before the charge."""
        ...


class Sampler(Protocol):
    """How to draw from a plan."""

    name: ClassVar[str]

    def certify(self, plan: Any) -> Any:
        """Return the plan with this sampler's promise, or refuse; no data argument exists."""
        ...

    def draw(self, plan: Any, field: Any, bits: Bits) -> Any:
        """Return a point with the plan's law; must not fail and must not reveal anything."""
        ...


class Charge(Protocol):
    """A booked charge, to be settled with the release it paid for."""

    @property
    def sequence(self) -> int:
        """Position in the ledger's chain."""
        ...


class Ledger(Protocol):
    """Who pays."""

    def reserve(self, event: PrivacyEvent, *, parameters: str) -> Charge:
        """Book the event durably, or refuse with BudgetError."""
        ...

    def settle(self, charge: Charge, payload: str) -> None:
        """Store the release that the charge paid for."""
        ...
