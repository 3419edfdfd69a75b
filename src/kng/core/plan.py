"""What will be drawn, fixed before the charge; where epsilon becomes the rate of a density.

    DensityPlan   p(theta) proportional to exp( -(epsilon / 2) * score(theta) / Delta(theta) )
                  times the density of the base measure
    NoisePlan     sum + u,  u with density proportional to exp( -epsilon * ||u||_K / Delta )

The 2 pays for the normaliser, which depends on the data. Additive noise has none, because its
normaliser is the same for every dataset; so a location family keeps the whole epsilon, at the
price of a privacy loss that ranges over 2 epsilon instead of epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from kng.core.certificate import Certificate
from kng.core.delta import Delta
from kng.core.errors import IncompatibleParts
from kng.core.exponents import base_bounds, exponent_bounds
from kng.core.lattice import Lattice
from kng.core.law import Law
from kng.core.parts import Array, Field, Point, Points, described
from kng.core.problem import Problem
from kng.core.records import Source
from kng.core.regions import Grid
from kng.core.smoothing import EXTRA_RANGE, Smoothing

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan, Reader

# What a field can do only where all thetas are equally likely before the records are seen.
UNWEIGHED = frozenset({"line", "covered"})


@dataclass(frozen=True, slots=True)
class DensityPlan:
    """Weigh every theta of a domain by its score.

    ``delta`` is what one record can do to the score. ``steady`` is what the score is divided by
    where that is the same at every theta: Delta if it is constant, or the largest of it. The ridge
    is public, moves with no record, and is added to the gradient.
    """

    problem: Problem
    epsilon: Fraction
    mechanism: str
    weighs: Literal["gradient", "value"]
    delta: Delta
    steady: Fraction | None
    ridge: Fraction = Fraction(0)
    certificate: Certificate | None = None
    reader: Reader | None = field(default=None, compare=False, repr=False)
    loaders: tuple[Loader, ...] = field(default=(), compare=False, repr=False)
    _points: Points | None = field(default=None, init=False, compare=False, repr=False)
    _law: Law | None = field(default=None, init=False, compare=False, repr=False)
    _group: Fraction | None = field(default=None, init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        # Plans are looked up often, and most often by themselves; equality compares everything.
        return hash((self.mechanism, self.weighs, self.epsilon))

    @property
    def domain(self) -> Points:
        """The lattice points of a bounded domain; refused where it has none."""
        if self._points is None:  # a density on real space needs none, so they are found late
            object.__setattr__(self, "_points", self.problem.domain.on(self.problem.grid))
        assert self._points is not None
        return self._points

    @property
    def grid(self) -> Grid:
        """Where lattice points stand."""
        return self.problem.grid

    @property
    def lattice(self) -> Lattice:
        """Where answers live."""
        return self.problem.answers

    @property
    def offers(self) -> frozenset[str]:
        """What the field of this plan will be able to do, from public facts.

        Valleys of a score and covers of a field's own know nothing of a base measure.
        """
        found = self.problem.loss.offers(self)
        return found if self.problem.domain.base.even else found - UNWEIGHED

    def certified(self, certificate: Certificate, reader: Reader | None = None) -> Self:
        """Return the plan with a sampler's promise; how it is read is decided with it.

        A sampler that asks for a field of a kind of its own says how that is read.
        """
        promise, loss = certificate.with_parts(self.problem.standing), self.problem.loss
        if reader is not None:
            return replace(self, certificate=promise, reader=reader, loaders=())
        return replace(
            self, certificate=promise, reader=loss.reader(self), loaders=loss.loaders(self)
        )

    def after(self, drawn: Sequence[Point]) -> Self:
        """Return the plan once earlier stages of the same release are drawn."""
        loss = self.problem.loss
        known = loss.given(drawn) if drawn else loss
        return self if known is loss else replace(self, problem=replace(self.problem, loss=known))

    def given(self, drawn: Sequence[Point]) -> Self:
        """Return the plan once earlier points of the same release are drawn."""
        domain = self.problem.domain
        if not domain.waits:
            return self
        known = domain.given(self.problem.grid, drawn)
        return replace(self, problem=replace(self.problem, domain=known))

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the records for plans of this kind; below the charge."""
        if self.reader is None or any(plan.reader is not self.reader for plan in plans):
            return self.problem.loss.read(source, plans)
        return self.reader(source, plans)

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss: epsilon, and what smoothing adds."""
        smoothed = self.certificate is not None and self.certificate.smoothing is not None
        return min(self.epsilon + EXTRA_RANGE, 2 * self.epsilon) if smoothed else self.epsilon

    @property
    def smoothing(self) -> Smoothing:
        """The sampler's public attempts and depth."""
        if self.certificate is None or self.certificate.smoothing is None:
            raise IncompatibleParts("This plan carries no sampler's certificate.")
        return self.certificate.smoothing

    @property
    def depth(self) -> int | None:
        """How far above the least exponent the sampler looks; None if it looks everywhere."""
        smoothed = None if self.certificate is None else self.certificate.smoothing
        return None if smoothed is None else smoothed.depth

    @property
    def each(self) -> Fraction:
        """What one row of the unit may cost; the rows of a person may lie in different groups."""
        return self.epsilon / self.problem.unit.rows

    @property
    def rate(self) -> Fraction:
        """Return epsilon / 2 for one record of a person."""
        return self.epsilon / (2 * self.problem.unit.rows)

    def delta_at(self, point: Point) -> Fraction:
        """Return Delta at a lattice point, for the whole unit."""
        if self._group is not None:
            return self._group
        if self.steady is not None:
            object.__setattr__(self, "_group", self.problem.unit.group(self.steady))
            return self.delta_at(point)
        return self.problem.unit.group(self.delta.over(self.problem.grid.region(point, point)))

    @property
    def varies(self) -> bool:
        """Whether scores are measured in a norm that depends on theta."""
        return self.weighs == "gradient" and self.problem.norm.follows

    def measure(self, point: Point, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a sum of scores at a lattice point."""
        norm = self.problem.norm
        if self.varies:
            norm = self.delta.norm_over(self.problem.grid.region(point, point))
        return norm.value(vector)

    def exponent(self, point: Point, score: Fraction) -> Fraction:
        """Return gamma(theta), so that the density is exp(-gamma), with the base measure's part."""
        base, gamma = self.problem.domain.base, self.epsilon * score / (2 * self.delta_at(point))
        return gamma if base.even else gamma + base.exponent(self.problem.grid.theta(point))

    def score_at(self, point: Point, exponent: Fraction) -> Fraction:
        """Return the raw score at theta that has this exponent, where all thetas weigh alike."""
        return exponent * 2 * self.delta_at(point) / self.epsilon

    def exponent_bounds(
        self, low: Array, high: Array, first: Array, last: Array
    ) -> tuple[Array, Array]:
        """Return bounds on gamma over boxes of lattice points, rows of corners ``first``, ``last``.

        ``low`` and ``high`` bound the coordinates of the vector whose norm is the score.
        """
        return exponent_bounds(self, low, high, first, last)

    @property
    def base_bounds(self) -> Callable[[Array, Array], tuple[Array, Array]] | None:
        """Bounds on the base measure's part of gamma over such boxes; None where it has none."""
        return None if self.problem.domain.base.even else partial(base_bounds, self)

    def nearest(self, theta: Array) -> Point:
        """Return the lattice point that stands for real numbers, on the plan's grid."""
        grid, answers = self.problem.grid, self.problem.answers
        index = answers.nearest([Fraction(v) for v in theta.tolist()])
        return tuple(
            k + round((origin - o) / h)
            for k, origin, o, h in zip(index, answers.origin, grid.origin, grid.step, strict=True)
        )

    def place(self, point: Point) -> Point:
        """Return where a lattice point of the grid stands among the answers."""
        grid, answers = self.problem.grid, self.problem.answers
        return tuple(
            k + round((o - origin) / h)
            for k, o, origin, h in zip(point, grid.origin, answers.origin, grid.step, strict=True)
        )

    @property
    def law(self) -> Law:
        """The law in public numbers, written once."""
        if self._law is None:
            problem = self.problem
            law = Law(
                self.mechanism,
                described(problem.loss),
                described(problem.norm) if self.weighs == "gradient" else None,
                described(problem.domain),
                str(self.rate),
                None if self.steady is None else str(self.steady),
                problem.loss.units,
            )
            object.__setattr__(self, "_law", law)
        assert self._law is not None
        return self._law


@dataclass(frozen=True, slots=True)
class NoisePlan:
    """Add K-norm noise to a sum, then read the estimate off it."""

    problem: Problem
    epsilon: Fraction
    mechanism: str
    sensitivity: Fraction
    steps: tuple[Fraction, ...]
    certificate: Certificate | None = None
    loaders: ClassVar[tuple[()]] = ()
    reader: ClassVar[None] = None
    offers: ClassVar[frozenset[str]] = frozenset({"sum"})
    weighs: ClassVar[Literal["sum"]] = "sum"

    def certified(self, certificate: Certificate) -> Self:
        """Return the plan with a sampler's promise."""
        return replace(self, certificate=certificate.with_parts(self.problem.standing))

    def after(self, drawn: Sequence[Point]) -> Self:  # noqa: ARG002
        """Return the plan: it depends on nothing that was drawn."""
        return self

    given = after

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the sum; below the charge."""
        return self.problem.loss.read(source, plans)

    def place(self, point: Point) -> Point:
        """Return the sum."""
        return point

    @property
    def law(self) -> Law:
        """The law in public numbers."""
        parts = self.problem.loss, self.problem.norm, self.problem.domain
        loss, norm, domain = map(described, parts)
        k = self.problem.unit.rows
        delta, units = str(self.sensitivity), self.problem.loss.units
        return Law(self.mechanism, loss, norm, domain, str(self.epsilon / k), delta, units)

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss: both ends of [-epsilon, epsilon] are reached."""
        return 2 * self.epsilon

    @property
    def rate(self) -> Fraction:
        """Return c in exp(-c ||u||_K)."""
        return self.epsilon / self.problem.unit.group(self.sensitivity)
