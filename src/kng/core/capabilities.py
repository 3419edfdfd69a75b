"""What a loss and its field may offer beyond a score, each a small protocol that a sampler needs.

sum        the estimate is a public function of a sum of records
line       one coordinate, and the score falls to its least value and then rises
walk       coordinates in order, and the score is half of a walk past intervals of ranks
affine     the gradient is A theta - b
quadratic  the value is theta'A theta / 2 - b'theta, up to a constant
smooth     convex, a continuous gradient: quadratic in pieces, or enclosed (`CurvedField`)
enclosed   the score can be bounded over boxes of theta
covered    enclosed, by compiled boxes of its own: `kng.core.boxes.covering`
sloped     a gradient with a derivative that ellipsoids bound: `kng.core.sloped`
space      theta may be any real vector, not only a lattice point
score      nothing more; every field has it
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
from flint import arb
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.bodies import Body, Cuboid
from kng.core.curvature import Around
from kng.core.design import Design
from kng.core.parts import Base, Domain, Field, Loss, Norm, Point
from kng.core.privacy import PrivacyUnit
from kng.core.quadratic import Matrix, Quadratic, Vector
from kng.core.regions import Theta
from kng.core.shapes import Shape

if TYPE_CHECKING:
    from kng.core.problem import Problem


class Sums(Protocol):
    """A sum of records whose public function is the estimate."""

    def body(self, unit: PrivacyUnit) -> Body:
        """Return what holds the part of any record in the sum, in the caller's units."""
        ...

    def steps(self, unit: PrivacyUnit) -> tuple[Fraction, ...]:
        """Return, per coordinate of the sum, the size of one whole step (caller's units)."""
        ...

    def minimiser(self, total: Point, problem: Problem) -> tuple[Fraction, ...]:
        """Return the estimate that a (noisy) sum stands for; post-processing."""
        ...


@runtime_checkable
class SumLoss(Loss, Protocol):
    """A loss whose minimiser may be a public function of a sum, so that noise can go onto it."""

    @property
    def sums(self) -> Sums | None:
        """The sum, or None where there is none."""
        ...


class SumField(Field, Protocol):
    """A field that knows its sum."""

    @property
    def total(self) -> Point:
        """The sum in whole steps."""
        ...


class LineField(Field, Protocol):
    """A score along one coordinate that falls to its least value and then rises."""

    def mode(self) -> int:
        """Return a lattice point with the least exponent, anywhere on the line."""
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


class Runs(NamedTuple):
    """Lattice points with the same ranks, in order; where some were not read, there are gaps."""

    first: NDArray[np.int64]
    size: NDArray[np.int64]
    below: NDArray[np.int64]
    upto: NDArray[np.int64]


class WalkField(Field, Protocol):
    """Coordinates in order, each of which may stand at the ranks [below, upto] of its point.

    score = 1/2 the least of  sum_j |t_j - t_(j-1)|,     t_0 = t_(m+1) = 0,
            t_j + level_j total  in  [below, upto] of theta_j
    """

    @property
    def total(self) -> int:
        """How many records there are."""
        ...

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """Which rank each coordinate wants, as a share of all; they grow."""
        ...

    @property
    def runs(self) -> Runs:
        """The points that were read, and their ranks."""
        ...


@runtime_checkable
class AffineLoss(Loss, Protocol):
    """A loss whose gradient is affine in theta."""

    def widths(self, theta: Matrix, unit: PrivacyUnit) -> Matrix:
        """Return how far one record moves each coordinate of the gradient, for rows of theta."""
        ...

    def growth(self, unit: PrivacyUnit) -> Fraction | None:
        """Return s: no coordinate moves by more than s (1 + ||theta||_1); None if not affine."""
        ...


class AffineField(Protocol):
    """A gradient ``matrix @ theta - vector`` in float64."""

    @property
    def matrix(self) -> Matrix:
        """The Hessian."""
        ...

    @property
    def vector(self) -> Vector:
        """Minus the gradient at 0."""
        ...

    def derivatives(self, theta: Vector) -> tuple[float, Vector, Matrix]:
        """Return value (up to a constant), gradient and Hessian."""
        ...


@runtime_checkable
class SmoothLoss(Loss, Protocol):
    """A convex loss with a bounded second derivative, of rank one per record.

    Its field is quadratic in pieces (`SmoothField`), so that its minimiser is a rational number, or
    encloses its true gradient (`CurvedField`).
    """

    def curvature(self) -> Fraction | None:
        """Return the largest eigenvalue of one record's Hessian; None if the gradient jumps."""
        ...

    def typical_size(self, length: Fraction | None) -> Fraction:
        """Return a public guess of the Euclidean length of theta in a domain of this length."""
        ...


