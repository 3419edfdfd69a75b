"""The l1, l2 and sup norms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, lgamma, log, pi

import numpy as np
from flint import arb
from numpy.typing import NDArray

from kng.core.bits import Bits

Array = NDArray[np.float64]

# The l2 norm of rationals is rounded up to this many bits, so that it never understates.
_ROOT_BITS = 96


@dataclass(frozen=True, slots=True)
class L1:
    """Sum of absolute values; its noise is independent in each coordinate.

        ||v|| = sum_j |v_j|

    Paper    Section 3.1: K-norm noise with l1 is the Laplace mechanism.
    Privacy  A norm carries no constant of its own; the sensitivity is asked of the loss.
    Cost     O(d).
    """

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        return sum((abs(v) for v in vector), Fraction(0))

    def weights(self, dim: int) -> tuple[Fraction, ...]:
        """Return the weight of each coordinate, all one."""
        return (Fraction(1),) * dim

    def divisor(self, widths: Array) -> Array:
        """Return the norm of each row of coordinate sensitivities, for every coordinate."""
        return np.asarray(np.broadcast_to(widths.sum(axis=-1, keepdims=True), widths.shape))

    def lengths(self, rows: Array) -> Array:
        """Return the norm of each row."""
        return np.asarray(np.abs(rows).sum(axis=1))

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the unit ball."""
        return dim * log(2) - lgamma(dim + 1)

    def directions(self, bits: Bits, rows: int, dim: int) -> Array:
        """Return points of norm one with the cone measure: where a uniform ray leaves the ball."""
        signed = 2 * bits.uniforms(rows, dim) - 1
        sizes = -np.log(np.abs(signed))
        unit: Array = np.sign(signed) * sizes / sizes.sum(axis=1, keepdims=True)
        return unit

    def uniforms(self, dim: int) -> int:
        """Return how many uniform numbers a point of `noise` is made of: one a coordinate."""
        return dim

    def noise(self, uniforms: Sequence[arb], dim: int) -> list[arb]:  # noqa: ARG002
        """Enclose a point with density proportional to exp(-||u||): d Laplace variables.

        With v = 2 U - 1,  |v| is uniform as well, and  u = -sign(v) log |v|.
        """
        signed = [2 * number - 1 for number in uniforms]
        return [-v.sgn() * abs(v).log() for v in signed]


@dataclass(frozen=True, slots=True)
class L2:
    """Euclidean length; its unit ball is round.

        ||v|| = sqrt( sum_j v_j^2 )

    Paper    Section 1: the norm of the first objective perturbations.
    Privacy  A norm carries no constant of its own; the sensitivity is asked of the loss. Exact
             values are rounded up.
    Cost     O(d).
    """

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector, or the next larger multiple of 2**-96."""
        square = sum((v * v for v in vector), Fraction(0))
        scaled = square * 4**_ROOT_BITS
        floor = scaled.numerator // scaled.denominator
        root = isqrt(floor)
        exact = root * root == scaled
        return Fraction(root if exact else root + 1, 2**_ROOT_BITS)

    def divisor(self, widths: Array) -> Array:
        """Return the norm of each row of coordinate sensitivities, for every coordinate."""
        return np.asarray(
            np.broadcast_to(np.sqrt((widths * widths).sum(axis=-1, keepdims=True)), widths.shape)
        )

    def lengths(self, rows: Array) -> Array:
        """Return the norm of each row."""
        return np.asarray(np.sqrt((rows * rows).sum(axis=1)))

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the unit ball."""
        return dim / 2 * log(pi) - lgamma(dim / 2 + 1)

    def directions(self, bits: Bits, rows: int, dim: int) -> Array:
        """Return uniform points of the unit sphere, from normal variables by Box and Muller."""
        pairs = (dim + 1) // 2
        angle = 2 * np.pi * bits.uniforms(rows, pairs)
        radius = np.sqrt(-2 * np.log(bits.uniforms(rows, pairs)))
        normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :dim]
        unit: Array = normal / np.sqrt((normal * normal).sum(axis=1, keepdims=True))
        return unit

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
        return [radius * v / total for v in normal]


@dataclass(frozen=True, slots=True)
class LInf:
    """Largest absolute value; its unit ball is a cube.

        ||v|| = max_j |v_j|

    Paper    Section 4.2: the tightest of the lp norms for records in a box.
    Privacy  A norm carries no constant of its own; the sensitivity is asked of the loss.
    Cost     O(d).
    """

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        return max((abs(v) for v in vector), default=Fraction(0))

    def half_widths(self, dim: int) -> tuple[Fraction, ...]:
        """Return the cube's half widths, all one."""
        return (Fraction(1),) * dim

    def divisor(self, widths: Array) -> Array:
        """Return the norm of each row of coordinate sensitivities, for every coordinate."""
        return np.asarray(np.broadcast_to(widths.max(axis=-1, keepdims=True), widths.shape))

    def lengths(self, rows: Array) -> Array:
        """Return the norm of each row."""
        return np.asarray(np.abs(rows).max(axis=1))

    def log_volume(self, dim: int) -> float:
        """Return the log volume of the unit ball."""
        return dim * log(2)

    def directions(self, bits: Bits, rows: int, dim: int) -> Array:
        """Return uniform points of the cube's surface: a uniform face, then a point of it."""
        signed = 2 * bits.uniforms(rows, dim) - 1
        face = (bits.uniforms(rows) * dim).astype(np.int64)
        at = np.arange(rows), face
        signed[at] = np.sign(signed[at])
        return signed

    def uniforms(self, dim: int) -> int:
        """Return how many uniform numbers a point of `noise` is made of."""
        return 2 * dim + 1

    def noise(self, uniforms: Sequence[arb], dim: int) -> list[arb]:
        """Enclose a point with density proportional to exp(-||u||).

        A radius of Gamma(d + 1), minus the log of d + 1 uniforms, times a point of the cube.
        """
        radius = -sum((number.log() for number in uniforms[: dim + 1]), arb(0))
        return [radius * (2 * number - 1) for number in uniforms[dim + 1 :]]
