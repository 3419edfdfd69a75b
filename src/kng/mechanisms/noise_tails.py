"""The law of each coordinate of K-norm noise, read off the norm that it is drawn in."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from kng.core.noise.exchange import MOST
from kng.core.noise.tails import Tail
from kng.core.parts import Norm
from kng.core.plan import NoisePlan
from kng.core.shapes import (
    BoxShape,
    ExchangeShape,
    FacetShape,
    InterceptShape,
    RoundShape,
    SumShape,
)
from kng.core.solve.linear_program import farthest

_ONE = Fraction(1)


@lru_cache(maxsize=64)
def noise_tails(plan: NoisePlan) -> tuple[Tail, ...] | None:
    """Return the law of each coordinate of the noise on a sum, in the units of the sum.

    None for norms of others, whose balls have no name, and for counts in very many bins:
    docs/noise.md.
    """
    return tails_of(plan.problem.norm, plan.rate, plan.steps)


def tails_of(norm: Norm, rate: Fraction, steps: Sequence[Fraction]) -> tuple[Tail, ...] | None:
    """Return the law of each coordinate of  u / step  rounded,  u with density exp(-rate ||u||)."""
    law, widths = _ball(norm, len(steps))
    if widths is None:
        return None
    pairs = zip(widths, steps, strict=True)
    return tuple(Tail(law, width / rate, step, len(steps)) for width, step in pairs)


def _ball(norm: Norm, dim: int) -> tuple[str, tuple[Fraction, ...] | None]:
    """Return the law by name, and how far the unit ball reaches along each axis."""
    ones = (_ONE,) * dim
    if dim == 1:  # on a line every norm is a multiple of the absolute value
        return "laplace", (1 / norm.value((_ONE,)),)
    match norm.shape:
        case SumShape(weights):
            return "laplace", tuple(1 / w for w in weights or ones)
        case BoxShape(halves):
            return "box", halves or ones
        case RoundShape(weights):
            return "round", tuple(1 / w for w in weights or ones)
        case ExchangeShape() if dim <= MOST:
            return "exchange", ones
        case InterceptShape(slope):
            return "radius", (_ONE, *(1 / slope for _ in range(dim - 1)))
        case FacetShape(facets):
            return "radius", tuple(_reach(facets, j) for j in range(dim))
    return "radius", None


def _reach(facets: Sequence[Sequence[Fraction]], j: int) -> Fraction:
    """Return the largest v_j with |a_k'v| <= 1 for all facets."""
    both = [*facets, *([-a for a in facet] for facet in facets)]
    axis = [Fraction(i == j) for i in range(len(facets[0]))]
    return farthest(both, [_ONE] * len(both), axis).value
