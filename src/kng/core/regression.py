"""Regression problems and plans: coefficients in standardised units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from flint import arb, fmpq, fmpq_mat
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.plan import Certificate, DensityPlan, NoisePlan
from kng.core.privacy import Neighbours, PrivacyUnit
from kng.core.protocols import Domain, Norm, Point, Source

Theta = tuple[Fraction, ...]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@runtime_checkable
class RealNorm(Norm, Protocol):
    """A norm that can also be drawn from in real arithmetic."""

    def divisor(self, widths: Matrix) -> Matrix:
        """Return what a gradient is divided by, given each coordinate's sensitivity."""
        ...

    def lengths(self, rows: Matrix) -> Vector:
        """Return the norm of each row."""
        ...

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the unit ball."""
        ...

    def directions(self, bits: Bits, rows: int, dim: int) -> Matrix:
        """Return points of norm one with the cone measure."""
        ...


@runtime_checkable
class LazyNorm(Norm, Protocol):
    """A norm whose noise can be enclosed as closely as a decision needs."""

    def uniforms(self, dim: int) -> int:
        """Return how many uniform numbers one point is made of."""
        ...

    def noise(self, uniforms: Sequence[arb], dim: int) -> list[arb]:
        """Enclose a point with density proportional to exp(-||u||), given enclosed uniforms.

        An enclosure that is not finite asks for more bits.
        """
        ...


@runtime_checkable
class BallDomain(Domain, Protocol):
    """An l1 ball with the uniform base measure."""

    @property
    def radius(self) -> Fraction:
        """Bound on the sum of absolute coefficients."""
        ...

    def scaled(self, factor: Fraction) -> BallDomain:
        """Return the same ball in other units: its radius times a factor."""
        ...


@runtime_checkable
class TailedBase(Protocol):
    """A base density proportional to (1 + ||theta||_1)^-(d + freedom)."""

    @property
    def freedom(self) -> int:
        """Degrees of freedom: the tail of ||theta||_1 falls like its power."""
        ...


def tail_of(domain: Domain) -> TailedBase | None:
    """Return the heavy-tailed base measure of an unbounded domain, if it has one."""
    base = getattr(domain, "base", None)
    return base if isinstance(base, TailedBase) and not isinstance(domain, BallDomain) else None


@runtime_checkable
class AffineLoss(Protocol):
    """A loss whose gradient is affine in the coefficients."""

    def widths(self, theta: Any, design: Design, neighbours: Neighbours) -> Any:
        """Return Delta_j(theta) for rows of theta."""
        ...

    def slope(self, design: Design, neighbours: Neighbours) -> Fraction:
        """Return s with Delta_j(theta) <= s (1 + ||theta||_1)."""
        ...

    def gradient_bound(
        self, coef_bound: Fraction, design: Design, neighbours: Neighbours
    ) -> Fraction:
        """Return the largest Delta_j over an l1 ball."""
        ...

    def value_sensitivity(self, coef_bound: Fraction) -> Fraction:
        """Return the largest change of the summed loss over an l1 ball."""
        ...

    def read_affine(self, source: Source, design: Design) -> AffineField:
        """Read the gradient's matrix and vector; below the charge."""
        ...


@runtime_checkable
class SmoothLoss(Protocol):
    """A convex loss with a bounded second derivative, of rank one per record.

    It is quadratic in pieces, so that its minimiser is a rational number.
    """

    def perturbed_bound(
        self, radius: Fraction | None, design: Design, neighbours: Neighbours
    ) -> Fraction:
        """Return the largest change of any gradient coordinate over Theta, or refuse."""
        ...

    def curvature(self, design: Design) -> Fraction:
        """Return the largest eigenvalue of one record's Hessian."""
        ...

    def typical_size(self, radius: Fraction | None) -> Fraction:
        """Return a public guess of the Euclidean length of theta."""
        ...

    def read_smooth(self, source: Source, design: Design, neighbours: Neighbours) -> SmoothField:
        """Read what the minimiser needs; below the charge."""
        ...


@dataclass(frozen=True, slots=True)
class Quadratic:
    """A quadratic with the gradient ``matrix @ theta - vector``, in rational numbers."""

    matrix: fmpq_mat
    vector: fmpq_mat  # one column

    @classmethod
    def of(cls, rows: Sequence[Sequence[Fraction]], vector: Sequence[Fraction]) -> Quadratic:
        """Read a matrix by its rows, and a vector."""
        d = len(vector)
        numbers = [rational(v) for row in rows for v in row]
        return cls(fmpq_mat(d, d, numbers), fmpq_mat(d, 1, [rational(v) for v in vector]))

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return int(self.vector.nrows())

    @property
    def rows(self) -> tuple[Theta, ...]:
        """The matrix, row by row."""
        return tuple(tuple(map(fraction, row)) for row in self.matrix.tolist())

    @property
    def right(self) -> Theta:
        """The vector."""
        return tuple(map(fraction, self.vector.entries()))

    def plus(self, ridge: Fraction, linear: Sequence[Fraction]) -> Quadratic:
        """Add (ridge / 2) ||theta||^2 + linear'theta."""
        matrix, added = fmpq_mat(self.matrix), rational(ridge)
        for j in range(self.dim):
            matrix[j, j] += added
        shift = fmpq_mat(self.dim, 1, [rational(u) for u in linear])
        return Quadratic(matrix, self.vector - shift)


