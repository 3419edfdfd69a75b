"""The l1, l2 and sup norms, with weights if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lgamma, log, pi
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.bodies import Piece
from kng.core.enclosures import ball
from kng.core.exact import positives
from kng.core.parts import Norm
from kng.core.shapes import BoxShape, RoundShape, Shape, SumShape
from kng.norms.forms import largest_over_box
from kng.norms.roots import ceiling, length_on, length_up
from kng.norms.rounding import TINY_ROOT, near_far, outwards
from kng.norms.weights import Weights, mismatch, rounded, spread

Array = NDArray[np.float64]
# Lengths are rounded up to this power of two of what one record can change, or finer: far below
# what bounds in float64 tell apart.
_FINE = 160


@dataclass(frozen=True, slots=True)
class L1:
    """Sum of absolute values; its noise is independent in each coordinate.

        ||v|| = sum_j w_j |v_j|

    Paper    Section 3.1: K-norm noise with l1 is the Laplace mechanism.
    Privacy  A norm carries no constant of its own: Delta is computed from the loss's body.
             docs/proofs/norms/lp.md.
    Cost     O(d).

    Parameters
    ----------
    weights : sequence of numbers, optional
        One positive weight per coordinate; without them all are 1, in any number of coordinates.
    """

    follows: ClassVar[bool] = False
    weights: Any = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", positives(self.weights, "weights of L1"))

    @property
    def shape(self) -> Shape | None:
        """Weighted absolute values are added."""
        return SumShape(self.weights)

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        if not self.weights:
            return sum((abs(v) for v in vector), Fraction(0))
        return sum((w * abs(v) for w, v in zip(self.weights, vector, strict=True)), Fraction(0))

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the norm between two corners, for rows of corners."""
        near, far = near_far(low, high)
        with np.errstate(over="ignore", under="ignore"):
            return outwards(self.lengths(near), self.lengths(far), low.shape[1] + 2)

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, exactly."""
        return self.value(furthest(low, high))

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:
        """Return radius * || weights ||_2, rounded up."""
        return radius * length_up(spread(self.weights, dim))

    def at(self, changes: Sequence[Piece]) -> Norm:  # noqa: ARG002
        """Return itself."""
        return self

    def refusal(self, dim: int) -> str | None:
        """Say that the weights are not one per coordinate, or None."""
        return mismatch("L1", self.weights, dim)

    def divisor(self, widths: Array) -> Array:
        """Return the norm of each row of coordinate sensitivities, for every coordinate."""
        sizes = (widths * rounded(self.weights)).sum(axis=-1, keepdims=True)
        return np.asarray(np.broadcast_to(sizes, widths.shape))

    def lengths(self, rows: Array) -> Array:
        """Return the norm of each row."""
        return np.asarray((np.abs(rows) * rounded(self.weights)).sum(axis=1))

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the unit ball."""
        return dim * log(2) - lgamma(dim + 1) - _log_product(self.weights)

    def directions(self, bits: Bits, rows: int, dim: int) -> Array:
        """Return points of norm one with the cone measure: where a uniform ray leaves the ball."""
        signed = 2 * bits.uniforms(rows, dim) - 1
        sizes = -np.log(np.abs(signed))
        unit: Array = np.sign(signed) * sizes / sizes.sum(axis=1, keepdims=True)
        return unit / rounded(self.weights)

    def largest_form(self, matrix: Array) -> float:
        """Return the largest u'matrix u of the unit ball: at a corner v_j = 1 / w_j."""
        weights = rounded(self.weights)
        return float((np.diagonal(matrix) / (weights * weights)).max())

    def uniforms(self, dim: int) -> int:
        """Return how many uniform numbers a point of `noise` is made of: one a coordinate."""
        return dim

    def noise(self, uniforms: Sequence[arb], dim: int) -> list[arb]:  # noqa: ARG002
        """Enclose a point with density proportional to exp(-||u||): d Laplace variables.

        With v = 2 U - 1,  |v| is uniform as well, and  u = -sign(v) log |v|.
        """
        signed = [2 * number - 1 for number in uniforms]
        return _divided([-v.sgn() * abs(v).log() for v in signed], self.weights)


