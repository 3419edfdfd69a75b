"""The parts of the theorem, and what each of them answers for.

    p(theta) proportional to exp( -(epsilon / 2 Delta(theta)) || sum of scores at theta ||_K )

The loss says where the score of one record can lie, the norm measures bodies and boxes, the domain
knows its points, a field (a loss that has read records) knows its score, and the sampler only asks.
Nobody outside a part contains its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kng.core.base_measure import Base
from kng.core.bits import Bits
from kng.core.bodies import Body, Piece
from kng.core.exact import show
from kng.core.regions import Grid, Region
from kng.core.shapes import Shape

if TYPE_CHECKING:
    from kng.core.perturbed import AdaptivePlan, PerturbedPlan
    from kng.core.plan import DensityPlan, NoisePlan
    from kng.core.records import Source

    Plan: TypeAlias = DensityPlan | NoisePlan | PerturbedPlan | AdaptivePlan
    # Reads records once for plans that ask for the same.
    Loader: TypeAlias = Callable[[], None]
    Reader: TypeAlias = Callable[[Source, Sequence[Any]], Sequence["Field"]]

__all__ = ["Base"]  # it stands in a file of its own, and is asked for here
Point = tuple[int, ...]
Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


# What parts hold besides other parts.
_PLAIN = (int, float, str, Fraction, tuple, type(None))


class Standing(StrEnum):
    """Who answers for a part."""

    PROVED = "proved"
    CALLERS = "caller's"


def standing_of(*parts: object) -> Standing:
    """Return who answers for parts together: we for what this package defines, with its proofs.

    A part of somebody else's cannot take our standing by claiming it, nor by standing inside a part
    of ours: a pointwise function in a model, a base measure in a domain.
    """
    for part in parts:
        if type(part).__module__.split(".")[0] != "kng":
            return Standing.CALLERS
        inner = [getattr(part, f.name) for f in fields(part)] if is_dataclass(part) else []
        if standing_of(*(v for v in inner if not isinstance(v, _PLAIN))) is Standing.CALLERS:
            return Standing.CALLERS
    return Standing.PROVED


def described(part: object) -> str:
    """Return a part as a caller would write it, numbers as they are shown: Pinball(0.5)."""
    own = getattr(part, "described", None)
    if isinstance(own, str):
        return own
    stated = [getattr(part, f.name) for f in fields(part) if f.init] if is_dataclass(part) else []
    return f"{type(part).__name__}({', '.join(map(_shown, filter(_said, stated)))})"


def _said(value: object) -> bool:
    """Whether an argument says anything that its absence would not."""
    return value is not None and value != ()


def _shown(value: object) -> str:
    if isinstance(value, Fraction):
        return show(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value) if isinstance(value, str | int | float) else described(value)


class Norm(Protocol):
    """||.||_K, in whatever units its vector has."""

    @property
    def shape(self) -> Shape | None:
        """The unit ball by name, if it has one."""
        ...

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector; where it is irrational, rounded up to a public lattice."""
        ...

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the norm between two corners, for rows of corners, rounded outwards."""
        ...

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, never below it."""
        ...

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:
        """Return the largest norm of a vector of this Euclidean length, never below it."""
        ...

    @property
    def follows(self) -> bool:
        """Whether it is fitted to the changes that one record can make, by `at`.

        It has no shape then: it is another norm at every theta whose changes differ.
        """
        ...

    def at(self, changes: Sequence[Piece]) -> Norm:
        """Return the norm for these changes of one record: itself, unless it follows them."""
        ...

    def refusal(self, dim: int) -> str | None:
        """Say why it cannot measure vectors of so many coordinates, or None."""
        ...


@runtime_checkable
class RoundedNorm(Norm, Protocol):
    """A norm with irrational values, which are rounded up to a lattice that Delta is on, too."""

    def rounded_for(self, longest: Fraction) -> Norm:
        """Return it with a lattice far finer than the longest change."""
        ...


class Points(Protocol):
    """The lattice points of a bounded domain; its base measure weighs them, not they."""

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        ...

    @property
    def first(self) -> Point:
        """The corner with the least coordinates of a box around them."""
        ...

    @property
    def last(self) -> Point:
        """The corner with the largest coordinates."""
        ...

    @property
    def points(self) -> int:
        """How many points the box holds, at least as many as there are."""
        ...

    def home(self) -> Point:
        """Return a point that lies inside and that no record decides."""
        ...

    def contains(self, point: Point) -> bool:
        """Whether a lattice point is one of them."""
        ...

    def beside(self, low: Array, high: Array) -> tuple[Mask, Mask]:
        """Tell of boxes, rows of corners, which lie wholly inside and which wholly outside.

        Corners are lattice coordinates in float64; neither answer may be a wrong yes.
        """
        ...


def filled(points: Points) -> bool:
    """Tell whether every lattice point of the box around points is one of them."""
    low, high = (np.array([end], dtype=np.float64) for end in (points.first, points.last))
    inside, _ = points.beside(low, high)
    return bool(inside[0])


