"""From the vertices of a polytope that is symmetric about 0 to its facets and back, exactly.

The facets a of the hull of +-v_1, ..., +-v_m are the vertices of its polar

    { a : |v_k'a| <= 1 for all k }

They are found by cutting: a frame of d points gives a parallelepiped with 2^d vertices, and each
further point two half-spaces. A cut keeps the vertices inside and adds one on every edge that it
crosses (Motzkin's double description). All numbers are rational, so no facet is missed or made up.

Privacy  docs/proofs/norms/polytope.md.
Cost     Grows with the square of the number of facets; limits are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from kng.core.errors import SpecError
from kng.core.exact import show
from kng.norms.frames import Vector, Vectors, frame_of, rank

MOST_COORDINATES, MOST_POINTS, MOST_FACETS = 6, 128, 1500
# A vertex of the polar, and which inequalities hold with equality there: bit 2k for v_k'a = 1,
# bit 2k + 1 for v_k'a = -1.
Corner = tuple[Vector, int]


def facets_of(points: Vectors) -> Vectors:
    """Return the facets of the hull of points, one of each pair a, -a; refuse what is no ball."""
    dim = len(points[0])
    _refuse_many(points, dim)
    _refuse_asymmetric(points)
    spanned = rank(points)
    if spanned < dim:
        raise SpecError(
            f"The vertices of Polytope span {spanned} of {dim} coordinates, so that its unit ball "
            "is flat; add vertices."
        )
    half = [v for v in dict.fromkeys(points) if _leading(v) > 0]
    corners = _polar(half)
    return tuple(sorted((a for a, _ in corners if _leading(a) > 0), reverse=True))


def vertices_of(facets: Vectors, name: str) -> Vectors:
    """Return the vertices of { v : |a_k'v| <= 1 }, each with its opposite; refuse too many."""
    dim = len(facets[0])
    if dim > MOST_COORDINATES or len(facets) > MOST_POINTS:
        raise SpecError(
            f"{name} has {len(facets)} pairs of facets in {dim} coordinates; vertices are found of "
            f"up to {MOST_POINTS} in up to {MOST_COORDINATES}."
        )
    half = {v if _leading(v) > 0 else tuple(-x for x in v): None for v in facets if any(v)}
    return tuple(sorted(corner for corner, _ in _polar(list(half))))


def _refuse_many(points: Vectors, dim: int) -> None:
    if dim > MOST_COORDINATES or len(points) > MOST_POINTS:
        raise SpecError(
            f"Polytope turns at most {MOST_POINTS} vertices in {MOST_COORDINATES} coordinates into "
            f"facets; got {len(points)} in {dim}. Give facets."
        )


def _refuse_asymmetric(points: Vectors) -> None:
    """Refuse a list that does not hold the opposite of each of its points."""
    known = set(points)
    for point in points:
        if tuple(-v for v in point) not in known:
            has, lacks = (f"({', '.join(show(s * v) for v in point)})" for s in (1, -1))
            raise SpecError(
                f"Polytope must be symmetric about 0: it has the vertex {has} but not {lacks}."
            )


def _leading(vector: Vector) -> Fraction:
    """Return the first number that is not 0, if there is one."""
    return next((v for v in vector if v), Fraction(0))


def _polar(points: Sequence[Vector]) -> list[Corner]:
    """Return the vertices of { a : |v'a| <= 1 for all points v }."""
    frame = frame_of(points)
    corners: list[Corner] = []
    for signs in product((1, -1), repeat=len(frame.chosen)):
        # V a = signs: the matrix of the frame takes a to w, and its inverse is known.
        a = tuple(
            sum((b * s for b, s in zip(row, signs, strict=True)), Fraction(0)) for row in frame.back
        )
        tight = sum(1 << (2 * k + (s < 0)) for k, s in zip(frame.chosen, signs, strict=True))
        corners.append((a, tight))
    for k, point in enumerate(points):
        if k not in frame.chosen:
            for side, sign in enumerate((1, -1)):
                corners = _cut(corners, tuple(sign * v for v in point), 1 << (2 * k + side))
    return corners


def _cut(corners: list[Corner], point: Vector, name: int) -> list[Corner]:
    """Return the vertices of a polytope cut by  v'a <= 1."""
    over = [_product(point, a) - 1 for a, _ in corners]
    if max(over) < 0:
        return corners
    kept = [
        (a, tight | name if s == 0 else tight)
        for (a, tight), s in zip(corners, over, strict=True)
        if s <= 0
    ]
    inside = [i for i, s in enumerate(over) if s < 0]
    outside = [i for i, s in enumerate(over) if s > 0]
    dim, tights = len(point), [tight for _, tight in corners]
    for i in inside:
        for j in outside:
            common = tights[i] & tights[j]
            if common.bit_count() < dim - 1 or _held(tights, common) > 2:
                continue
            # Two vertices are joined by an edge if no third one lies on all their common facets.
            share = over[i] / (over[i] - over[j])
            (a, _), (b, _) = corners[i], corners[j]
            kept.append(
                (tuple(x + share * (y - x) for x, y in zip(a, b, strict=True)), common | name)
            )
    if len(kept) > 2 * MOST_FACETS:
        raise SpecError(
            f"The polytope has more than {MOST_FACETS} pairs of facets or vertices; give fewer."
        )
    return kept


def _held(tights: Sequence[int], common: int) -> int:
    """Return how many vertices lie on all of some facets; three are enough to know."""
    found = 0
    for tight in tights:
        if tight & common == common:
            found += 1
            if found > 2:
                break
    return found


def _product(left: Vector, right: Vector) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))