@dataclass(frozen=True, slots=True)
class L2:
    """Euclidean length; its unit ball is round.

        ||v|| = sqrt( sum_j (w_j v_j)^2 )

    Paper    Section 1: the norm of the first objective perturbations.
    Privacy  A norm carries no constant of its own: Delta is computed from the loss's body. Lengths
             and Delta are rounded up to one lattice, so that a length moves by no more than Delta.
             docs/proofs/norms/lp.md.
    Cost     O(d).

    Parameters
    ----------
    weights : sequence of numbers, optional
        One positive weight per coordinate; without them all are 1, in any number of coordinates.
    """

    follows: ClassVar[bool] = False
    weights: Any = ()
    # Binary digits behind the point that lengths are rounded up to, once Delta is known.
    _digits: int | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", positives(self.weights, "weights of L2"))

    @property
    def shape(self) -> Shape | None:
        """Weighted squares are added."""
        return RoundShape(self.weights)

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector, rounded up to its lattice.

        Without one it is exact if it is rational, else above the norm by 2**-95 of it at most.
        """
        if self.weights:
            vector = [w * v for w, v in zip(self.weights, vector, strict=True)]
        return length_up(vector) if self._digits is None else length_on(vector, self._digits)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the norm between two corners, for rows of corners."""
        near, far = near_far(low, high)
        with np.errstate(over="ignore", under="ignore"):
            least, most = self.lengths(near), self.lengths(far)
            # Squares leave float64 before their root does; the largest term is never too much.
            least = np.where(np.isinf(least), (near * rounded(self.weights)).max(axis=1), least)
            return outwards(least, most, low.shape[1] + 6, TINY_ROOT)

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, rounded up."""
        return self.value(furthest(low, high))

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:
        """Return radius * max_j w_j, rounded up as lengths are."""
        longest = radius * max(spread(self.weights, dim))
        return longest if self._digits is None else ceiling(longest, self._digits)

    def at(self, changes: Sequence[Piece]) -> Norm:  # noqa: ARG002
        """Return itself."""
        return self

    def rounded_for(self, longest: Fraction) -> Norm:
        """Return it with lengths on a lattice of 2**-160 of the longest change, or finer.

        Where a and b are lengths and |a - b| <= Delta, ceil(a) - ceil(b) <= ceil(Delta): rounded
        lengths move by no more than Delta rounded alike.
        """
        fitted = replace(self)
        size = longest.numerator.bit_length() - longest.denominator.bit_length()
        object.__setattr__(fitted, "_digits", _FINE + 1 - size)
        return fitted

    def refusal(self, dim: int) -> str | None:
        """Say that the weights are not one per coordinate, or None."""
        return mismatch("L2", self.weights, dim)

    def divisor(self, widths: Array) -> Array:
        """Return the norm of each row of coordinate sensitivities, for every coordinate."""
        scaled = widths * rounded(self.weights)
        return np.asarray(
            np.broadcast_to(np.sqrt((scaled * scaled).sum(axis=-1, keepdims=True)), widths.shape)
        )

    def lengths(self, rows: Array) -> Array:
        """Return the norm of each row."""
        scaled = rows * rounded(self.weights)
        return np.asarray(np.sqrt((scaled * scaled).sum(axis=1)))

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the unit ball."""
        return dim / 2 * log(pi) - lgamma(dim / 2 + 1) - _log_product(self.weights)

    def directions(self, bits: Bits, rows: int, dim: int) -> Array:
        """Return points of norm one with the cone measure, from normals by Box and Muller."""
        pairs = (dim + 1) // 2
        angle = 2 * np.pi * bits.uniforms(rows, pairs)
        radius = np.sqrt(-2 * np.log(bits.uniforms(rows, pairs)))
        normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :dim]
        unit: Array = normal / np.sqrt((normal * normal).sum(axis=1, keepdims=True))
        return unit / rounded(self.weights)

    def largest_form(self, matrix: Array) -> float:
        """Return the largest u'matrix u of the unit ball: an eigenvalue."""
        weights = np.broadcast_to(rounded(self.weights), len(matrix))
        return float(np.linalg.eigvalsh(matrix / np.outer(weights, weights))[-1])

    def uniforms(self, dim: int) -> int:
        """Return how many uniform numbers a point of `noise` is made of."""
        return dim + 2 * ((dim + 1) // 2)

    def noise(self, uniforms: Sequence[arb], dim: int) -> list[arb]:
        """Enclose a point with density proportional to exp(-||u||).

        A radius of Gamma(d), minus the log of d uniforms, times normal variables over their
        length; these in pairs, sqrt(-2 log U) times the cosine and the sine of 2 pi U'.
        """
        radius = -sum((number.log() for number in uniforms[:dim]), arb(0))
        pairs = uniforms[dim:]
        normal: list[arb] = []
        for size, angle in zip(pairs[::2], pairs[1::2], strict=True):
            length = (-2 * size.log()).sqrt()
            normal += [length * (2 * angle).cos_pi(), length * (2 * angle).sin_pi()]
        normal = normal[:dim]
        total = sum((v * v for v in normal), arb(0)).sqrt()
        return _divided([radius * v / total for v in normal], self.weights)

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """Return the mean square of each coordinate of a uniform point: 1 / ((d + 2) w_j^2)."""
        return tuple(1 / float((dim + 2) * w * w) for w in spread(self.weights, dim))


@dataclass(frozen=True, slots=True)
class LInf:
    """Largest absolute value; its unit ball is a cube, or a box with half widths 1 / w_j.

        ||v|| = max_j w_j |v_j|

    Paper    Section 4.2: the tightest of the lp norms for records in a box.
    Privacy  A norm carries no constant of its own: Delta is computed from the loss's body.
             docs/proofs/norms/lp.md.
    Cost     O(d).

    Parameters
    ----------
    weights : sequence of numbers, optional
        One positive weight per coordinate; without them all are 1, in any number of coordinates.
    """

    follows: ClassVar[bool] = False
    weights: Any = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", positives(self.weights, "weights of LInf"))

    @property
    def shape(self) -> Shape | None:
        """A box."""
        return BoxShape(tuple(1 / w for w in self.weights))

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        if not self.weights:
            return max((abs(v) for v in vector), default=Fraction(0))
        sizes: list[Fraction] = [w * abs(v) for w, v in zip(self.weights, vector, strict=True)]
        return max(sizes)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the norm between two corners, for rows of corners."""
        near, far = near_far(low, high)
        if not self.weights:  # nothing is rounded
            return near.max(axis=1), far.max(axis=1)
        with np.errstate(over="ignore", under="ignore"):
            return outwards(self.lengths(near), self.lengths(far), 3)

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, exactly."""
        return self.value(furthest(low, high))

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:
        """Return radius * max_j w_j, exactly."""
        return radius * max(spread(self.weights, dim))

    def at(self, changes: Sequence[Piece]) -> Norm:  # noqa: ARG002
        """Return itself."""
        return self

    def refusal(self, dim: int) -> str | None:
        """Say that the weights are not one per coordinate, or None."""
        return mismatch("LInf", self.weights, dim)

    def half_widths(self, dim: int) -> tuple[Fraction, ...]:
        """Return the half widths of the ball."""
        return tuple(1 / w for w in spread(self.weights, dim))

    def divisor(self, widths: Array) -> Array:
        """Return the norm of each row of coordinate sensitivities, for every coordinate."""
        scaled = widths * rounded(self.weights)
        return np.asarray(np.broadcast_to(scaled.max(axis=-1, keepdims=True), widths.shape))

    def lengths(self, rows: Array) -> Array:
        """Return the norm of each row."""
        return np.asarray((np.abs(rows) * rounded(self.weights)).max(axis=1))

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the unit ball."""
        return dim * log(2) - _log_product(self.weights)

    def directions(self, bits: Bits, rows: int, dim: int) -> Array:
        """Return points of norm one with the cone measure: a uniform face, then a point of it."""
        signed = 2 * bits.uniforms(rows, dim) - 1
        face = (bits.uniforms(rows) * dim).astype(np.int64)
        at = np.arange(rows), face
        signed[at] = np.sign(signed[at])
        return signed / rounded(self.weights)

    def largest_form(self, matrix: Array) -> float:
        """Return the largest u'matrix u of the unit ball, never below it."""
        widths = np.broadcast_to(1 / rounded(self.weights), len(matrix))
        return largest_over_box(matrix, widths)

    def uniforms(self, dim: int) -> int:
        """Return how many uniform numbers a point of `noise` is made of."""
        return 2 * dim + 1

    def noise(self, uniforms: Sequence[arb], dim: int) -> list[arb]:
        """Enclose a point with density proportional to exp(-||u||).

        A radius of Gamma(d + 1), minus the log of d + 1 uniforms, times a point of the cube.
        """
        radius = -sum((number.log() for number in uniforms[: dim + 1]), arb(0))
        cube = [radius * (2 * number - 1) for number in uniforms[dim + 1 :]]
        return _divided(cube, self.weights)


def furthest(low: Sequence[Fraction], high: Sequence[Fraction]) -> list[Fraction]:
    """Return the largest size of each coordinate."""
    return [max(-a, b) for a, b in zip(low, high, strict=True)]


def _divided(unit: list[arb], weights: Weights) -> list[arb]:
    """Return the point of a weighted norm that a point of the plain one stands for: v_j / w_j."""
    if not weights:
        return unit
    return [v / ball(w) for v, w in zip(unit, weights, strict=True)]


def _log_product(weights: Weights) -> float:
    """Return sum_j log w_j: how much smaller weights make the ball."""
    return sum(log(w) for w in weights)
