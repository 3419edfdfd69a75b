"""Unit balls of norms by name, for samplers and accelerators that serve some of them.

A norm states its shape; nobody guesses it from values. A norm whose ball has no name here has the
shape None and is served by whatever asks only for its value and its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class BoxShape:
    """||v|| = max_j |v_j| / half_width_j; () stands for ones, in any number of coordinates."""

    half_widths: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class SumShape:
    """||v|| = sum_j weight_j |v_j|; () stands for ones."""

    weights: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundShape:
    """||v|| = sqrt( sum_j (weight_j v_j)^2 ); () stands for ones."""

    weights: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class InterceptShape:
    """||v|| = |v_0| + slope ( max_{j > 0} |v_j| - |v_0| )_+ ."""

    slope: Fraction


@dataclass(frozen=True, slots=True)
class FacetShape:
    """||v|| = max_k |a_k'v|."""

    facets: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, slots=True)
class VariationShape:
    """||v|| = 1/2 sum_j |v_j - v_(j-1)|, with a 0 before the first and after the last."""


@dataclass(frozen=True, slots=True)
class ExchangeShape:
    """||v|| = max( sum of the positive entries, minus the sum of the negative ones )."""


Shape = (
    BoxShape | SumShape | RoundShape | InterceptShape | FacetShape | VariationShape | ExchangeShape
)


def facets_of(shape: Shape | None, dim: int) -> tuple[tuple[Fraction, ...], ...]:
    """Return the facets of a box or of a shape that states them, one of each pair; else ()."""
    if isinstance(shape, FacetShape):
        return shape.facets
    if not isinstance(shape, BoxShape):
        return ()
    sides = shape.half_widths or (Fraction(1),) * dim
    return tuple(tuple((i == j) / w for i in range(dim)) for j, w in enumerate(sides))


def with_intercept(low: Fraction, high: Fraction) -> BoxShape | InterceptShape:
    """Return the hull of all differences of  w z,  low <= w <= high,  z_0 = 1, |z_j| <= 1.

    Up to its size; docs/proofs/norms/intercept.md.
    """
    slope = (high - low) / (2 * max(abs(low), abs(high)))
    return InterceptShape(slope) if Fraction(1, 2) <= slope < 1 else BoxShape()