def rational(number: Fraction) -> fmpq:
    """Return a fraction as FLINT's."""
    return fmpq(number.numerator, number.denominator)


def fraction(number: fmpq) -> Fraction:
    """Return FLINT's fraction as Python's."""
    return Fraction(int(number.p), int(number.q))


class SmoothField(Protocol):
    """A summed loss that is quadratic in pieces and has a continuous gradient, holding data."""

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:
        """Return the quadratic that it is around theta, exactly.

        A width above 1 asks for a smoother loss nearby, to start from; at 1 it is the loss.
        """
        ...


@dataclass(frozen=True, slots=True)
class AffineField:
    """A gradient ``matrix @ theta - vector``: all that is ever read of the records."""

    matrix: Matrix
    vector: Vector

    def derivatives(self, theta: Vector) -> tuple[float, Vector, Matrix]:
        """Return value (up to a constant), gradient and Hessian."""
        gradient = self.matrix @ theta - self.vector
        value = float(theta @ (gradient - self.vector)) / 2
        return value, gradient, self.matrix

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:  # noqa: ARG002
        """Return the quadratic itself; float64 are rational numbers too."""
        return Quadratic.of(
            [[Fraction(v) for v in row] for row in self.matrix], [Fraction(v) for v in self.vector]
        )


@dataclass(frozen=True, slots=True)
class QuadraticField:
    """A summed loss that is one quadratic, in rational numbers."""

    quadratic: Quadratic

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:  # noqa: ARG002
        """Return it."""
        return self.quadratic


@dataclass(frozen=True, slots=True)
class Scale:
    """Delta(theta) per coordinate for rows of theta, and a bound on it.

    ``bound`` is s with Delta_j(theta) <= s (1 + ||theta||_1) on the whole space, or with
    Delta_j(theta) <= s on a ball, where nothing more is asked.
    """

    widths: Callable[[Matrix], Matrix]
    bound: float


@dataclass(frozen=True, slots=True)
class Regression:
    """One regression problem; public through and through."""

    loss: Any
    norm: Norm
    domain: Domain
    design: Design
    unit: PrivacyUnit


@dataclass(frozen=True, slots=True)
class CoefficientPlan:
    """Weigh coefficients by the gradient (KNG) or by the loss (exponential mechanism).

        gradient   exp( -rate * || (A theta + ridge theta - b) / Delta(theta) ||_K )
        value      exp( -rate * sum of losses / Delta )

    with rate = epsilon / (2 records_per_person). The ridge is public and moves with no record.
    """

    problem: Regression
    epsilon: Fraction
    mechanism: str
    score: Literal["gradient", "value"]
    scale: Scale
    ridge: Fraction
    certificate: Certificate | None = None

    def certified(self, certificate: Certificate) -> Self:
        """Return the plan with a sampler's promise."""
        return replace(self, certificate=certificate)

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss."""
        return self.epsilon

    @property
    def lattice(self) -> Lattice:
        """Where coefficients live."""
        return self.problem.design.lattice

    @property
    def rate(self) -> float:
        """Return c in exp(-c * score)."""
        return float(self.epsilon / (2 * self.problem.unit.records_per_person))


@dataclass(frozen=True, slots=True)
class PerturbedPlan:
    """Minimise a loss with a random linear term and a public ridge.

        argmin over Theta of  sum of losses + (ridge / 2) ||theta - centre||^2 + u'theta
        u with density proportional to exp( -rate ||u||_K )

    A share of epsilon pays for the noise, the rest for the change of the Hessian. Rate and ridge
    are fractions: the rate is not above what the share pays for, the ridge not below. What leaves
    is the nearest point of ``lattice``, where 0 and, on a ball, the tips of the ball are points.
    """

    problem: Regression
    epsilon: Fraction
    mechanism: str
    share: Fraction
    rate: Fraction
    ridge: Fraction
    centre: tuple[Fraction, ...]
    lattice: Lattice
    certificate: Certificate | None = None

    def certified(self, certificate: Certificate) -> Self:
        """Return the plan with a sampler's promise."""
        return replace(self, certificate=certificate)

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss."""
        return 2 * self.epsilon


@dataclass(frozen=True, slots=True)
class AdaptivePlan:
    """Objective perturbation whose constants depend on what earlier stages have drawn.

    ``then`` turns these points into a plan. It is arithmetic on numbers that are as public as the
    release, each plan is private with this epsilon whatever they are, and their lattices have the
    same whole numbers; so the release is fixed before the charge up to its value.
    """

    problem: Regression
    epsilon: Fraction
    mechanism: str
    lattice: Lattice
    then: Callable[[Sequence[Point]], PerturbedPlan]
    certificate: Certificate | None = None

    def certified(self, certificate: Certificate) -> Self:
        """Return the plan with a sampler's promise."""
        return replace(self, certificate=certificate)

    def after(self, drawn: Sequence[Point]) -> PerturbedPlan:
        """Return the plan once earlier stages are drawn."""
        plan = self.then(drawn)
        return plan if self.certificate is None else plan.certified(self.certificate)

    @property
    def width(self) -> Fraction:
        """Range of the privacy loss."""
        return 2 * self.epsilon


# Plans for coefficients in standardised units, which have a lattice of their own.
FitPlan = CoefficientPlan | PerturbedPlan | AdaptivePlan
Plan = DensityPlan | NoisePlan | FitPlan