@runtime_checkable
class Walled(Points, Protocol):
    """Points that satisfy linear inequalities."""

    def inequalities(self) -> list[tuple[Point, int]]:
        """Return pairs (a, b): a point k lies inside if a'k <= b for all of them."""
        ...


class Domain(Protocol):
    """Theta and its base measure, in the units of theta."""

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        ...

    @property
    def base(self) -> Base:
        """The base measure."""
        ...

    @property
    def bounded(self) -> bool:
        """Whether it lies between two corners."""
        ...

    @property
    def waits(self) -> bool:
        """Whether it depends on earlier points of the same release, by `given`."""
        ...

    def sized(self, dim: int) -> Domain:
        """Return it with so many coordinates; refuse if it has another number of them."""
        ...

    def scaled(self, factor: Fraction) -> Domain:
        """Return the same set in other units: each theta times a factor."""
        ...

    def refusal(self) -> str | None:
        """Say why no density that is only bounded can be drawn on it, or None if one can."""
        ...

    def region(self) -> Region:
        """Return between which bounds it lies."""
        ...

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Whether a theta lies inside."""
        ...

    def on(self, grid: Grid) -> Points:
        """Return its lattice points; refuse if it is unbounded."""
        ...

    def given(self, grid: Grid, drawn: Sequence[Point]) -> Domain:
        """Return the domain once earlier points of the same release are drawn: itself, mostly."""
        ...


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a score of k coordinates is over m boxes, up to first order.

        | score_k(c + delta) - value_k - sum_j slope_kj delta_j |  <=  out_k

    for every lattice point c + delta of a box with centre c. Deltas are in lattice steps. ``out``
    holds every rounding, of the score and of the expansion itself.
    """

    value: Array  # (m, k)
    slope: Array  # (m, k, d)
    out: Array  # (m, k)

    def bounds(self, half: Array) -> tuple[Array, Array]:
        """Return bounds of each coordinate over the boxes with these half sides."""
        # einsum rounds each sum by a few ulps; 2**-45 of what is added covers it.
        wide = np.einsum("mkd,md->mk", np.abs(self.slope), half) + self.out
        wide = wide * (1 + 2.0**-45) + 2.0**-45 * np.abs(self.value)
        return self.value - wide, self.value + wide


class Field(Protocol):
    """A loss that has read records; private."""

    def score(self, theta: Point) -> Fraction:
        """Return the score at one lattice point, exactly: the norm of the sum, or the value."""
        ...


@runtime_checkable
class EnclosedField(Field, Protocol):
    """A field that can say what its score is over boxes of lattice points."""

    def expand(self, centre: Array, half: Array) -> Expansion:
        """Expand the vector whose norm is the score over boxes, rows of centres and half sides."""
        ...

    def start(self) -> Array:
        """Return a point near the least score, in lattice coordinates; it changes no law."""
        ...


class Loss(Protocol):
    """What is minimised, over records with public bounds. Formulas, never data."""

    @property
    def dim(self) -> int:
        """Number of coordinates of theta."""
        ...

    @property
    def grid(self) -> Grid | None:
        """Where lattice points stand, if the loss decides it."""
        ...

    @property
    def noun(self) -> str:
        """What its coordinates are called."""
        ...

    @property
    def remedy(self) -> str:
        """What to use where there are too many coordinates."""
        ...

    @property
    def slow_from(self) -> int:
        """From so many coordinates on its own covers may take a minute (docs/catalogue.md)."""
        ...

    @property
    def units(self) -> str:
        """What theta is measured in, for the receipt."""
        ...

    def offers(self, plan: DensityPlan) -> frozenset[str]:
        """Return what its field can do for a plan: names of `kng.core.capabilities`."""
        ...

    def loaders(self, plan: Plan) -> tuple[Loader, ...]:
        """Return what loads and compiles all that a plan will run; called above the charge."""
        ...

    def given(self, drawn: Sequence[Point]) -> Loss:
        """Return the loss once earlier stages of the same release are drawn: itself, mostly."""
        ...

    def body(self, region: Region) -> Body:
        """Return what holds the score of any record at any theta of a region, or refuse."""
        ...

    def smallest(self, region: Region) -> Body:
        """Return the body at the theta of a region where it reaches least far."""
        ...

    def values(self, region: Region) -> Body:
        """Return what holds the value of the loss of any record, in one coordinate, or refuse."""
        ...

    def reader(self, plan: DensityPlan) -> Reader:
        """Return how records are read for a plan, from public facts: quickly, where that serves."""
        ...

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the records once for all plans, which ask for the same; below the charge."""
        ...


P = TypeVar("P", bound="Plan")
F_contra = TypeVar("F_contra", contravariant=True)


class Sampler(Protocol[P, F_contra]):
    """How to draw from a plan."""

    name: ClassVar[str]

    def refusal(self, plan: P) -> str | None:
        """Say from public facts why it cannot draw from a plan, or None."""
        ...

    def certify(self, plan: P) -> P:
        """Return the plan with this sampler's promise, and load what a draw needs."""
        ...

    def draw(self, plan: P, field: F_contra, bits: Bits) -> Point:
        """Return a point with the plan's law; must not fail and must not reveal anything."""
        ...
