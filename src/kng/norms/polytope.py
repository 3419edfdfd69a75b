"""Norms whose unit ball is a polytope, given by its facets or by its vertices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb

from kng.core.bodies import Piece
from kng.core.enclosures import ball
from kng.core.errors import SpecError, SpecTypeError
from kng.core.exact import exact, show
from kng.core.parts import Norm
from kng.core.shapes import FacetShape, Shape
from kng.norms.frames import Frame, frame_of, rank
from kng.norms.roots import length_up
from kng.norms.rounding import TINY, Array
from kng.norms.uniform_balls import cube_of, radius_of, sampled_moments
from kng.norms.vertices import facets_of

Facet = tuple[Fraction, ...]
# The coordinates that a facet looks at, and the nearest floats to its numbers.
Row = tuple[tuple[int, float], ...]
_LARGEST, _LARGEST_MADE = float(np.finfo(np.float64).max), 10**305


@dataclass(frozen=True, slots=True, repr=False)
class Polytope:
    """The norm whose unit ball lies between pairs of parallel planes, or is a hull of points.

        ||v|| = max_k |a_k'v|

    It need not grow with each |v_j|: no corner is taken for the furthest, every facet is asked.

    Paper    Section 1: K may be any convex body that is symmetric about 0.
    Privacy  A norm carries no constant of its own: Delta is computed from the loss's body.
             docs/proofs/norms/polytope.md.
    Cost     O(d) a facet.

    Parameters
    ----------
    facets : sequence of sequences of numbers, optional
        The vectors a_k, one number per coordinate. Together they must span the space, so that the
        ball is bounded. Facets that no point of the ball touches change nothing.
    vertices : sequence of sequences of numbers, optional
        Points whose convex hull is the unit ball, in place of facets. Each must be listed with its
        opposite, and together they must span the space. Points that are no vertices change
        nothing. Up to 128 points in up to 6 coordinates; their facets are found exactly.

    Examples
    --------
    >>> import kng
    >>> kng.norms.Polytope(facets=[[1, 1], [1, -1]])
    Polytope([[1, 1], [1, -1]])
    >>> kng.norms.Polytope(vertices=[[1, 0], [-1, 0], [0, 1], [0, -1]]).shape.facets[0]
    (Fraction(1, 1), Fraction(1, 1))
    """

    follows: ClassVar[bool] = False
    facets: Any = None
    vertices: Any = None
    _planes: tuple[Facet, ...] = field(init=False, repr=False, compare=False)
    _rows: tuple[Row, ...] = field(init=False, repr=False, compare=False)
    _frame: Frame | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (self.facets is None) == (self.vertices is None):
            found = "neither" if self.facets is None else "both"
            raise SpecError(f"Polytope is given by its facets or by its vertices; got {found}.")
        if self.vertices is None:
            planes = _read(self.facets, "facets")
            object.__setattr__(self, "facets", planes)
            _refuse_unbounded(planes)
        else:
            points = _read(self.vertices, "vertices")
            object.__setattr__(self, "vertices", points)
            planes = facets_of(points)
            _refuse_extreme(planes)
        object.__setattr__(self, "_planes", planes)
        rows = tuple(tuple((j, float(a)) for j, a in enumerate(facet) if a) for facet in planes)
        object.__setattr__(self, "_rows", rows)

    @property
    def described(self) -> str:
        """The norm as the caller wrote it."""
        name, rows = ("", self.facets) if self.vertices is None else ("vertices=", self.vertices)
        lists = [f"[{', '.join(map(show, row))}]" for row in rows]
        return f"Polytope({name}[{', '.join(lists)}])"

    def __repr__(self) -> str:
        return self.described

    @property
    def shape(self) -> Shape | None:
        """A polytope by its facets."""
        return FacetShape(self._planes)

    def value(self, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a vector."""
        return max(abs(_product(facet, vector)) for facet in self._planes)

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
            for facet in self._planes
        )

    def largest_in_ball(self, radius: Fraction, dim: int) -> Fraction:  # noqa: ARG002
        """Return radius * max_k || a_k ||_2, rounded up."""
        return radius * max(length_up(facet) for facet in self._planes)

    def at(self, changes: Sequence[Piece]) -> Norm:  # noqa: ARG002
        """Return itself."""
        return self

    def refusal(self, dim: int) -> str | None:
        """Say that its facets or vertices are not in so many coordinates, or None."""
        own = len(self._planes[0])
        if own == dim:
            return None
        stated = "facets" if self.vertices is None else "vertices"
        return (
            f"The {stated} of Polytope have {own} numbers and the score {dim} coordinates; give "
            "one number per coordinate."
        )

    @property
    def frame(self) -> Frame:
        """Some of its facets, which hold the ball in a parallelepiped."""
        if self._frame is None:  # many norms are never drawn from
            object.__setattr__(self, "_frame", frame_of(self._planes))
        assert self._frame is not None
        return self._frame

    def uniforms(self, dim: int) -> int:
        """Return how many uniform numbers a point of `noise` is made of."""
        return 2 * dim + 1

    def proposals(self, dim: int) -> int:  # noqa: ARG002
        """Return a bound on the mean number of points of the parallelepiped for one of the ball."""
        return self.frame.proposals

    def inside(self, uniforms: Sequence[arb], dim: int) -> bool | None:
        """Tell whether a point of the parallelepiped lies in the ball; None asks for more bits."""
        cube = cube_of(uniforms, dim)
        certain = True
        for row, most in self.frame.walls:
            reach = abs(sum((w * c for w, c in zip(cube, row, strict=True) if c), arb(0)))
            if reach > most:
                return False
            certain = certain and bool(reach <= most)
        return certain or None

    def noise(self, uniforms: Sequence[arb], dim: int) -> list[arb]:
        """Enclose a point with density proportional to exp(-||u||), for uniforms that are inside.

        A radius of Gamma(d + 1) times a point v of the ball:  b_j'v = w_j  for the frame.
        """
        radius, cube = radius_of(uniforms, dim), cube_of(uniforms, dim)
        return [
            radius * sum((ball(b) * w for b, w in zip(row, cube, strict=True) if b), arb(0))
            for row in self.frame.back
        ]

    def second_moments(self, dim: int) -> tuple[float, ...]:
        """Return the mean square of each coordinate of a uniform point of the ball, simulated."""
        return sampled_moments(*self._framed(dim))

    def second_moment(self, direction: Sequence[float]) -> float:
        """Return the mean of (a'v)^2 for a uniform point v of the ball, simulated."""
        walls, back = self._framed(len(direction))
        along = np.vstack([np.asarray(direction) @ back, back[1:]])
        return sampled_moments(walls, along)[0]

    def _framed(self, dim: int) -> tuple[Array, Array]:
        """Return walls in units of 1, and the way back from the frame."""
        walls = self.frame.walls
        rows = np.array([[c / most for c in row] for row, most in walls]).reshape(-1, dim)
        return rows, np.array([[float(b) for b in row] for row in self.frame.back])