class Reach(Protocol):
    """How far scores reach along directions, in float64."""

    def bounds(
        self, directions: Matrix, low: Matrix, high: Matrix
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Return the least and the largest v'score in boxes of theta, and a doubt on both."""
        ...


@runtime_checkable
class ReachingLoss(Loss, Protocol):
    """A loss that knows how far its scores reach along any direction, at many theta at once."""

    @property
    def reach(self) -> Reach | None:
        """How far; None where it is known at one theta after the other only."""
        ...


class Factor(Protocol):
    """Scores w z of a record: z in one box of rows, and w between ends on either side of 0."""

    @property
    def rows(self) -> Cuboid:
        """Where z lies."""
        ...

    def bounds(self, low: Matrix, high: Matrix) -> tuple[Vector, Vector, Vector, Vector]:
        """Return ends of w that no theta of each box passes, then ends that every one reaches."""
        ...


@runtime_checkable
class FactoredLoss(Loss, Protocol):
    """A loss whose scores are a number times a row, where theta decides how large the number is."""

    @property
    def factor(self) -> Factor | None:
        """The number and the rows; None where the number is the same everywhere or has no end."""
        ...


@runtime_checkable
class DirectedNorm(Norm, Protocol):
    """A norm that follows the changes along a few directions.

    ||g||_theta = max_v |v'g| / (largest |v'change| at theta)
    """

    def followed(self, dim: int) -> tuple[tuple[Fraction, ...], ...]:
        """Return the directions."""
        ...


class SmoothField(Protocol):
    """A summed loss that is quadratic in pieces and has a continuous gradient, holding data."""

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:
        """Return the quadratic that it is around theta, exactly.

        A width above 1 asks for a smoother loss nearby, to start from; at 1 it is the loss.
        """
        ...


@runtime_checkable
class CurvedField(Protocol):
    """A summed convex loss whose true gradient can be enclosed, holding data."""

    def steepest(self) -> Fraction:
        """Return a bound on the eigenvalues of its Hessian, at every theta."""
        ...

    def slopes(self, theta: Vector) -> tuple[Vector, Matrix]:
        """Return gradient and Hessian in float64, for steps; they promise nothing."""
        ...

    def around(self, theta: Theta) -> Around:
        """Enclose the gradient at theta, and the Hessian near it, in float64 with bounds."""
        ...

    def gradient(self, theta: Theta, bits: int) -> tuple[Theta, Fraction]:
        """Return the gradient at theta to about so many bits, and how far off it may be (l2)."""
        ...


@runtime_checkable
class DesignedLoss(SmoothLoss, Protocol):
    """A smooth loss of a linear model in standardised units."""

    @property
    def design(self) -> Design:
        """How records become standardised ones."""
        ...

    def rescaled(self, threshold: Fraction) -> DesignedLoss:
        """Return the loss with this threshold, in units of it."""
        ...


@runtime_checkable
class ServedLoss(Loss, Protocol):
    """A loss that says where it is drawn, for those who ask for it elsewhere."""

    @property
    def served(self) -> str:
        """A sentence: what to use."""
        ...


@runtime_checkable
class BallDomain(Domain, Protocol):
    """An l1 ball. It states its radius by the norm: other balls have a radius, too."""

    @property
    def l1_radius(self) -> Fraction:
        """Bound on the sum of absolute coordinates."""
        ...


@runtime_checkable
class OrderedDomain(Domain, Protocol):
    """Numbers in order between two bounds, the same for each."""

    @property
    def ascending(self) -> tuple[Fraction, Fraction]:
        """The bounds."""
        ...


@runtime_checkable
class GaugedDomain(Domain, Protocol):
    """A domain that may be the ball of a norm around 0, so that records can be pulled into it."""

    @property
    def gauge(self) -> tuple[Shape, Fraction] | None:
        """The norm's unit ball by name and the radius; None if it is not symmetric about 0."""
        ...


@runtime_checkable
class TailedBase(Base, Protocol):
    """A base density proportional to (1 + ||theta||_1)^-(d + freedom).

    It states its freedom by the norm: other bases have degrees of freedom, too.
    """

    @property
    def l1_freedom(self) -> int:
        """Degrees of freedom: the tail of ||theta||_1 falls like its power."""
        ...


@runtime_checkable
class RealNorm(Norm, Protocol):
    """A norm that can also be drawn from in real arithmetic."""

    def divisor(self, widths: Matrix) -> Matrix:
        """Return what a gradient is divided by, given how far one record moves each coordinate."""
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
class RejectingNorm(LazyNorm, Protocol):
    """A lazy norm some of whose uniforms stand for no point; others are drawn in their place.

    Given that the uniforms are inside, `noise` has its density.
    """

    def proposals(self, dim: int) -> int:
        """Return a bound on how many sets of uniforms are drawn for a point, on average."""
        ...

    def inside(self, uniforms: Sequence[arb], dim: int) -> bool | None:
        """Tell whether enclosed uniforms stand for a point; None asks for more bits.

        It is never None for enclosures of a point alone, but for uniforms of probability 0.
        """
        ...


@runtime_checkable
class MeasuredBall(Norm, Protocol):
    """A norm that knows how far a uniform point of its unit ball lies from 0, for predictions."""

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """Return the mean square of each of its coordinates."""
        ...
