"""Norms whose unit ball is a polytope, given by its facets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import fmpq, fmpq_mat

from kng.core.bodies import Piece
from kng.core.errors import SpecError, SpecTypeError
from kng.core.exact import exact
from kng.core.parts import Norm
from kng.core.shapes import FacetShape, Shape
from kng.norms.roots import length_up
from kng.norms.rounding import TINY, Array

Facet = tuple[Fraction, ...]
# The coordinates that a facet looks at, and the nearest floats to its numbers.
Row = tuple[tuple[int, float], ...]
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Polytope:
    """The norm whose unit ball lies between pairs of parallel planes.

        ||v|| = max_k |a_k'v|

    It need not grow with each |v_j|: no corner is taken for the furthest, every facet is asked.

    Paper    Section 1: K may be any convex body that is symmetric about 0.
    Privacy  A norm carries no constant of its own: Delta is computed from the loss's body.
             docs/proofs/norms/polytope.md.
    Cost     O(d) a facet.

    Parameters
    ----------
    facets : sequence of sequences of numbers
        The vectors a_k, one number per coordinate. Together they must span the space, so that the
        ball is bounded.
    """

    follows: ClassVar[bool] = False
    facets: Any
    _rows: tuple[Row, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        facets = _read(self.facets)
        object.__setattr__(self, "facets", facets)
        rows = tuple(tuple((j, float(a)) for j, a in enumerate(facet) if a) for facet in facets)
        object.__setattr__(self, "_rows", rows)
        dim = len(facets[0])
        entries = [fmpq(a.numerator, a.denominator) for facet in facets for a in facet]
        rank = int(fmpq_mat(len(facets), dim, entries).rank())
        if rank < dim:
            raise SpecError(
                f"The facets of Polytope span {rank} of {dim} coordinates, so that its unit ball "
                "is unbounded; add facets."
            )

    @property
    def shape(self) -> Shape | None:
        """A polytope by its facets."""
        return FacetShape(self.facets)

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        return max(abs(_product(facet, vector)) for facet in self.facets)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on the norm between two corners, for rows of corners.

        Over a box each a'v fills an interval. The norm is at least as large as the furthest of
        these intervals is away from 0, and at most as large as they reach.
        """
        least, most = np.zeros(len(low)), np.zeros(len(low))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for row in self._rows:
                first, last = _interval(row, low, high)
                least = np.maximum(least, np.maximum(first, -last))
                most = np.maximum(most, np.maximum(-first, last))
        return np.minimum(least, _LARGEST), most

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest norm between two corners, exactly: one corner for every facet."""
        return max(
            max(abs(_product(facet, _towards(facet, *ends))) for ends in ((low, high), (high, low)))
            for facet in self.facets
        )

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:  # noqa: ARG002
        """Return radius * max_k || a_k ||_2, rounded up."""
        return radius * max(length_up(facet) for facet in self.facets)

    def at(self, changes: Sequence[Piece]) -> Norm:  # noqa: ARG002
        """Return itself."""
        return self

    def refusal(self, dim: int) -> str | None:
        """Say that the facets are not in so many coordinates, or None."""
        own = len(self.facets[0])
        if own == dim:
            return None
        return (
            f"The facets of Polytope have {own} numbers and the score {dim} coordinates; give one "
            "number per coordinate."
        )


def _read(given: Any) -> tuple[Facet, ...]:
    """Read facets as the caller wrote them."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SpecTypeError(f"facets of Polytope must be a list of rows, got {given!r}.")
    rows = list(given)
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise SpecTypeError(f"each of the facets of Polytope must be a list, got {row!r}.")
    facets = tuple(tuple(exact(a, "facets of Polytope") for a in row) for row in rows)
    if not facets or not facets[0] or len({len(facet) for facet in facets}) != 1:
        raise SpecError("Polytope needs facets, each with one number per coordinate.")
    return facets


def _product(facet: Facet, vector: Sequence[Fraction]) -> Fraction:
    return sum((a * v for a, v in zip(facet, vector, strict=True)), Fraction(0))


def _towards(facet: Facet, low: Sequence[Fraction], high: Sequence[Fraction]) -> list[Fraction]:
    """Return the corner between two where a'v is largest."""
    return [b if a > 0 else c for a, c, b in zip(facet, low, high, strict=True)]


def _interval(row: Row, low: Array, high: Array) -> tuple[Array, Array]:
    """Return rows of bounds on a'v between two corners.

    n products are summed, so each end is off by at most 1.01 (n + 1) 2**-53 of the sizes that it
    adds up. A side that has no end gives an interval without one.
    """
    first, last = np.zeros(len(low)), np.zeros(len(low))
    small, large = np.zeros(len(low)), np.zeros(len(low))
    for j, a in row:
        ends = (a * low[:, j], a * high[:, j]) if a > 0 else (a * high[:, j], a * low[:, j])
        first, last = first + ends[0], last + ends[1]
        small, large = small + np.abs(ends[0]), large + np.abs(ends[1])
    share = (len(row) + 2) * 2.0**-52
    first = first - (share * small + TINY)
    last = last + (share * large + TINY)
    return np.where(np.isnan(first), -np.inf, first), np.where(np.isnan(last), np.inf, last)