def _read(given: Any, name: str) -> tuple[Facet, ...]:
    """Read facets or vertices as the caller wrote them."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SpecTypeError(f"{name} of Polytope must be a list of rows, got {given!r}.")
    rows = list(given)
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise SpecTypeError(f"each of the {name} of Polytope must be a list, got {row!r}.")
    found = tuple(tuple(exact(a, f"{name} of Polytope") for a in row) for row in rows)
    if not found or not found[0] or len({len(row) for row in found}) != 1:
        raise SpecError(f"Polytope needs {name}, each with one number per coordinate.")
    return found


def _refuse_unbounded(facets: tuple[Facet, ...]) -> None:
    """Refuse facets that do not span the space."""
    spanned, dim = rank(facets), len(facets[0])
    if spanned < dim:
        raise SpecError(
            f"The facets of Polytope span {spanned} of {dim} coordinates, so that its unit ball "
            "is unbounded; add facets."
        )


def _refuse_extreme(facets: tuple[Facet, ...]) -> None:
    """Refuse vertices whose facets float64 cannot hold."""
    sizes = [abs(a) for facet in facets for a in facet if a]
    if max(sizes) > _LARGEST_MADE or min(sizes) * _LARGEST_MADE < 1:
        raise SpecError(
            "The vertices of Polytope have facets beyond 1e305 in size, which float64 cannot hold. "
            "Use other units."
        )


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
