"""Plans for objective perturbation: noise in the objective, then a convex solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from kng.core.certificate import Certificate
from kng.core.lattice import Lattice
from kng.core.law import Law
from kng.core.parts import Field, Point, described
from kng.core.problem import Problem
from kng.core.records import Source

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan


@dataclass(frozen=True, slots=True)
class PerturbedPlan:
    """Minimise a loss with a random linear term and a public ridge.

        argmin over Theta of  sum of losses + (ridge / 2) ||theta - centre||^2 + u'theta
        u with density proportional to exp( -rate ||u||_K )

    A share of epsilon pays for the noise, the rest for the change of the Hessian. Rate and ridge
    are fractions: the rate is not above what the share pays for, the ridge not below. What leaves
    is the nearest point of ``lattice``, where 0 and, on a ball, the tips of the ball are points.
    """

    problem: Problem
    epsilon: Fraction
    mechanism: str
    share: Fraction
    rate: Fraction
    ridge: Fraction
    centre: tuple[Fraction, ...]
    lattice: Lattice
    # The size of residuals that a threshold was chosen by, in units of the loss; for predictions.
    residual: Fraction | None = None
    certificate: Certificate | None = None
    loaders: tuple[Loader, ...] = field(default=(), compare=False, repr=False)
    reader: ClassVar[None] = None
    offers: ClassVar[frozenset[str]] = frozenset({"smooth"})
    weighs: ClassVar[Literal["smooth"]] = "smooth"

    def certified(self, certificate: Certificate) -> Self:
        """Return the plan with a sampler's promise."""
        promise = certificate.with_parts(self.problem.standing)
        return replace(self, certificate=promise, loaders=self.problem.loss.loaders(self))

    def after(self, drawn: Sequence[Point]) -> Self:  # noqa: ARG002
        """Return the plan: it depends on nothing that was drawn."""
        return self

    given = after

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the loss; below the charge."""
        return self.problem.loss.read(source, plans)

    def place(self, point: Point) -> Point:
        """Return the point: it stands on the plan's own lattice."""
        return point

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss."""
        return 2 * self.epsilon

    @property
    def law(self) -> Law:
        """The law in public numbers."""
        problem = self.problem
        loss, norm, domain = map(described, (problem.loss, problem.norm, problem.domain))
        each = self.share * self.epsilon / problem.unit.rows
        delta, units = str(each / self.rate), problem.loss.units
        return Law(self.mechanism, loss, norm, domain, str(each), delta, units)


@dataclass(frozen=True, slots=True)
class AdaptivePlan:
    """Objective perturbation whose constants depend on what earlier stages have drawn.

    ``then`` turns these points into a plan. It is arithmetic on numbers that are as public as the
    release, each plan is private with this epsilon whatever they are, and their lattices have the
    same whole numbers; so the release is fixed before the charge up to its value.
    """

    problem: Problem
    epsilon: Fraction
    mechanism: str
    lattice: Lattice
    then: Callable[[Sequence[Point]], PerturbedPlan]
    certificate: Certificate | None = None
    loaders: tuple[Loader, ...] = field(default=(), compare=False, repr=False)
    reader: ClassVar[None] = None
    offers: ClassVar[frozenset[str]] = frozenset({"smooth"})
    weighs: ClassVar[Literal["smooth"]] = "smooth"

    def certified(self, certificate: Certificate) -> Self:
        """Return the plan with a sampler's promise."""
        promise = certificate.with_parts(self.problem.standing)
        return replace(self, certificate=promise, loaders=self.problem.loss.loaders(self))

    def after(self, drawn: Sequence[Point]) -> PerturbedPlan:
        """Return the plan once earlier stages are drawn."""
        plan = self.then(drawn)
        return replace(plan, certificate=self.certificate, loaders=self.loaders)

    def place(self, point: Point) -> Point:
        """Return the point: it stands on the plan's own lattice."""
        return point

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss."""
        return 2 * self.epsilon

    @property
    def law(self) -> Law:
        """The law in public numbers; rate and Delta follow from what is drawn first."""
        problem = self.problem
        loss, norm, domain = map(described, (problem.loss, problem.norm, problem.domain))
        k = problem.unit.rows
        return Law(
            self.mechanism, loss, norm, domain, str(self.epsilon / k), None, problem.loss.units
        )
