"""The log density at one point up to a constant, on a lattice or on real space; for chains."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from kng.core.boxes.covering import CoveredField, Covering
from kng.core.capabilities import AffineField, RealNorm
from kng.core.parts import Field, Point, Walled
from kng.core.plan import DensityPlan
from kng.core.privacy import Assumption
from kng.core.quadratic import Vector
from kng.samplers.real.space import Scale

CHAIN_ASSUMPTIONS = (
    Assumption.RANDOM_BITS,
    Assumption.UNSEEN_CLOCK,
    Assumption.REAL_ARITHMETIC,
    Assumption.CONVERGED,
)


def walk_of(plan: DensityPlan, field: Field) -> Target | Cells:
    """Return real space where the field has a density on it, else the cells of lattice points."""
    if "space" in plan.offers:
        return Target(plan, cast("AffineField", field))
    return Cells(plan, field)


@dataclass(frozen=True)
class Cells:
    """The cells of lattice points, each with the density of its point."""

    plan: DensityPlan
    field: Field

    @cached_property
    def low(self) -> Vector:
        """Half a step below the first point."""
        return np.array([float(k) for k in self.plan.domain.first]) - 0.5

    @cached_property
    def high(self) -> Vector:
        """Half a step above the last point."""
        return np.array([float(k) for k in self.plan.domain.last]) + 0.5

    @property
    def home(self) -> Vector:
        """The domain's own."""
        return np.array([float(k) for k in self.plan.domain.home()])

    @property
    def unit(self) -> Vector:
        """How many cells make one unit of theta."""
        return np.array([float(1 / h) for h in self.plan.grid.step])

    def holds(self, theta: Vector) -> bool:
        """Tell whether a place lies in one of the cells; `nearest` moves others to the border."""
        return bool(((self.low <= theta) & (theta <= self.high)).all())

    @cached_property
    def cover(self) -> Covering | None:
        """One box with all points, for fields that keep records in an order: scores are quick."""
        plan, field = self.plan, self.field
        if "covered" not in plan.offers or not isinstance(field, CoveredField):
            return None
        # Bounds on the exponent are not asked for, so any rate will do.
        cover = field.covers(cast("Walled", plan.domain), plan.rate)[0]
        cover.refine(1)
        return cover

    def log_density(self, theta: Vector) -> float:
        """Return minus the exponent at the nearest point."""
        point = self.nearest(theta)
        if not self.plan.domain.contains(point):
            return -np.inf
        return -float(self.plan.exponent(point, self._score(point)))

    def _score(self, point: Point) -> Fraction:
        if self.cover is None:
            return self.field.score(point)
        offset = np.array(point) - np.array(self.cover.boxes.pilot)
        return self.cover.scores(np.array([0]), offset[None, :]).exact(0, point)

    def nearest(self, theta: Vector) -> Point:
        """Return the lattice point whose cell this is."""
        return tuple(int(v) for v in np.clip(np.rint(theta), self.low + 0.5, self.high - 0.5))


@dataclass(frozen=True)
class Target:
    """log p(theta) up to a constant, on real space; minus infinity outside Theta.

        gradient   -rate * || G(theta) / Delta(theta) ||_K          (KNG)
        value      -rate / Delta * (theta'A theta / 2 - b'theta)      (exponential mechanism)

    plus the log density of the base measure.
    """

    plan: DensityPlan
    field: AffineField

    @cached_property
    def scale(self) -> Scale:
        """What the gradient is divided by."""
        return Scale.of(self.plan)

    @cached_property
    def low(self) -> Vector:
        """The least answers, or the corner of a bounded domain."""
        region = self.plan.problem.domain.region()
        return np.array([float(v) for v in region.low or self.plan.problem.answers.origin])

    @cached_property
    def high(self) -> Vector:
        """The largest answers, or the corner of a bounded domain."""
        region, answers = self.plan.problem.domain.region(), self.plan.problem.answers
        return np.array([float(v) for v in region.high or answers.units(answers.last)])

    @property
    def unit(self) -> Vector:
        """One: this is real space."""
        return np.ones(len(self.low))

    def holds(self, theta: Vector) -> bool:  # noqa: ARG002
        """Tell that the density is known everywhere: it is 0 outside Theta."""
        return True

    @property
    def home(self) -> Vector:
        """Zero, or a point that a bounded domain without it knows to be inside."""
        zero, plan = np.zeros(len(self.low)), self.plan
        if plan.problem.domain.contains([Fraction(0)] * len(zero)):
            return zero
        return np.array([float(v) for v in plan.grid.theta(plan.domain.home())])

    def log_density(self, theta: Vector) -> float:
        """Return the log density at one point."""
        plan, field = self.plan, self.field
        domain, rate = plan.problem.domain, float(plan.rate)
        if not domain.contains([Fraction(float(v)) for v in theta]):
            return -np.inf
        base = float(domain.base.log_density(theta[None, :])[0])
        if plan.weighs == "value":
            value, _, _ = field.derivatives(theta)
            return base - rate * value / self.scale.bound
        norm = plan.problem.norm
        assert isinstance(norm, RealNorm)
        gradient = field.matrix @ theta + float(plan.ridge) * theta - field.vector
        divided = gradient[None, :] / self.scale.widths(theta[None, :])
        return base - rate * float(norm.lengths(divided)[0])

    def nearest(self, theta: Vector) -> Point:
        """Return the lattice point nearest to theta."""
        return self.plan.nearest(theta)
